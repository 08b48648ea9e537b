package rest

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
)

const (
	// maxConnections bounds all connections, with the one that is being accepted, so that clients which
	// open many take no file descriptors from the rest of the process. Package doorstep bounds the
	// connections of unknown users further.
	maxConnections = budget.Connections
	// maxLesser bounds the lesser connections: of users who are known and have not all rights. net/http
	// needs some 460 KiB for maxHeader bytes of header fields with short names and no values, and a request
	// may keep them for as long as its body may take.
	maxLesser = 48
)

// crowd is the connections of a port. A connection is lesser if its user is known and has not all rights.
// When the crowd is full, or has maxLesser lesser connections, it cuts the lesser one on which nothing has
// moved for the longest time. A connection whose user is not known yet is not cut: package doorstep admits
// few of them. So users who may only view do not keep out users who have all rights.
//
// Make one with newCrowd. Its methods may be called from any goroutine.
type crowd struct {
	most int
	left chan struct{} // holds a token if a member has left since the last token was taken

	mu      sync.Mutex // guards what follows, and the fields of each member that its type names
	members map[*member]struct{}
	lesser  int // number of lesser members
}

// newCrowd makes a crowd of at most the given number of members; 0: maxConnections.
func newCrowd(most int) *crowd {
	if most == 0 {
		most = maxConnections
	}
	return &crowd{most: most, left: make(chan struct{}, 1), members: make(map[*member]struct{})}
}

// member is a connection of the crowd until it is closed.
type member struct {
	net.Conn
	crowd *crowd

	// Guarded by the crowd's mutex:
	moved time.Time // when a byte was last read or written
	known bool      // its user is known
	all   bool      // its user has all rights: it is not cut for others
}

// lesser reports whether the member's user is known and has not all rights.
func (m *member) lesser() bool { return m.known && !m.all }

// enter makes a connection a member. If the crowd is full and no member can be cut, it waits until ctx
// ends, and returns its cause.
func (c *crowd) enter(ctx context.Context, conn net.Conn) (net.Conn, error) {
	m := &member{Conn: conn, crowd: c}
	for !c.tryEnter(m) {
		select {
		case <-c.left:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return m, nil
}

func (c *crowd) tryEnter(m *member) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.members) >= c.most-1 && !c.cutStillest(nil) {
		return false
	}
	m.moved = time.Now()
	c.members[m] = struct{}{}
	return true
}

// cutStillest closes the lesser member on which nothing has moved for the longest time, but never spared.
// It returns false if there is no such member.
func (c *crowd) cutStillest(spared *member) bool {
	var stillest *member
	for m := range c.members {
		if m.lesser() && m != spared && (stillest == nil || m.moved.Before(stillest.moved)) {
			stillest = m
		}
	}
	if stillest == nil {
		return false
	}
	c.remove(stillest)
	_ = stillest.Conn.Close() // nothing can use the error
	return true
}

// remove removes a member, unless it was cut before.
func (c *crowd) remove(m *member) {
	if _, in := c.members[m]; !in {
		return
	}
	delete(c.members, m)
	if m.lesser() {
		c.lesser--
	}
}

// admit notes that a member's user is known, and whether he has all rights.
func (c *crowd) admit(m *member, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, in := c.members[m]; !in {
		return
	}
	if m.lesser() {
		c.lesser--
	}
	m.known, m.all = true, m.all || all
	if m.lesser() {
		c.lesser++
	}
	if c.lesser > maxLesser {
		c.cutStillest(m)
	}
}

// admit notes that the user of a connection is known, and whether he has all rights, now or in an earlier
// request. conn is a member, or wraps one and gives it by NetConn. Other connections stay as they are.
func admit(conn net.Conn, all bool) {
	for {
		switch c := conn.(type) {
		case *member:
			c.crowd.admit(c, all)
			return
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return
		}
	}
}

func (m *member) move(n int) {
	if n > 0 {
		m.crowd.mu.Lock()
		defer m.crowd.mu.Unlock()
		m.moved = time.Now()
	}
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	m.move(n)
	return n, err
}

func (m *member) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	m.move(n)
	return n, err
}

// Close closes the connection, and then leaves the crowd.
func (m *member) Close() error {
	err := m.Conn.Close()
	m.crowd.mu.Lock()
	m.crowd.remove(m)
	m.crowd.mu.Unlock()
	select {
	case m.crowd.left <- struct{}{}:
	default:
	}
	return err
}

// NetConn returns the connection below. Package doorstep calls it.
func (m *member) NetConn() net.Conn { return m.Conn }
