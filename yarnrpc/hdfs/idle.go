package hdfs

import (
	"slices"
	"sync"
	"time"
)

// Connections to DataNodes that have carried a block to its end are kept for another block
// (PeerCache). A new connection costs the DataNode a thread and, in secure clusters, a login:
// most of the work for a small file.
const (
	// idleTime is how long a connection is kept (dfs.client.socketcache.expiryMsec). It is
	// less than the 4 s after which a DataNode closes it
	// (dfs.datanode.socket.reuse.keepalive).
	idleTime = 3 * time.Second
	// maxIdle is the number of connections kept to one DataNode
	// (dfs.client.socketcache.capacity).
	maxIdle = 16
)

// idleConns holds the kept connections of a Dialer.
type idleConns struct {
	mu     sync.Mutex // guards what follows
	conns  map[string][]idleConn
	closed bool
}

type idleConn struct {
	conn   *blockConn
	expiry *time.Timer
}

// keep takes over a connection without a running operation.
func (i *idleConns) keep(conn *blockConn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed || len(i.conns[conn.address]) >= maxIdle {
		conn.Close()
		return
	}
	if i.conns == nil {
		i.conns = make(map[string][]idleConn)
	}
	i.conns[conn.address] = append(i.conns[conn.address], idleConn{conn, time.AfterFunc(idleTime, func() { i.expire(conn) })})
}

// take returns the most recently kept connection to a DataNode; nil: none. The connection may
// have ended.
func (i *idleConns) take(address string) *blockConn {
	i.mu.Lock()
	defer i.mu.Unlock()
	kept := i.conns[address]
	if len(kept) == 0 {
		return nil
	}
	last := kept[len(kept)-1]
	last.expiry.Stop()
	i.put(address, kept[:len(kept)-1])
	return last.conn
}

// expire closes a connection that no reader has taken.
func (i *idleConns) expire(conn *blockConn) {
	i.mu.Lock()
	defer i.mu.Unlock()
	kept := i.conns[conn.address]
	at := slices.IndexFunc(kept, func(c idleConn) bool { return c.conn == conn })
	if at < 0 {
		return // it was taken at this moment
	}
	i.put(conn.address, slices.Delete(kept, at, at+1))
	conn.Close()
}

func (i *idleConns) put(address string, kept []idleConn) {
	if len(kept) == 0 {
		delete(i.conns, address)
		return
	}
	i.conns[address] = kept
}

// close stops keeping connections. The Dialer ends those that are kept.
func (i *idleConns) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	for _, kept := range i.conns {
		for _, c := range kept {
			c.expiry.Stop()
		}
	}
	i.conns = nil
}
