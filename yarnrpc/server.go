package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// ServerFrom takes from a Hadoop configuration who the servers of a protocol must be
// (its annotation KerberosInfo): the principal, and the pattern. Servers of a protocol
// that only tokens open need none.
func (o *Options) ServerFrom(conf *hadoopconf.Conf, protocol string) {
	var key string
	switch protocol {
	case ApplicationClientProtocol, ResourceTracker:
		key = "yarn.resourcemanager.principal"
	case HDFSClientProtocol:
		key = "dfs.namenode.kerberos.principal"
	case HAServiceProtocol: // of whom, the program must say
		key = conf.Get("hadoop.security.service.user.name.key")
	}
	if key == "" {
		o.ServerPrincipal, o.ServerPrincipalPattern, o.ServerPrincipalProperty = "", "", ""
		return
	}
	o.ServerPrincipal, o.ServerPrincipalPattern, o.ServerPrincipalProperty = conf.Get(key), conf.Get(key+".pattern"), key
}

// checkServer compares the principal that a server says it has with the one that it must
// have. The server's host may be the one that was dialled, or, as Java has it, the name
// of its address: without the first, a container without reverse DNS could not log in.
func (h *handshake) checkServer(ctx context.Context, principal string) error {
	dialled := func() (string, error) {
		host, _, err := net.SplitHostPort(h.o.Address)
		return host, err
	}
	err := kerberos.CheckServer(principal, h.o.ServerPrincipal, h.o.ServerPrincipalPattern, dialled)
	mismatch, is := errors.AsType[*kerberos.ServerMismatchError](err)
	if !is {
		return err
	}
	if h.o.ServerPrincipalPattern == "" {
		name, lookupErr := h.reverseName(ctx)
		if lookupErr == nil {
			err = kerberos.CheckServer(principal, h.o.ServerPrincipal, "", func() (string, error) { return name, nil })
			if mismatch, is = errors.AsType[*kerberos.ServerMismatchError](err); !is {
				return err
			}
		}
	}
	mismatch.Property = h.o.ServerPrincipalProperty
	return err
}

// reverseName is the name of the server's address.
func (h *handshake) reverseName(ctx context.Context) (string, error) {
	address, is := h.conn.RemoteAddr().(*net.TCPAddr)
	if !is {
		return "", fmt.Errorf("no name of %v", h.conn.RemoteAddr())
	}
	names, err := net.DefaultResolver.LookupAddr(ctx, address.IP.String())
	if err != nil {
		return "", err
	}
	if len(names) == 0 {
		return "", fmt.Errorf("no name of %v", address)
	}
	return strings.TrimSuffix(names[0], "."), nil
}
