package client

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// proof has the options about an application's credentials, and the file systems that need tokens.
type proof struct {
	tokens   bool     // the client obtains tokens of file systems
	uses     []string // see plan.uses
	named    []string // URIs of more file systems, from options
	krb5Conf string   // path of a krb5.conf; "": the nodes' own
	keytab   keytab
	attempts int  // of its ApplicationMaster
	lasts    bool // the owner may rely on attempts after the end of the tokens, which comes after days
}

// keytab is the keytab of the ApplicationMaster's login.
type keytab struct {
	path  string // on this machine; "": there is none
	there string // path in the ApplicationMaster's container, or on its node
	ship  bool   // the container localizes it
}

func proofOf(c config.Config, uses ...string) proof {
	return proof{
		tokens: wantsTokens(c), uses: uses, named: namedFileSystems(c), krb5Conf: c.String(config.Krb5ConfPath),
		keytab: keytabOf(c),
	}
}

func keytabOf(c config.Config) keytab {
	return keytab{path: c.String(config.KerberosKeytab), there: c.String(config.YarnLocalizedKeytabPath), ship: c.Bool(config.YarnShipLocalKeytab)}
}

// namedFileSystems are the URIs in security.kerberos.access.hadoopFileSystems, and the directory for the history of jobs.
func namedFileSystems(c config.Config) (uris []string) {
	for uri := range strings.FieldsFuncSeq(c.String(config.KerberosFileSystems), func(r rune) bool { return r == ';' || r == ',' }) {
		uris = append(uris, strings.TrimSpace(uri))
	}
	if dir := c.String(config.ArchiveDir); dir != "" { // the ApplicationMaster writes there
		uris = append(uris, dir)
	}
	return uris
}

// wantsTokens tells whether the client obtains tokens for file systems.
func wantsTokens(cfg config.Config) bool {
	return cfg.Bool(config.DelegationTokensEnabled) && cfg.Bool(config.HadoopFSProviderEnabled) &&
		slices.Contains(listed(cfg, config.YarnTokenServices), config.TokensOfHDFS)
}

// CheckKeytab checks the options that say where the ApplicationMaster finds the keytab.
func CheckKeytab(cfg config.Config) error { return keytabOf(cfg).check() }

func (k keytab) check() error {
	path := k.there
	switch {
	case k.ship && (!fs.ValidPath(path) || filepath.Base(path) != path || path == "." || path == launch.BobbinLink || path == launch.SiteFile):
		return fmt.Errorf("%s is %s: give an unused file name without a directory, or set %s to false", config.YarnLocalizedKeytabPath, path, config.YarnShipLocalKeytab)
	case !k.ship && !filepath.IsAbs(path):
		return fmt.Errorf("%s is %s: name the keytab's absolute path on the nodes, because %s is false", config.YarnLocalizedKeytabPath, path, config.YarnShipLocalKeytab)
	}
	return nil
}

// fileSystems are the roots of the file systems that an application uses: for staging, for the job's inputs and
// outputs, and those that options name.
func (c *Cluster) fileSystems(p proof) ([]string, error) {
	uris := slices.Clone(p.uses)
	if root, ok := LogFileSystem(c.Files, c.Conf); ok && c.identity.Login != nil {
		uris = append(uris, root)
	}
	return rootsOf(c.Files, append(uris, p.named...))
}

// LogFileSystem is the root of the file system to which NodeManagers write an application's logs, with the
// application's tokens (YarnClientImpl#addLogAggregationDelegationToken). No job needs it: without a login, the
// client leaves it out. ok is false if YARN does not collect logs, or collects them on a file system that files
// does not know.
func LogFileSystem(files *dfs.FS, conf *hadoopconf.Conf) (root string, ok bool) {
	if written, err := conf.Bool("yarn.log-aggregation-enable"); err != nil || !written {
		return "", false
	}
	root, err := files.Root(conf.Get("yarn.nodemanager.remote-app-log-dir"))
	return root, err == nil
}

// FileSystems are the roots, each once, of the file systems for which an application needs tokens: those of the
// URIs, and those that options name.
func FileSystems(files *dfs.FS, cfg config.Config, uris ...string) ([]string, error) {
	return rootsOf(files, append(uris, namedFileSystems(cfg)...))
}

func rootsOf(files *dfs.FS, uris []string) ([]string, error) {
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
