// Package ports opens the ports of a process on its node. It starts no goroutine.
package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

var errNoPort = errors.New("the port range is empty")

// Listen binds the first free port of a range on the node's address. Port 0 is any free one.
func Listen(ctx context.Context, host string, ports config.Ports) (*net.TCPListener, error) {
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
