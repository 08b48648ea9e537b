package appmaster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// ports are the open ports of this process.
type ports struct {
	roles *net.TCPListener // for workers
	rest  *net.TCPListener
}

// openPorts opens the ports. After an error it returns the ports that are open, so that the caller closes
// them.
func openPorts(ctx context.Context, env environment) (p ports, err error) {
	if p.roles, err = listen(ctx, env.host, env.config.Ports(config.YarnMasterPort)); err != nil {
		return p, err
	}
	if p.rest, err = listen(ctx, env.host, env.config.Ports(config.RESTBindPort)); err != nil {
		return p, err
	}
	return p, nil
}

// listen binds the first free port of a range on the node's address.
func listen(ctx context.Context, host string, ports config.Ports) (*net.TCPListener, error) {
	var lc net.ListenConfig
	err := errNoPort
	for port := range ports.All() {
		var l net.Listener
		if l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return l.(*net.TCPListener), nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, fmt.Errorf("find a free port on %s: %w", host, err)
}

var errNoPort = errors.New("the port range is empty")

// lent is a listener for a server that another one follows: Close ends Accept, and the port stays open.
type lent struct{ *net.TCPListener }

// Close implements net.Listener.
func (l lent) Close() error { return l.SetDeadline(time.Now()) }

// giveBack lets the next server accept.
func (l lent) giveBack() error { return l.SetDeadline(time.Time{}) }
