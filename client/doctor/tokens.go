package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// issuer is what checkTokens needs of a dfs.FS.
type issuer interface {
	Stat(ctx context.Context, uri string) (filesystem.FileInfo, error)
	TokenOf(ctx context.Context, uri string, among *creds.Credentials) (*creds.Token, error)
	DelegationToken(ctx context.Context, uri, renewer string) (*creds.Token, error)
	CancelDelegationToken(ctx context.Context, uri string, token *creds.Token) error
}

// checkTokens obtains the tokens that a job would get for HDFS, and cancels them.
func (v *visit) checkTokens(ctx context.Context) []Finding {
	if !v.secure() {
		return openCluster()
	}
	for _, key := range []config.BoolKey{config.DelegationTokensEnabled, config.HadoopFSProviderEnabled} {
		if !v.config.Bool(key) {
			return skipped(key.Name() + " is false")
		}
	}
	fsys := v.fileSystem()
	defer fsys.Close()
	roots, err := v.roots(fsys)
	if err != nil {
		return []Finding{failed(oneLine(err), "correct "+config.KerberosFileSystems.Name())}
	}
	renewer := ""
	if v.who.Login != nil {
		if renewer, err = client.Renewer(v.conf); err != nil {
			return []Finding{failed("nobody can renew a job's tokens: "+oneLine(err), "add yarn.resourcemanager.principal to yarn-site.xml, as on the cluster")}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, v.config.Duration(config.ClientTimeout)) // of a few calls
	defer cancel()
	findings, ends := v.tryTokens(ctx, fsys, roots, renewer)
	if keytab, has := v.keytabOfMaster(); has {
		findings = append(findings, keytab)
	}
	return append(findings, v.life(ends, client.OnDefaultFS(fsys, roots[0]))...)
}

// roots are the file systems that every job with these options uses: first that of its staged files, then that
// of its logs. Only the job knows those of its inputs and outputs.
func (v *visit) roots(fsys *dfs.FS) ([]string, error) {
	home, err := client.StagingHome(fsys, v.conf, v.config.String(config.YarnStagingDirectory))
	if err != nil {
		return nil, err
	}
	uris := []string{home}
	if logs, ok := client.LogFileSystem(fsys, v.conf); ok && v.who.Login != nil {
		uris = append(uris, logs)
	}
	return client.FileSystems(fsys, v.config, uris...)
}

// tryTokens obtains a token for each file system, and tells when the first of them ends for good.
func (v *visit) tryTokens(ctx context.Context, fsys issuer, roots []string, renewer string) (findings []Finding, ends time.Time) {
	for _, root := range roots {
		f, end := v.tryToken(ctx, fsys, root, renewer)
		findings = append(findings, f...)
		if !end.IsZero() && (ends.IsZero() || end.Before(ends)) {
			ends = end
		}
	}
	return findings, ends
}

func (v *visit) tryToken(ctx context.Context, fsys issuer, root, renewer string) (findings []Finding, ends time.Time) {
	held, err := fsys.TokenOf(ctx, root, v.credentials())
	switch {
	case err != nil:
		return []Finding{failed(oneLine(err), v.remedy(err))}, ends
	case held != nil:
		f, end := v.tryHeld(ctx, fsys, root, held)
		return []Finding{f}, end
	case v.who.Login == nil:
		return []Finding{failed("the launcher passed in no token for "+root, "run kinit, or name a keytab ("+config.KerberosKeytab.Name()+")")}, ends
	}
	token, err := fsys.DelegationToken(ctx, root, renewer)
	if errors.Is(err, dfs.ErrNoTokens) {
		return []Finding{ok(root + " is open: it needs no token")}, ends
	}
	if err != nil {
		return []Finding{failed(fmt.Sprintf("%s gives user %s no token: %s", root, v.who.User, cause(err)), v.remedy(err))}, ends
	}
	about, err := identifier.DecodeDelegation(token)
	if err != nil {
		return []Finding{failed(oneLine(err), v.remedy(err))}, ends
	}
	findings = []Finding{ok(fmt.Sprintf("%s gives user %s a token; %s may renew it until %s", root, v.who.User, about.Renewer, moment(about.Max)))}
	if err := fsys.CancelDelegationToken(ctx, root, token); err != nil {
		findings = append(findings, warning("the token cannot be canceled: "+cause(err), "do nothing: it ends by itself within a day"))
	}
	return findings, about.Max
}

// tryHeld tries a token that another launcher passed in at its file system. Only the NameNode knows, for
// example, that it was canceled.
func (v *visit) tryHeld(ctx context.Context, fsys issuer, root string, held *creds.Token) (f Finding, ends time.Time) {
	about, err := identifier.DecodeDelegation(held)
	if err != nil {
		return failed(oneLine(err), newTokens), ends
	}
	if _, err := fsys.Stat(ctx, root); err != nil {
		return failed(fmt.Sprintf("%s rejects the token that the launcher passed in: %s", root, cause(err)), v.remedy(err)), ends
	}
	if why := client.WrongRenewer(v.conf, held); why != "" {
		return failed("YARN accepts no job: "+why, "get a token whose renewer is the ResourceManager, or unset "+creds.FileVariable), ends
	}
	interval, err := v.conf.TokenRenewInterval()
	if err != nil {
		return failed(oneLine(err), "correct it"), ends
	}
	return ok("a job gets the token for " + root + " that the launcher passed in"), about.Ends(interval)
}

// keytabOfMaster tells how the ApplicationMaster gets a keytab, if it gets one.
func (v *visit) keytabOfMaster() (Finding, bool) {
	path := v.config.String(config.YarnLocalizedKeytabPath)
	switch {
	case v.config.String(config.KerberosKeytab) == "":
		return Finding{}, false
	case v.who.RealUser != "":
		return ok(fmt.Sprintf("the keytab stays on this machine: it belongs to %s, and the job runs as %s", v.who.RealUser, v.who.User)), true
	}
	if err := client.CheckKeytab(v.config); err != nil {
		return failed(oneLine(err), "correct "+config.YarnLocalizedKeytabPath.Name()), true
	}
	if v.config.Bool(config.YarnShipLocalKeytab) {
		return ok("the keytab is sent to the ApplicationMaster, which finds it as " + path), true
	}
	return ok("the ApplicationMaster reads the keytab " + path + " of its node: check that each node has it, and that the container's user can read it"), true
}

// life tells how long a job can live if its tokens end for good at ends. Its files are staged on fs.defaultFS
// or elsewhere.
func (v *visit) life(ends time.Time, onDefaultFS bool) []Finding {
	if ends.IsZero() {
		return nil
	}
	keeps := v.config.String(config.KerberosKeytab) != "" && v.who.RealUser == ""
	attempts, err := client.AttemptsOf(v.config, v.conf)
	if err != nil {
		return nil // the check of limits tells it
	}
	last := fmt.Sprintf("a job that starts now can run without limit, but YARN may start no second ApplicationMaster after %s at the latest: ", moment(ends))
	switch client.LossOf(v.conf, keeps, attempts.Effective(), onDefaultFS) {
	case client.LosesHDFS:
		return []Finding{ok(fmt.Sprintf("a job that starts now can use HDFS until %s at the latest; a job with a keytab has no such limit (%s)", moment(ends), config.KerberosKeytab))}
	case client.LosesAttempts:
		return []Finding{warning(last+"as far as this machine knows, the ResourceManager gets no new tokens",
			"ask the administrator to set "+client.Replaces+" on the ResourceManager, and hadoop.proxyuser.* for its user on the NameNodes; then set it on this machine, too")}
	case client.LosesAttemptsElsewhere:
		return []Finding{warning(last+"the ResourceManager gets new tokens only for fs.defaultFS, and files are staged elsewhere",
			"name a directory on fs.defaultFS ("+config.YarnStagingDirectory.Name()+")")}
	default:
		return []Finding{ok("a job can run without limit: the ApplicationMaster gets new tokens with the keytab")}
	}
}
