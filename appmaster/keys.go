package appmaster

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// keys are the certificate authority of the application, and what this process has of it. They implement Keys. Until
// Install only the token is there.
type keys struct {
	application string
	host        string           // of this process
	token       pki.Token        // of the owner, for REST
	viewer      pki.Token        // for programs that only view
	authority   *pki.Authority   // of all of the application's certificates
	front       *pki.Credentials // of REST
	roles       *pki.Credentials // of this end of workers' connections
	installed   atomic.Bool      // all of them are there: for the lobby, which is served meanwhile
}

func newKeys(env environment) *keys {
	return &keys{application: env.container.Attempt.Application.String(), host: env.host, token: pki.NewToken()}
}

// Make implements Keys.
func (k *keys) Make() ([]byte, error) {
	authority, err := pki.NewAuthority(k.application, time.Now())
	if err != nil {
		return nil, err
	}
	return authority.PEM()
}

// Install implements Keys.
func (k *keys) Install(pem []byte) (err error) {
	if k.authority, err = pki.ParseAuthority(k.application, pem); err != nil {
		return err
	}
	if k.viewer, err = k.authority.Viewer(); err != nil {
		return err
	}
	if k.front, err = k.authority.IssueREST([]string{k.host}, time.Now()); err != nil {
		return err
	}
	if k.roles, err = k.authority.IssueApplicationMaster(time.Now()); err != nil {
		return err
	}
	k.installed.Store(true)
	return nil
}

// lobby is the certificate of REST before the attempt leads: one of the application's authority, if that is known, or else one that
// nobody knows.
func (k *keys) lobby() (*tls.Config, error) {
	if k.installed.Load() {
		return k.front.RESTServerTLS(), nil
	}
	authority, err := pki.NewAuthority(k.application, time.Now())
	if err != nil {
		return nil, err
	}
	one, err := authority.IssueREST([]string{k.host}, time.Now())
	if err != nil {
		return nil, err
	}
	return one.RESTServerTLS(), nil
}

// identify makes the credentials of a worker on a host.
func (k *keys) identify(worker ids.ResourceID, host string) ([]byte, error) {
	credentials, err := k.authority.IssueTaskExecutor(worker, time.Now(), host)
	if err != nil {
		return nil, err
	}
	return credentials.PEM()
}

// access returns what the owner needs to reach REST.
func (k *keys) access(address net.Addr, start time.Time, env environment) launch.Access {
	return launch.Access{
		Address: address.String(), Authority: k.front.Authority(), Token: k.token.Reveal(), Viewer: k.viewer.Reveal(), AMStart: start.UnixMilli(),
		Attempt: env.container.Attempt.Attempt, Application: k.application,
	}
}
