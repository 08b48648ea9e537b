package appmaster

import (
	"context"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	netports "github.com/bobbin-yarn/bobbin/internal/ports"
)

// ports are the open ports of this process.
type ports struct {
	roles *net.TCPListener // for workers
	rest  *net.TCPListener
}

// openPorts opens the ports. After an error it returns the ports that are open, so that the caller closes
// them.
func openPorts(ctx context.Context, env environment) (p ports, err error) {
	if p.roles, err = netports.Listen(ctx, env.host, env.config.Ports(config.YarnMasterPort)); err != nil {
		return p, err
	}
	if p.rest, err = netports.Listen(ctx, env.host, env.config.Ports(config.RESTBindPort)); err != nil {
		return p, err
	}
	return p, nil
}

// lent is a listener for a server that another one follows: Close ends Accept, and the port stays open.
type lent struct{ *net.TCPListener }

// Close implements net.Listener.
func (l lent) Close() error { return l.SetDeadline(time.Now()) }

// giveBack lets the next server accept.
func (l lent) giveBack() error { return l.SetDeadline(time.Time{}) }
