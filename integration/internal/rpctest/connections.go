package rpctest

import (
	"slices"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// ByTicket returns how a client with a Kerberos login opens connections to a server, such as rm.
func ByTicket(server string, qop sasl.QOP) yarnrpc.Security {
	return yarnrpc.Security{Method: "KERBEROS", Server: server + "/localhost@" + cluster.Realm, QOP: qop}
}

// ByToken returns how a client with a token opens connections to a server.
func ByToken(qop sasl.QOP) yarnrpc.Security { return yarnrpc.Security{Method: "TOKEN", QOP: qop} }

// Connections records how clients opened their connections, in this order. The zero value is empty. Clients may share
// one.
type Connections struct {
	mu     sync.Mutex // guards opened
	opened []opened
}

type opened struct {
	address string
	yarnrpc.Security
}

// Add is for the field Opened of yarnrpc.Options.
func (c *Connections) Add(address string, s yarnrpc.Security) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = append(c.opened, opened{address, s})
}

// Kinds returns the records up to now, without repetitions of the one before: idle connections end, and are opened
// again.
func (c *Connections) Kinds() (kinds []yarnrpc.Security) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.opened {
		kinds = append(kinds, o.Security)
	}
	return slices.Compact(kinds)
}

// Check checks that connections to this number of servers were opened, each in this way.
func (c *Connections) Check(t testing.TB, servers int, want yarnrpc.Security) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	addresses := make(map[string]bool)
	for _, o := range c.opened {
		addresses[o.address] = true
		if o.Security != want {
			t.Errorf("a connection to %s was opened as %+v, want %+v", o.address, o.Security, want)
		}
	}
	if len(addresses) != servers {
		t.Errorf("connections were opened to %d servers, want %d: %+v", len(addresses), servers, c.opened)
	}
}
