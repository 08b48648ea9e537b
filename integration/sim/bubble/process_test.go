package bubble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
)

// errKilled is the cause of the context of a process that was killed.
var errKilled = errors.New("the process was killed")

// process is a group of goroutines that stand for a process. Its connections and its files are all that
// others see of it.
type process struct {
	cluster *cluster
	name    string
	killed  chan struct{} // is closed when it is killed, before its goroutines end
	ended   chan struct{} // is closed when its goroutines have ended
	cancel  context.CancelCauseFunc

	mu        sync.Mutex
	dead      bool // killed or ended
	conns     map[*conn]bool
	listeners []*listener
	children  []*process
	frozen    time.Time // its new connections deliver nothing before
}

// start starts a process. Its exit code is nil if run returns nil.
func (c *cluster) start(name string, run func(ctx context.Context, p *process) error) *process {
	p := &process{cluster: c, name: name, killed: make(chan struct{}), ended: make(chan struct{}), conns: make(map[*conn]bool)}
	var ctx context.Context
	ctx, p.cancel = context.WithCancelCause(context.Background())
	c.add(p)
	c.running.Go(func() {
		defer close(p.ended)
		err := run(ctx, p)
		c.log.WithField("process", name).WithError(err).Debug("process ends")
		p.end()
		p.cancel(nil)
	})
	return p
}

// kill kills a process and its children. Nothing that it does afterwards has an effect.
func (p *process) kill() {
	if !p.end() {
		return
	}
	close(p.killed)
	p.cancel(errKilled)
}

// end closes all that a process has open, as a kernel does. It returns false if that was done before.
func (p *process) end() bool {
	p.mu.Lock()
	if p.dead {
		p.mu.Unlock()
		return false
	}
	p.dead = true
	var conns []*conn
	for c := range p.conns { //bobbin:anyorder all of them
		conns = append(conns, c)
	}
	listeners, children := p.listeners, p.children
	p.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
	for _, l := range listeners {
		l.Close()
	}
	p.cluster.files.crash(p.name)
	for _, child := range children { // the NodeManager kills the process group
		child.kill()
	}
	return true
}

func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.dead
}

// adopt makes a process the parent of another.
func (p *process) adopt(child *process) {
	p.mu.Lock()
	dead := p.dead
	p.children = append(p.children, child)
	p.mu.Unlock()
	if dead {
		child.kill()
	}
}

// own makes an end of a connection the process's. A dead process closes it.
func (p *process) own(c *conn) {
	c.closed = func(c *conn) {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}
	p.mu.Lock()
	dead, frozen := p.dead, p.frozen
	if !dead {
		p.conns[c] = true
	}
	p.mu.Unlock()
	c.freeze(frozen)
	if dead {
		c.Close()
	}
}

// open returns the connections of a process.
func (p *process) open() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	var open []*conn
	for c := range p.conns { //bobbin:anyorder the caller takes all, or any of them
		open = append(open, c)
	}
	return open
}

// isolate freezes all connections of a process, also new ones, and its calls to HDFS.
func (p *process) isolate(until time.Time) {
	p.mu.Lock()
	p.frozen = until
	p.mu.Unlock()
	for _, c := range p.open() {
		c.freeze(until)
	}
}

// sleep waits for the time of one way in the network, and until the process is not isolated. It returns
// false if the process is killed, or ctx ends, before.
func (p *process) sleep(ctx context.Context) bool {
	p.mu.Lock()
	at := time.Now().Add(p.cluster.delay())
	if p.frozen.After(at) {
		at = p.frozen
	}
	p.mu.Unlock()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return p.alive()
	case <-ctx.Done():
		return false
	case <-p.killed:
		return false
	}
}

// Call implements dfsmodel.Caller: the calls of a process to HDFS.
func (p *process) Call(ctx context.Context, op dfsmodel.Operation, effect func(now time.Time) error) error {
	lost := func(executed bool) error {
		if ctx.Err() != nil {
			return dfsmodel.Abandoned(ctx, op)
		}
		return dfsmodel.Unanswered(op, executed)
	}
	if !p.sleep(ctx) {
		return lost(false)
	}
	files := p.cluster.files
	files.mu.Lock()
	if !p.alive() { // a kill waits for the effect of a call, or prevents it
		files.mu.Unlock()
		return lost(false)
	}
	err := effect(time.Now())
	files.mu.Unlock()
	if !p.sleep(ctx) {
		return lost(true)
	}
	return err
}

// files opens the process's access to HDFS.
func (p *process) files() *dfsmodel.FileSystem {
	return dfsmodel.New(dfsmodel.Options{Namespace: p.cluster.files.space, Caller: p, Client: p.name, User: "alice"})
}

// Listen listens at a port that is free.
func (p *process) Listen(_ context.Context, _, at string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return nil, err
	}
	l := p.cluster.listen(p, host)
	p.mu.Lock()
	dead := p.dead
	p.listeners = append(p.listeners, l)
	p.mu.Unlock()
	if dead {
		l.Close()
	}
	return l, nil
}

// Dial connects to another process.
func (p *process) Dial(ctx context.Context, network, at string) (net.Conn, error) {
	refused := func(err error) error {
		return &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: %w", at, err)}
	}
	if !p.sleep(ctx) {
		return nil, refused(errors.Join(syscall.ETIMEDOUT, ctx.Err()))
	}
	l := p.cluster.listener(at)
	if l == nil {
		return nil, refused(syscall.ECONNREFUSED)
	}
	near, far := newPair(address(p.name), address(at), p.cluster.delay)
	l.process.own(far)
	p.own(near)
	select {
	case l.accepted <- far:
		return near, nil
	case <-l.closed:
		near.Close()
		return nil, refused(syscall.ECONNREFUSED)
	}
}

// DialYARN connects to a server of the cluster's YARN.
func (p *process) DialYARN(ctx context.Context, network, at string) (net.Conn, error) {
	if !p.sleep(ctx) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.Join(syscall.ETIMEDOUT, ctx.Err())}
	}
	server, err := p.cluster.yarn.Dial(ctx, network, at)
	if err != nil {
		return nil, err
	}
	near, far := newPair(address(p.name), address(at), p.cluster.delay)
	p.own(near)
	for _, way := range [][2]net.Conn{{far, server}, {server, far}} {
		p.cluster.running.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // one end has closed
			way[0].Close()
			way[1].Close()
		})
	}
	return near, nil
}

// listener is a port of a process.
type listener struct {
	process  *process
	at       address
	accepted chan *conn
	closed   chan struct{}
	once     sync.Once
}

func (l *listener) Addr() net.Addr { return l.at }

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.process.cluster.unlisten(l)
	})
	return nil
}
