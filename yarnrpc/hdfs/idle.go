package hdfs

import (
	"slices"
	"sync"
	"time"
)

// Connections to DataNodes over which a block was read to its end, and that are good for
// another (PeerCache): a new one costs a thread there, and a login where there is one, which
// is most of the work for a small file.
const (
	// idleTime is how long one is kept, less than the 4 s after which a DataNode ends it
	// (dfs.datanode.socket.reuse.keepalive); as dfs.client.socketcache.expiryMsec.
	idleTime = 3 * time.Second
	// maxIdle is how many are kept to one DataNode; as dfs.client.socketcache.capacity.
	maxIdle = 16
)

// idleConns are those of a Dialer.
type idleConns struct {
	mu     sync.Mutex // guards what follows
	conns  map[string][]idleConn
	closed bool
}

type idleConn struct {
	conn   *blockConn
	expiry *time.Timer
}

// keep takes over a connection that nothing is under way on.
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

// take gives the connection to a DataNode that was kept last; nil where there is none. It may
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

// expire closes a connection that nobody has taken.
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

// close keeps none any more; the Dialer ends those that are kept.
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
