// Package crowd bounds the connections of a port whose peers are known, as package doorstep bounds those
// of strangers, below it. When there are too many, it cuts the one on which nothing has moved for the
// longest time. So peers that are idle, or do not take their answers, keep nobody out.
//
// A Crowd starts no goroutines. The package imports nothing of this module.
package crowd

import (
	"context"
	"math"
	"net"
	"sync"
	"time"
)

// Crowd is the connections of a port. A connection is lesser if its user is known and has not all rights.
// When the crowd is full, or has too many lesser connections, it cuts the lesser one on which nothing has
// moved for the longest time. A connection whose user is not known yet is not cut: package doorstep admits
// few of them. So users who may only view do not keep out users who have all rights.
//
// Make one with New. Its methods may be called from any goroutine.
type Crowd struct {
	most, mostLesser int
	left             chan struct{} // holds a token if a member has left since the last token was taken

	mu      sync.Mutex // guards what follows, and the fields of each member that its type names
	members map[*member]struct{}
	lesser  int // number of lesser members
}

// New makes a Crowd of at most so many connections, with the one that is being accepted, and at most so
// many lesser ones. 0: without that limit.
func New(most, lesser int) *Crowd {
	if most == 0 {
		most = math.MaxInt
	}
	if lesser == 0 {
		lesser = math.MaxInt
	}
	return &Crowd{most: most, mostLesser: lesser, left: make(chan struct{}, 1), members: make(map[*member]struct{})}
}

// member is a connection of the crowd until it is closed.
type member struct {
	net.Conn
	crowd *Crowd

	// Guarded by the crowd's mutex:
	moved time.Time // when a byte was last read or written
	known bool      // its user is known
	all   bool      // its user has all rights: it is not cut for others
}

// lesser reports whether the member's user is known and has not all rights.
func (m *member) lesser() bool { return m.known && !m.all }

// Enter makes a connection a member. If the crowd is full and no member can be cut, it waits until ctx
// ends, and returns its cause.
func (c *Crowd) Enter(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if m := c.enter(conn, ctx.Done()); m != nil {
		return m, nil
	}
	return nil, context.Cause(ctx)
}

// enter returns nil if it waits when the channel is closed.
func (c *Crowd) enter(conn net.Conn, ends <-chan struct{}) *member {
	m := &member{Conn: conn, crowd: c}
	for !c.tryEnter(m) {
		select {
		case <-c.left:
		case <-ends:
			return nil
		}
	}
	return m
}

func (c *Crowd) tryEnter(m *member) bool {
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
func (c *Crowd) cutStillest(spared *member) bool {
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
func (c *Crowd) remove(m *member) {
	if _, in := c.members[m]; !in {
		return
	}
	delete(c.members, m)
	if m.lesser() {
		c.lesser--
	}
}

// admit notes that a member's user is known, and whether he has all rights.
func (c *Crowd) admit(m *member, all bool) {
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
	if c.lesser > c.mostLesser {
		c.cutStillest(m)
	}
}

// Admit notes that the user of a connection is known, and whether he has all rights, now or in an earlier
// request. conn is a member, or wraps one and gives it by NetConn. Other connections stay as they are.
func Admit(conn net.Conn, all bool) {
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
