package rest

import (
	"context"
	"net"
	"net/http"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/crowd"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
)

const (
	// maxConnections bounds all connections, with the one that is being accepted, so that clients which
	// open many take no file descriptors from the rest of the process. Package doorstep bounds the
	// connections of unknown users further.
	maxConnections = budget.Connections
	// maxLesser bounds the connections of users who are known and have not all rights (package crowd).
	// net/http needs some 460 KiB for maxHeader bytes of header fields with short names and no values, and
	// a request may keep them for as long as its body may take.
	maxLesser = 48
)

// maxRefused is how many requests of a connection are refused before the connection ends, as long as no
// user with a right has used it. A client that learns from a refusal how to authenticate needs one of them.
const maxRefused = 2

// connection is the state of a connection: the caller who has authenticated on it, at the TLS door. Its
// requests come one after another.
type connection struct {
	conn    net.Conn
	caller  *caller
	proved  bool // a user with a right has used it
	refused int  // requests refused before that
}

// prove notes a request by a user who has a right. all: he has all rights.
func (c *connection) prove(all bool) {
	crowd.Admit(c.conn, all)
	if !c.proved {
		c.proved = true
		doorstep.Prove(c.conn)
	}
}

// refuse notes that a request is refused, and reports whether the connection may have more.
func (c *connection) refuse(r *http.Request) bool {
	if r.ContentLength != 0 { // net/http reads the rest of a short body before it answers
		doorstep.EndWork(c.conn)
	}
	c.refused++
	return c.proved || c.refused < maxRefused
}

type connectionKey struct{}

// withConnection is an http.Server's ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{conn: conn})
}

// asked is an http.Server's ConnState. When a request has arrived, REST has to find out who sent it, while
// net/http reads on to learn whether the client is still there. Until then a client waits only for a
// processor. A client without a right never waits for anything else.
func asked(conn net.Conn, state http.ConnState) {
	if state == http.StateActive {
		doorstep.BeginWork(conn)
	}
}
