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
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// ports are the open ports of this process, and its credentials there.
type ports struct {
	roles     net.Listener // for workers
	rest      net.Listener
	authority *pki.Authority   // of all of the application's certificates
	front     *pki.Credentials // of REST
	token     pki.Token        // of the owner, for REST
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
	if p.authority, err = pki.NewAuthority(env.container.Attempt.Application.String(), time.Now()); err != nil {
		return p, err
	}
	p.token = pki.NewToken()
	p.front, err = p.authority.IssueREST([]string{env.host}, time.Now())
	return p, err
}

// listen binds the first free port of a range on the node's address.
func listen(ctx context.Context, host string, ports config.Ports) (net.Listener, error) {
	var lc net.ListenConfig
	err := errNoPort
	for port := range ports.All() {
		var l net.Listener
		if l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return l, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, fmt.Errorf("find a free port on %s: %w", host, err)
}

var errNoPort = errors.New("the port range is empty")

// access returns what the owner needs to reach REST.
func (p ports) access(start time.Time, env environment) launch.Access {
	return launch.Access{
		Address: p.rest.Addr().String(), Authority: p.front.Authority(), Token: p.token.Reveal(), AMStart: start.UnixMilli(),
		Attempt: env.container.Attempt.Attempt, Application: env.container.Attempt.Application.String(),
	}
}
