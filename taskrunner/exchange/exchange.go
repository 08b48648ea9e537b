package exchange

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/liveness"
)

// Exchange is one host's end of the data plane. It listens from New to Close.
type Exchange struct {
	config   Config
	log      logrus.FieldLogger
	acceptor *acceptor
	pool     *pool
	registry *registry
	closing  chan struct{}  // closed by Close
	running  sync.WaitGroup // the goroutines of the exchange beside the acceptor's
	tight    sync.Once      // warns that buffers exceed their budget

	mu     sync.Mutex // guards all below
	closed bool
	dialed map[ids.HostID]*dialedLink
}

// New makes the exchange of a host and starts to listen. Zero fields of config get defaults.
func New(ctx context.Context, config Config) (*Exchange, error) {
	if config.BufferTimeout == 0 {
		config.BufferTimeout = defaultBufferTimeout
	}
	if config.RequestTimeout == 0 {
		config.RequestTimeout = DefaultRequestTimeout
	}
	if config.SortBuffers == 0 {
		config.SortBuffers = defaultSortBuffers
	}
	if config.maxChannels == 0 {
		config.maxChannels = maxChannels
	}
	if config.Dial == nil {
		config.Dial = new(net.Dialer).DialContext
	}
	if config.Listen == nil {
		config.Listen = new(net.ListenConfig).Listen
	}
	if (config.ServerTLS == nil) != (config.ClientTLS == nil) {
		return nil, errors.New("make exchange: set both ServerTLS and ClientTLS, or neither")
	}
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(config.ListenHost, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen for other hosts of job %s: %w", config.Job, err)
	}
	if config.behind != nil {
		listener = config.behind(listener)
	}
	e := &Exchange{
		config:   config,
		log:      config.Logger.WithField("job", string(config.Job)).WithField("host", string(config.Host)),
		pool:     poolOf(config.Memory),
		registry: newRegistry(config.Host),
		closing:  make(chan struct{}),
		dialed:   make(map[ids.HostID]*dialedLink),
	}
	listener = doorstep.New(liveness.Listener{Listener: listener, After: config.Unreachable})
	e.acceptor = newAcceptor(listener, e.log, func(conn net.Conn) visitor { return newAcceptedLink(e, conn) })
	e.running.Go(e.tick)
	return e, nil
}

// Resize changes the memory for buffers, in bytes: see Config.Memory. With less memory, buffers that are in
// use go as they are sent or read.
func (e *Exchange) Resize(bytes int) { e.pool.resize(bytes) }

// Usage is the number of buffers in use, and of those for which there is memory. More are in use than there is memory for while
// channels need them to go on.
func (e *Exchange) Usage() (used, total int) { return e.pool.usage() }

// Address is the address for other hosts, host:port.
func (e *Exchange) Address() string { return e.acceptor.listener.Addr().String() }

// Partition makes one output of a task. From now on consumers can request its channels. It ends
// with Finish or Fail.
func (e *Exchange) Partition(execution ids.ExecutionAttemptID, output, channels int) (*ResultPartition, error) {
	p := newPartition(e, PartitionID{Execution: execution, Output: output}, channels)
	if err := e.registry.add(p); err != nil {
		return nil, err
	}
	return p, nil
}

// Gate makes one input of a task, with one channel from each producer. It does not wait for the
// producers; Next returns their errors. The gate outlives ctx; Close ends it.
func (e *Exchange) Gate(ctx context.Context, producers []Producer) *InputGate {
	g := e.newGate(0)
	if len(producers) > 0 && producers[0].Finished {
		g.askInTurn(ctx, 0, len(producers), func(i int) Producer { return producers[i] })
		return g
	}
	deadline := time.Now().Add(e.config.RequestTimeout)
	for _, p := range producers {
		if p.Host == e.config.Host {
			c := &inputChannel{gate: g, producer: p}
			local := &localSource{channel: c}
			c.source = local
			g.add(c)
			e.registry.request(p.Partition, p.Channel, local, deadline)
		} else {
			e.ask(ctx, g, p)
		}
	}
	return g
}

// GateOf makes one input of a task that reads this channel of all sources, as Gate does. Producers
// on this host without data for it cost nothing.
func (e *Exchange) GateOf(ctx context.Context, sources *Sources, channel int) *InputGate {
	g := e.newGate(channel)
	if n := sources.Len(); n > 0 && sources.producers[0].Finished {
		// Each gate begins with another producer, so that not all read from one worker at first.
		g.askInTurn(ctx, channel%n, n, func(i int) Producer { return sources.Producer(i, channel) })
		return g
	}
	remote := sources.remote
	for _, i := range remote {
		e.ask(ctx, g, sources.Producer(i, channel))
	}
	if len(remote) < sources.Len() {
		g.others = &inputChannel{gate: g}
		g.add(g.others)
		e.registry.enter(g, sources, time.Now().Add(e.config.RequestTimeout))
	}
	return g
}

func (e *Exchange) newGate(channel int) *InputGate {
	return &InputGate{exchange: e, channel: channel, ready: newTurns[*inputChannel]()}
}

// ask requests a channel of another host for a gate.
func (e *Exchange) ask(ctx context.Context, g *InputGate, p Producer) *inputChannel {
	c := &inputChannel{gate: g, producer: p}
	in := &incoming{channel: c, quota: quota{pool: e.pool}}
	c.source = in
	g.add(c)
	g.remote++
	e.reserve(1)
	e.connect(ctx, in)
	return c
}

// connect puts a channel on the connection to its producer's host. It dials the host if there is no
// connection.
func (e *Exchange) connect(ctx context.Context, in *incoming) {
	p := in.channel.producer
	e.mu.Lock()
	defer e.mu.Unlock()
	l, run := e.dialed[p.Host], func() {}
	if l == nil || e.leave(l) {
		// The connection also serves later tasks, so it must outlive ctx.
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		l = &dialedLink{link: newLink[*incoming](cancel, e.mostChannels(p)), exchange: e, host: p.Host, address: p.Address}
		if e.closed {
			l.err = ErrClosed
		} else {
			e.dialed[p.Host] = l
			run = func() { e.running.Go(func() { l.run(ctx) }) }
		}
	}
	in.link, in.id = l, l.next
	l.next++
	switch err := l.add(in.id, in); {
	case err == nil:
		in.start()
	case errors.Is(err, errTooMany): // the other end would see it as a fault of this host
		in.refused(tooManyChannels(p.Host, l.most))
	default:
		in.refused(err)
	}
	run() // after add: the first frame of the other host finds the channel
}

// leave ends a connection that is unused for idleTime. The caller has the mutex.
func (e *Exchange) leave(l *dialedLink) bool {
	if !l.unused(idleTime) {
		return false
	}
	delete(e.dialed, l.host)
	l.cut()
	return true
}

// leaveIdle ends the connections that are unused.
func (e *Exchange) leaveIdle() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.dialed {
		e.leave(l)
	}
}

// mostChannels is the number of channels that a connection to a producer's host carries.
func (e *Exchange) mostChannels(p Producer) int {
	if p.Finished {
		return min(e.config.maxChannels, maxServed)
	}
	return e.config.maxChannels
}

// disconnected removes a connection, so that the next gate dials the host again.
func (e *Exchange) disconnected(l *dialedLink) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dialed[l.host] == l {
		delete(e.dialed, l.host)
	}
}

func (e *Exchange) greeting(to ids.HostID) greeting {
	return greeting{version: jobgraph.ProtocolVersion, job: e.config.Job, from: e.config.Host, to: to}
}

// lost makes the error for the tasks of a connection that has ended.
func (e *Exchange) lost(host ids.HostID, address string, err error) error {
	select {
	case <-e.closing:
		return ErrClosed
	default:
		return &PeerLostError{Host: host, Address: address, Err: err}
	}
}

func (e *Exchange) reserve(channels int) { e.warnTight(e.pool.reserve(channels)) }

// warnTight says, once, that the guarantees have grown beyond the budget.
func (e *Exchange) warnTight(grown bool) {
	if !grown {
		return
	}
	e.tight.Do(func() {
		e.log.WithField("budget_bytes", e.pool.budget()).
			Warn("network buffers exceed their budget, as each channel in use needs one; raise taskmanager.memory.network.max or lower the parallelism")
	})
}

// forget removes a partition that has ended, and the guarantees of its used channels.
func (e *Exchange) forget(p *ResultPartition, used []*subpartition) {
	e.registry.remove(p, used, p.failure())
	e.pool.reserve(-len(used))
}

// tick flushes buffers and refuses late requests, each BufferTimeout, and ends unused connections, until Close.
func (e *Exchange) tick() {
	idle := time.NewTicker(idleTime / 2)
	defer idle.Stop()
	ticker := time.NewTicker(e.config.BufferTimeout)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			for _, p := range e.registry.list() {
				p.flush()
			}
			e.registry.expire(now)
		case <-idle.C:
			e.leaveIdle()
		case <-e.closing:
			return
		}
	}
}

// partingTime bounds how long Close lets connections send what is ready, 1 s: without the last
// frames, tasks of other hosts would fail.
const partingTime = time.Second

// Close ends the exchange: open partitions and gates fail with ErrClosed. It waits for all
// goroutines, and may be called more than once.
func (e *Exchange) Close() {
	e.mu.Lock()
	first := !e.closed
	e.closed = true
	var links []parted
	for _, l := range e.dialed {
		links = append(links, l)
	}
	e.mu.Unlock()
	if first {
		close(e.closing)
		for _, v := range e.acceptor.shut() {
			links = append(links, v)
		}
		e.registry.close()
		for _, p := range e.registry.list() {
			p.Fail(ErrClosed)
		}
		defer part(links)()
	}
	e.running.Wait()
	e.acceptor.running.Wait()
}

// parted is a connection that ends.
type parted interface {
	part()
	abort()
}

// part ends connections. Until stop is called, it cuts those that are late.
func part(links []parted) (stop func()) {
	for _, l := range links {
		l.part()
	}
	late := time.AfterFunc(partingTime, func() {
		for _, l := range links {
			l.abort()
		}
	})
	return func() { late.Stop() }
}
