package client

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// end is when the first token ends for good. interval is the time between two renewals.
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

// OnDefaultFS tells whether a directory is on fs.defaultFS. The ResourceManager gets no new tokens for files
// that are staged elsewhere (DelegationTokenRenewer#obtainSystemTokensForUser).
func OnDefaultFS(files *dfs.FS, dir string) bool {
	root, err := files.Root(dir)
	if err != nil {
		return false
	}
	standard, err := files.Root("/")
	return err == nil && root == standard
}

// Replaces is the property with which the ResourceManager itself gets tokens for applications that have none,
// or whose tokens are about to end (DelegationTokenRenewer).
const Replaces = "yarn.resourcemanager.proxy-user-privileges.enabled"

// Loss is what an application can no longer do once its tokens have ended for good.
type Loss int

// The losses.
const (
	// LosesNothing: the ApplicationMaster gets new tokens with its keytab.
	LosesNothing Loss = iota
	// LosesHDFS: there is no keytab, and no process of the application can use HDFS.
	LosesHDFS
	// LosesAttempts: YARN cannot start another ApplicationMaster, as the ResourceManager gets no
	// new tokens for it (Replaces).
	LosesAttempts
	// LosesAttemptsElsewhere: YARN cannot start another ApplicationMaster, as the application is not staged on
	// fs.defaultFS. The ResourceManager gets new tokens only for that (OnDefaultFS).
	LosesAttemptsElsewhere
)

// LossOf tells what an application with this number of attempts loses.
func LossOf(conf *hadoopconf.Conf, keytab bool, attempts int, onDefaultFS bool) Loss {
	switch {
	case !keytab:
		return LosesHDFS
	case attempts < 2:
		return LosesNothing
	case conf.Get(Replaces) != "true":
		return LosesAttempts
	case !onDefaultFS:
		return LosesAttemptsElsewhere
	default:
		return LosesNothing
	}
}

// advice tells what the owner should know about the end of the tokens, or about missing tokens; "" if there is
// nothing to know.
func (g *grant) advice(c *Cluster, p proof) string {
	if g.ends.IsZero() {
		return g.adviceWithout(c, p)
	}
	home := p.uses[0]
	until := g.ends.Local().Format("2006-01-02 15:04 MST") + " at the latest"
	switch loss := LossOf(c.Conf, g.security.Principal != "", p.attempts, OnDefaultFS(c.Files, home)); {
	case loss == LosesHDFS:
		return fmt.Sprintf("without a keytab the job can use HDFS until %s (%s)", until, config.KerberosKeytab)
	case !p.lasts:
		return ""
	case loss == LosesAttempts:
		return fmt.Sprintf("YARN can start another ApplicationMaster until %s, unless the ResourceManager gets new tokens (%s)", until, Replaces)
	case loss == LosesAttemptsElsewhere:
		return fmt.Sprintf("YARN can start another ApplicationMaster until %s: the ResourceManager gets no new tokens for the staging directory %s, which is not on fs.defaultFS", until, home)
	default:
		return ""
	}
}

// adviceWithout is the advice for an application with a keytab whose options obtain no tokens. NodeManagers
// still need tokens to fetch the files of its containers.
func (g *grant) adviceWithout(c *Cluster, p proof) string {
	if g.security.Principal == "" || p.tokens {
		return ""
	}
	switch home := p.uses[0]; {
	case c.Conf.Get(Replaces) != "true":
		return fmt.Sprintf("the client obtains no tokens (%s): NodeManagers cannot fetch the application's files, unless the ResourceManager gets tokens (%s)", config.YarnTokenServices, Replaces)
	case !OnDefaultFS(c.Files, home):
		return fmt.Sprintf("the client obtains no tokens (%s), and the ResourceManager gets none for the staging directory %s, which is not on fs.defaultFS: NodeManagers cannot fetch the application's files", config.YarnTokenServices, home)
	default:
		return ""
	}
}
