package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// ErrNoRenewer says that a secure cluster's configuration does not tell who the
// ResourceManager is, which has to renew an application's tokens.
var ErrNoRenewer = errors.New("yarn.resourcemanager.principal is not set: add it to yarn-site.xml, as on the cluster")

// maxSecurityFile bounds a keytab and a krb5.conf, in bytes.
const maxSecurityFile = 1 << 20

// grant is what an application is given to prove who it is.
type grant struct {
	credentials *creds.Credentials
	// shared says that some of the tokens came from another launcher, whose other
	// applications may need them.
	shared   bool
	security launch.Security
	keytab   []byte    // to be staged; nil: none
	ends     time.Time // of the first token to end, however often it is renewed; zero: none ends
	issued   issued
}

// issued are the tokens that were issued for an application, and not handed on by another
// launcher, by the roots of their file systems.
type issued map[string]*creds.Token

// grant gets what an application that runs a job needs: tokens for its file systems, with
// the ResourceManager as their renewer, and what belongs to a keytab. home is where files
// are staged; more are URIs of what it uses besides, "" for none.
func (c *Cluster) grant(ctx context.Context, cfg config.Config, job *jobgraph.JobGraph, home string, more ...string) (grant, error) {
	g := grant{credentials: passedOn(c.identity.Credentials), issued: make(issued)}
	g.shared = len(g.credentials.Tokens) > 0
	if !c.Conf.SecurityEnabled() {
		return g, nil
	}
	var err error
	if g.security.FileSystems, err = c.fileSystems(cfg, job, home, more...); err != nil {
		return g, err
	}
	if err := g.readFiles(cfg, c.identity.Login, c.identity.RealUser != ""); err != nil {
		return g, err
	}
	if err := c.tryTokens(ctx, g.security.FileSystems[1:]); err != nil { // the staging area's serves at once
		return g, err
	}
	if wantsTokens(cfg) {
		err = c.obtain(ctx, g)
	} else {
		err = c.doWithoutTokens(ctx, g)
	}
	if err != nil {
		return g, err
	}
	interval, err := c.Conf.TokenRenewInterval()
	if err != nil {
		return g, err
	}
	g.ends, err = end(g.credentials, interval)
	return g, err
}

// wantsTokens tells whether the client is to obtain tokens for file systems.
func wantsTokens(cfg config.Config) bool {
	return cfg.Bool(config.DelegationTokensEnabled) && cfg.Bool(config.HadoopFSProviderEnabled) &&
		slices.Contains(listed(cfg, config.YarnTokenServices), config.TokensOfHDFS)
}

// passedOn are those of another launcher's tokens that are meant for the applications it
// starts: not those of its own container.
func passedOn(found *creds.Credentials) *creds.Credentials {
	kept := creds.New()
	for alias, token := range found.Tokens {
		switch token.Kind {
		case creds.KindAMRM, creds.KindNM, creds.KindContainer, creds.KindClientToAM:
		default:
			kept.Tokens[alias] = token
		}
	}
	return kept
}

// fileSystems are the roots of those that an application uses: where it is staged, those
// that options name, and those of the job's inputs and outputs.
func (c *Cluster) fileSystems(cfg config.Config, job *jobgraph.JobGraph, home string, more ...string) ([]string, error) {
	uris := append([]string{home}, remoteShipments(cfg)...)
	for _, uri := range more {
		if uri != "" {
			uris = append(uris, uri)
		}
	}
	for _, v := range job.Vertices {
		uris = append(uris, v.Outputs...)
		for _, split := range v.Splits {
			uris = append(uris, split.Base)
		}
	}
	if root, ok := LogFileSystem(c.Files, c.Conf); ok && c.identity.Login != nil {
		uris = append(uris, root)
	}
	return FileSystems(c.Files, cfg, uris...)
}

// LogFileSystem is the root of the one to which NodeManagers write an application's logs, with
// its tokens (YarnClientImpl#addLogAggregationDelegationToken). No job needs it: it is to be left
// out where nobody can log in. ok is false where logs are not written, or not to one of ours.
func LogFileSystem(files *dfs.FS, conf *hadoopconf.Conf) (root string, ok bool) {
	if written, err := conf.Bool("yarn.log-aggregation-enable"); err != nil || !written {
		return "", false
	}
	root, err := files.Root(conf.Get("yarn.nodemanager.remote-app-log-dir"))
	return root, err == nil
}

// FileSystems are the roots, each once, of the file systems that an application needs tokens
// for: those of the URIs, and those that security.kerberos.access.hadoopFileSystems names.
func FileSystems(files *dfs.FS, cfg config.Config, uris ...string) ([]string, error) {
	for uri := range strings.FieldsFuncSeq(cfg.String(config.KerberosFileSystems), func(r rune) bool { return r == ';' || r == ',' }) {
		uris = append(uris, strings.TrimSpace(uri))
	}
	var roots []string
	for _, uri := range uris {
		root, err := files.Root(uri)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(root, "file:") && !slices.Contains(roots, root) {
			roots = append(roots, root)
		}
	}
	return roots, nil
}

// readFiles reads the files that options name and the ApplicationMaster needs. Whoever acts
// for somebody else keeps his keytab to himself.
func (g *grant) readFiles(cfg config.Config, login *kerberos.Login, proxied bool) error {
	if path := cfg.String(config.Krb5ConfPath); path != "" {
		var err error
		if g.security.Krb5Conf, err = readSmall(path); err != nil {
			return fmt.Errorf("%s: %w", config.Krb5ConfPath, err)
		}
	}
	keytab := cfg.String(config.KerberosKeytab)
	if keytab == "" || proxied || login == nil {
		return nil
	}
	if err := CheckKeytab(cfg); err != nil {
		return err
	}
	g.security.Principal = login.Principal().String()
	g.security.Keytab = cfg.String(config.YarnLocalizedKeytabPath)
	if !cfg.Bool(config.YarnShipLocalKeytab) {
		return nil
	}
	var err error
	if g.keytab, err = readSmall(keytab); err != nil {
		return fmt.Errorf("%s: %w", config.KerberosKeytab, err)
	}
	return nil
}

// CheckKeytab tells whether options say rightly where the ApplicationMaster finds the keytab.
func CheckKeytab(cfg config.Config) error {
	path := cfg.String(config.YarnLocalizedKeytabPath)
	switch shipped := cfg.Bool(config.YarnShipLocalKeytab); {
	case shipped && (!fs.ValidPath(path) || filepath.Base(path) != path || path == "." || path == launch.BobbinLink):
		return fmt.Errorf("%s is %s: name a file of its own, without a directory, or set %s to false", config.YarnLocalizedKeytabPath, path, config.YarnShipLocalKeytab)
	case !shipped && !filepath.IsAbs(path):
		return fmt.Errorf("%s is %s: name the keytab's absolute path on the nodes, as %s is false", config.YarnLocalizedKeytabPath, path, config.YarnShipLocalKeytab)
	}
	return nil
}

func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxSecurityFile) {
		err = fmt.Errorf("read %s: %w: want a file of %d bytes at most", path, fs.ErrInvalid, maxSecurityFile)
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// tryTokens shows file systems the tokens for them that another launcher has handed on. One that
// is dead has YARN reject the application when all is uploaded, and not say what is wrong.
func (c *Cluster) tryTokens(ctx context.Context, roots []string) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, root := range roots {
		group.Go(func() error {
			held, err := c.Files.TokenOf(ctx, root, c.identity.Credentials)
			if err == nil && held != nil {
				_, err = c.Files.Stat(ctx, root)
			}
			return err
		})
	}
	return group.Wait()
}

// obtain adds a token for each file system for which there is none.
func (c *Cluster) obtain(ctx context.Context, g grant) error {
	var mu sync.Mutex // guards the tokens
	group, ctx := errgroup.WithContext(ctx)
	for _, root := range g.security.FileSystems {
		group.Go(func() error {
			token, err := c.token(ctx, root)
			if err != nil || token == nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			g.add(root, token)
			return nil
		})
	}
	return group.Wait()
}

// add takes in a token that was issued for a file system.
func (g *grant) add(root string, token *creds.Token) {
	g.credentials.Tokens[token.Service] = token
	g.issued[root] = token
}

// canceler is what giveBack needs of a dfs.FS.
type canceler interface {
	CancelDelegationToken(ctx context.Context, uri string, token *creds.Token) error
}

// giveBack cancels the tokens of an application that will not run. What cannot be canceled
// ends by itself.
func (i issued) giveBack(ctx context.Context, to canceler, logger logrus.FieldLogger) {
	var asking sync.WaitGroup
	for root, token := range i {
		asking.Go(func() {
			if err := to.CancelDelegationToken(ctx, root, token); err != nil {
				logger.WithError(err).WithField("filesystem", root).Debug("token is not canceled")
			}
		})
	}
	asking.Wait()
}

// doWithoutTokens tells whether an application can, for which options have none obtained.
func (c *Cluster) doWithoutTokens(ctx context.Context, g grant) error {
	if g.security.Principal != "" { // it has a keytab
		return nil
	}
	for _, root := range g.security.FileSystems {
		held, err := c.Files.TokenOf(ctx, root, c.identity.Credentials)
		if err != nil {
			return err
		}
		if held == nil {
			return fmt.Errorf("reach %s from the cluster: %w there, as options have none obtained (%s, %s, %s): name a keytab (%s), or leave them out",
				root, yarnrpc.ErrNoLogin, config.YarnTokenServices, config.DelegationTokensEnabled, config.HadoopFSProviderEnabled, config.KerberosKeytab)
		}
	}
	return nil
}

// token gets one for a file system; nil where it wants none, or one is there already.
func (c *Cluster) token(ctx context.Context, root string) (*creds.Token, error) {
	known, err := c.Files.TokenOf(ctx, root, c.identity.Credentials)
	if err != nil || known != nil {
		return nil, err
	}
	if c.identity.Login == nil {
		return nil, fmt.Errorf("get token for %s: %w: run kinit, or name a keytab (%s)", root, yarnrpc.ErrNoLogin, config.KerberosKeytab)
	}
	renewer, err := Renewer(c.Conf)
	if err != nil {
		return nil, err
	}
	token, err := c.Files.DelegationToken(ctx, root, renewer)
	if errors.Is(err, dfs.ErrNoTokens) { // an open one beside the secure
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get token of user %s for %s: %w", c.User, root, unnamed(err, renewer))
	}
	return token, nil
}

// unnamed adds to the error of a NameNode that has no name for a renewer what helps. It has no
// class of its own (AbstractDelegationTokenIdentifier#setRenewer).
func unnamed(err error, renewer string) error {
	if remote, is := errors.AsType[*yarnrpc.RemoteError](err); is && remote.Class == "java.lang.RuntimeException" {
		return fmt.Errorf("%w; %s is to renew it (yarn.resourcemanager.principal): the NameNode needs a rule for that name (hadoop.security.auth_to_local)", err, renewer)
	}
	return err
}

// Renewer is the principal of the ResourceManager, which renews the tokens of applications
// (YarnClientUtils.getRmPrincipal). Where there are two, they have one short name, which is
// what counts. ErrNoRenewer where the configuration does not tell.
func Renewer(conf *hadoopconf.Conf) (string, error) {
	const key = "yarn.resourcemanager.principal"
	configured, _, err := conf.Lookup(key)
	if err != nil {
		return "", err
	}
	if configured == "" {
		return "", ErrNoRenewer
	}
	return kerberos.ServerPrincipal(configured, func() (string, error) {
		rms, err := conf.ResourceManagers()
		if err != nil {
			return "", err
		}
		host, _, err := net.SplitHostPort(rms[0].Client)
		return host, err
	})
}

// rejected adds to YARN's rejection of an application what that leaves out: YARN renews its tokens
// first, and of one for which that fails it says neither why nor what helps.
func (g *grant) rejected(err error, conf *hadoopconf.Conf) error {
	if _, is := errors.AsType[*yarnclient.RejectedError](err); !is {
		return err
	}
	for _, alias := range slices.Sorted(maps.Keys(g.credentials.Tokens)) {
		if why := WrongRenewer(conf, g.credentials.Tokens[alias]); why != "" {
			err = fmt.Errorf("%w; %s: have the token issued with that renewer", err, why)
		}
	}
	return err
}

// WrongRenewer says why YARN cannot renew a token of HDFS, with which it takes no application
// then; "" where it can, or where that cannot be told.
func WrongRenewer(conf *hadoopconf.Conf, token *creds.Token) string {
	if token.Kind != creds.KindHDFSDelegation { // its own it renews for everybody
		return ""
	}
	about, err := identifier.DecodeDelegation(token)
	if err != nil || about.Renewer == "" {
		return ""
	}
	principal, name, err := resourceManager(conf)
	if err != nil || about.Renewer == name {
		return ""
	}
	return fmt.Sprintf("the token for %s names %q as who may renew it, and the ResourceManager %s is %q", token.Service, about.Renewer, principal, name)
}

// resourceManager is its principal, and the user name that the cluster has for it.
func resourceManager(conf *hadoopconf.Conf) (principal, name string, err error) {
	if principal, err = Renewer(conf); err != nil {
		return "", "", err
	}
	_, realm, _ := strings.Cut(principal, "@")
	names, err := conf.ShortNames(realm)
	if err != nil {
		return "", "", err
	}
	name, err = names.Short(principal)
	return principal, name, err
}

// end is when the first token ends that nobody can prolong; interval is between two renewals.
func end(credentials *creds.Credentials, interval time.Duration) (ends time.Time, err error) {
	for _, token := range credentials.Tokens {
		if token.Kind != creds.KindHDFSDelegation {
			continue
		}
		about, err := identifier.DecodeDelegation(token)
		if err != nil {
			return ends, fmt.Errorf("read the token for %s: %w", token.Service, err)
		}
		if last := about.Ends(interval); ends.IsZero() || last.Before(ends) {
			ends = last
		}
	}
	return ends, nil
}

// OnDefaultFS tells whether a directory is on fs.defaultFS: for what is staged elsewhere, the
// ResourceManager gets no new tokens (DelegationTokenRenewer#obtainSystemTokensForUser).
func OnDefaultFS(files *dfs.FS, dir string) bool {
	root, err := files.Root(dir)
	if err != nil {
		return false
	}
	standard, err := files.Root("/")
	return err == nil && root == standard
}

// replaces is what has the ResourceManager get tokens itself for applications that have none, or
// whose own are about to end (DelegationTokenRenewer).
const replaces = "yarn.resourcemanager.proxy-user-privileges.enabled"

// advice tells what the owner should know about the end of the tokens, or about their absence;
// "" where neither matters. home is where files are staged.
func (g *grant) advice(c *Cluster, cfg config.Config, home string) string {
	if g.ends.IsZero() {
		return g.adviceWithout(c, cfg, home)
	}
	until := g.ends.Local().Format("2006-01-02 15:04 MST") + " at the latest"
	switch {
	case g.security.Principal == "":
		return fmt.Sprintf("without a keytab the job can use HDFS until %s (%s)", until, config.KerberosKeytab)
	case cfg.Int(config.YarnApplicationAttempts) < 2:
		return ""
	case c.Conf.Get(replaces) != "true":
		return fmt.Sprintf("YARN can start another ApplicationMaster until %s, unless the ResourceManager gets new tokens (%s)", until, replaces)
	case !OnDefaultFS(c.Files, home):
		return fmt.Sprintf("YARN can start another ApplicationMaster until %s: the ResourceManager gets no new tokens for where it is staged, %s, which is not on fs.defaultFS", until, home)
	default:
		return ""
	}
}

// adviceWithout is advice for an application with a keytab for which options have no tokens
// obtained: NodeManagers, which fetch the files of its containers, need some all the same.
func (g *grant) adviceWithout(c *Cluster, cfg config.Config, home string) string {
	if g.security.Principal == "" || wantsTokens(cfg) {
		return ""
	}
	switch {
	case c.Conf.Get(replaces) != "true":
		return fmt.Sprintf("the client obtains no tokens (%s): NodeManagers cannot fetch the application's files, unless the ResourceManager gets some (%s)", config.YarnTokenServices, replaces)
	case !OnDefaultFS(c.Files, home):
		return fmt.Sprintf("the client obtains no tokens (%s), and the ResourceManager none for where the application is staged, %s, which is not on fs.defaultFS: NodeManagers cannot fetch its files", config.YarnTokenServices, home)
	default:
		return ""
	}
}
