package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// maxSecurityFile bounds a keytab and a krb5.conf, in bytes.
const maxSecurityFile = 1 << 20

// grant is what an application gets to prove its identity.
type grant struct {
	credentials *creds.Credentials
	// shared says that another launcher passed in some of the tokens. Its other applications may need them.
	shared   bool
	security launch.Security
	keytab   []byte    // to be staged; nil: none
	ends     time.Time // when the first token ends for good; zero: none ends
	issued   issued
}

// issued are the tokens that were issued for an application, by the roots of their file systems. Tokens passed
// in by another launcher are not among them.
type issued map[string]*creds.Token

// grant gets what an application needs: tokens for its file systems, with the ResourceManager as their renewer,
// and the files of a keytab login.
func (c *Cluster) grant(ctx context.Context, p proof) (grant, error) {
	g := grant{credentials: passedOn(c.identity.Credentials), issued: make(issued)}
	g.shared = len(g.credentials.Tokens) > 0
	if !c.Conf.SecurityEnabled() {
		return g, nil
	}
	var err error
	if g.security.FileSystems, err = c.fileSystems(p); err != nil {
		return g, err
	}
	if err := g.readFiles(p, c.identity.Login, c.identity.RealUser != ""); err != nil {
		return g, err
	}
	if err := c.tryTokens(ctx, g.security.FileSystems[1:]); err != nil { // not the first: staging soon uses the token of the staging area
		return g, err
	}
	if p.tokens {
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

// passedOn are the tokens of another launcher that its applications may use. The tokens of the launcher's own
// container are not among them.
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

// readFiles reads the files that the ApplicationMaster needs. The keytab of a user who acts for another user
// stays on this machine.
func (g *grant) readFiles(p proof, login *kerberos.Login, proxied bool) error {
	if p.krb5Conf != "" {
		var err error
		if g.security.Krb5Conf, err = readSmall(p.krb5Conf); err != nil {
			return fmt.Errorf("%s: %w", config.Krb5ConfPath, err)
		}
	}
	if p.keytab.path == "" || proxied || login == nil {
		return nil
	}
	if err := p.keytab.check(); err != nil {
		return err
	}
	g.security.Principal = login.Principal().String()
	g.security.Keytab = p.keytab.there
	if !p.keytab.ship {
		return nil
	}
	var err error
	if g.keytab, err = readSmall(p.keytab.path); err != nil {
		return fmt.Errorf("%s: %w", config.KerberosKeytab, err)
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

// tryTokens tries the tokens passed in by another launcher at their file systems. With a dead token, YARN would
// reject the application after the upload, without a reason.
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

// obtain adds a token for each file system that has none.
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

// add adds a token that was issued for a file system.
func (g *grant) add(root string, token *creds.Token) {
	g.credentials.Tokens[token.Service] = token
	g.issued[root] = token
}

// canceler is what giveBack needs of a dfs.FS.
type canceler interface {
	CancelDelegationToken(ctx context.Context, uri string, token *creds.Token) error
}

// giveBack cancels the tokens of an application that will not run. A token that cannot be canceled ends by
// itself.
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

// doWithoutTokens checks that an application can run if its options obtain no tokens.
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
			return fmt.Errorf("reach %s from the cluster: %w, because options switch the tokens off (%s, %s, %s): name a keytab (%s), or remove these options",
				root, yarnrpc.ErrNoLogin, config.YarnTokenServices, config.DelegationTokensEnabled, config.HadoopFSProviderEnabled, config.KerberosKeytab)
		}
	}
	return nil
}

// token gets a token for a file system; nil if the file system needs none, or a token is there already.
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
	if errors.Is(err, dfs.ErrNoTokens) { // an open file system beside the secure ones
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get token of user %s for %s: %w", c.User, root, unnamed(err, renewer))
	}
	return token, nil
}
