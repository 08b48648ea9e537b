package rpctest

import (
	"slices"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// ByTicket is how connections to a server, such as rm, are opened by who logs in with Kerberos.
func ByTicket(server string, qop sasl.QOP) yarnrpc.Security {
	return yarnrpc.Security{Method: "KERBEROS", Server: server + "/localhost@" + cluster.Realm, QOP: qop}
}

// ByToken is how they are opened by who has a token.
func ByToken(qop sasl.QOP) yarnrpc.Security { return yarnrpc.Security{Method: "TOKEN", QOP: qop} }

// Connections are how the connections of clients were opened, in this order. The zero value has none. Clients may share one.
type Connections struct {
	mu     sync.Mutex // guards opened
	opened []opened
}

type opened struct {
	address string
	yarnrpc.Security
}

// Add is for Opened of yarnrpc.Options.
func (c *Connections) Add(address string, s yarnrpc.Security) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = append(c.opened, opened{address, s})
}

// Kinds are those up to now that were opened otherwise than the one before: idle connections end, and are opened again.
func (c *Connections) Kinds() (kinds []yarnrpc.Security) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range c.opened {
		kinds = append(kinds, o.Security)
	}
	return slices.Compact(kinds)
}

// Check wants connections to so many servers, each opened like that.
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
