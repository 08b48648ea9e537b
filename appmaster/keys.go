package appmaster

import (
	"crypto/tls"
	"net"
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
	authority   *pki.Authority   // of all of the application's certificates
	front       *pki.Credentials // of REST
	roles       *pki.Credentials // of this end of workers' connections
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
	if k.front, err = k.authority.IssueREST([]string{k.host}, time.Now()); err != nil {
		return err
	}
	k.roles, err = k.authority.IssueApplicationMaster(time.Now())
	return err
}

// lobby is the certificate of REST until the application's authority is known.
func (k *keys) lobby() (*tls.Config, error) {
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

// identify makes a worker's credentials.
func (k *keys) identify(worker ids.ResourceID) ([]byte, error) {
	credentials, err := k.authority.IssueTaskExecutor(worker, time.Now())
	if err != nil {
		return nil, err
	}
	return credentials.PEM()
}

// access returns what the owner needs to reach REST.
func (k *keys) access(address net.Addr, start time.Time, env environment) launch.Access {
	return launch.Access{
		Address: address.String(), Authority: k.front.Authority(), Token: k.token.Reveal(), AMStart: start.UnixMilli(),
		Attempt: env.container.Attempt.Attempt, Application: k.application,
	}
}
