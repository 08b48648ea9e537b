package yarnrpc

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// ServerFrom reads from a Hadoop configuration the principal that servers of a protocol
// must have (the protocol's annotation KerberosInfo). The result is the zero value for a
// protocol that accepts only tokens.
func ServerFrom(conf *hadoopconf.Conf, protocol string) kerberos.Server {
	var key string
	switch protocol {
	case ApplicationClientProtocol, ResourceTracker:
		key = "yarn.resourcemanager.principal"
	case HDFSClientProtocol:
		key = "dfs.namenode.kerberos.principal"
	case HAServiceProtocol: // the program must say whose principal
		key = conf.Get("hadoop.security.service.user.name.key")
	}
	if key == "" {
		return kerberos.Server{}
	}
	return kerberos.Server{Principal: conf.Get(key), Pattern: conf.Get(key + ".pattern"), Property: key}
}

// checkServer compares the principal that a server advertises with the required one. The
// server's host may be the dialled one or, as in Java, the name of its address. Without
// the first, a container without reverse DNS could not log in.
func (h *handshake) checkServer(ctx context.Context, principal string) error {
	err := h.o.Server.Check(principal, func() (string, error) {
		host, _, err := net.SplitHostPort(h.address)
		return host, err
	})
	if !isA[*kerberos.ServerMismatchError](err) || h.o.Server.Pattern != "" {
		return err
	}
	name, lookupErr := h.reverseName(ctx)
	if lookupErr != nil {
		return err
	}
	return h.o.Server.Check(principal, func() (string, error) { return name, nil })
}

// reverseName returns the name of the server's address.
func (h *handshake) reverseName(ctx context.Context) (string, error) {
	address, is := h.conn.RemoteAddr().(*net.TCPAddr)
	if !is {
		return "", fmt.Errorf("no name found for %v", h.conn.RemoteAddr())
	}
	names, err := net.DefaultResolver.LookupAddr(ctx, address.IP.String())
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("no name found for %v", address)
	}
	return strings.TrimSuffix(names[0], "."), nil
}
