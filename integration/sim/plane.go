package sim

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// plane models the data plane: records go from partitions to gates in order, and a gate fails when a
// producer's process ends before its output does.
type plane struct {
	w       *World
	hosts   map[string]*station // by address
	servers map[string]*disks   // of finished partitions, by address
}

func newPlane(w *World) *plane {
	return &plane{w: w, hosts: make(map[string]*station), servers: make(map[string]*disks)}
}

// open returns how a task host's process joins the plane.
func (p *plane) open(process *engine.Process, disks *disks) func(context.Context, exchange.Config) (taskhost.DataPlane, error) {
	return func(_ context.Context, c exchange.Config) (taskhost.DataPlane, error) {
		s := &station{
			plane: p, process: process, disks: disks, job: c.Job, host: c.Host, address: c.ListenHost + "/" + string(c.Host),
			jitter:     p.w.stream("data of " + string(c.Host)),
			partitions: make(map[exchange.PartitionID]*partition), asked: make(map[exchange.PartitionID][]*flow),
		}
		p.hosts[s.address] = s
		p.w.atEnd(process, s.died)
		return s, nil
	}
}

// station is a task host's end of the plane.
type station struct {
	plane      *plane
	process    *engine.Process
	disks      *disks // of its worker
	job        ids.JobID
	host       ids.HostID
	address    string
	jitter     *rand.Rand
	partitions map[exchange.PartitionID]*partition
	asked      map[exchange.PartitionID][]*flow // that ask for a partition which does not exist yet
	flows      []*flow                          // from partitions of this station
}

var _ taskhost.DataPlane = (*station)(nil)

// later does something at another process, a message's time later.
func (s *station) later(at *engine.Process, f func()) {
	s.plane.w.engine.After(between(s.jitter, leastDelay, mostDelay), at, f)
}

// Address implements taskhost.DataPlane.
func (s *station) Address() string { return s.address }

// Usage implements taskhost.DataPlane.
func (s *station) Usage() (used, total int) { return 0, 0 }

// Resize implements taskhost.DataPlane. Flows take no memory here.
func (s *station) Resize(int) {}

// Close implements taskhost.DataPlane. Other hosts lose what they have not read.
func (s *station) Close() { s.died() }

func (s *station) died() {
	s.reset()
	delete(s.plane.hosts, s.address)
}

// reset breaks the connections to consumers.
func (s *station) reset() {
	s.plane.breakOff(s.flows, s.process, s.jitter)
	s.flows = nil
}

// breakOff ends what a process sends. If its machine is lost, the consumers notice late.
func (p *plane) breakOff(flows []*flow, from *engine.Process, jitter *rand.Rand) {
	for _, f := range flows {
		if f.done {
			continue
		}
		after := unreachable
		if !p.w.silent[from] {
			after = between(jitter, leastDelay, mostDelay)
		}
		p.w.engine.After(after, f.gate.station.process, func() { f.fail(f.lost(syscall.ECONNRESET)) })
	}
}

// cut breaks the connections by which a process sends data.
func (p *plane) cut(process *engine.Process) {
	for _, address := range slices.Sorted(maps.Keys(p.hosts)) {
		if s := p.hosts[address]; s.process == process {
			s.reset()
		}
	}
}

// Partition implements taskhost.DataPlane.
func (s *station) Partition(execution ids.ExecutionAttemptID, output, channels int) (taskhost.ResultPartition, error) {
	id := exchange.PartitionID{Execution: execution, Output: output}
	p := &partition{station: s, channels: make([][][]byte, channels), flows: make([][]*flow, channels)}
	s.partitions[id] = p
	for _, f := range s.asked[id] {
		p.join(f)
	}
	delete(s.asked, id)
	return p, nil
}

// Gate implements taskhost.DataPlane.
func (s *station) Gate(_ context.Context, producers []exchange.Producer) taskhost.InputGate {
	g := &gate{station: s}
	for _, from := range producers {
		g.ask(from)
	}
	return g
}

// GateOf implements taskhost.DataPlane.
func (s *station) GateOf(_ context.Context, sources *exchange.Sources, channel int) taskhost.InputGate {
	g := &gate{station: s}
	for i := range sources.Len() {
		g.ask(sources.Producer(i, channel))
	}
	return g
}

// partition is an output of a task.
type partition struct {
	station  *station
	channels [][][]byte // the records of each channel
	flows    [][]*flow  // that read each channel
	finished bool
	failed   error
	emitted  int64
}

// join connects a consumer with its channel, and sends what is there.
func (p *partition) join(f *flow) {
	p.flows[f.from.Channel] = append(p.flows[f.from.Channel], f)
	for _, record := range p.channels[f.from.Channel] {
		p.send(f, record)
	}
	p.end(f)
}

// send sends a record in the order of the calls: a flow's records take the same time.
func (p *partition) send(f *flow, record []byte) {
	p.station.plane.w.engine.After(leastDelay, f.gate.station.process, func() {
		f.gate.records = append(f.gate.records, record)
		f.gate.tell()
	})
}

// end tells a consumer how the partition has ended, if it has.
func (p *partition) end(f *flow) {
	if !p.finished && p.failed == nil {
		return
	}
	err := p.failed
	p.station.plane.w.engine.After(leastDelay, f.gate.station.process, func() {
		if err != nil {
			f.fail(f.lost(err))
		} else {
			f.finish()
		}
	})
}

func (p *partition) endAll() {
	for _, flows := range p.flows {
		for _, f := range flows {
			p.end(f)
		}
	}
}

// Channels implements operator.RecordWriter.
func (p *partition) Channels() int { return len(p.channels) }

// Emit implements operator.RecordWriter.
func (p *partition) Emit(_ context.Context, channel int, record []byte) error {
	record = append([]byte(nil), record...)
	p.channels[channel] = append(p.channels[channel], record)
	p.emitted++
	for _, f := range p.flows[channel] {
		p.send(f, record)
	}
	return nil
}

// Flush implements operator.RecordWriter.
func (p *partition) Flush(context.Context) error { return nil }

// Finish implements taskhost.ResultPartition.
func (p *partition) Finish(context.Context) error {
	p.finished = true
	p.endAll()
	return nil
}

// Fail implements taskhost.ResultPartition.
func (p *partition) Fail(err error) {
	if !p.finished && p.station.process.Alive() { // a task of a killed process still unwinds
		p.failed = err
		p.endAll()
	}
}

// Watch implements taskhost.ResultPartition. No call of the simulation's data plane waits for consumers.
func (p *partition) Watch(exchange.Watcher) {}

// Traffic implements taskhost.ResultPartition.
func (p *partition) Traffic() exchange.Traffic { return exchange.Traffic{Records: p.emitted} }

// Usage implements taskhost.ResultPartition.
func (p *partition) Usage() exchange.Usage { return exchange.Usage{} }

// gate is an input of a task.
type gate struct {
	station *station
	records [][]byte
	open    int // producers that have not ended
	closed  bool
	failed  error
	read    int64
	wake    chan struct{}
}

// flow is what a gate reads from one producer.
type flow struct {
	gate *gate
	from exchange.Producer
	done bool
}

// ask asks a producer's host for its partition.
func (g *gate) ask(from exchange.Producer) {
	f := &flow{gate: g, from: from}
	g.open++
	s := g.station
	if from.Finished {
		s.askServer(f)
		return
	}
	to := s.plane.hosts[from.Address]
	if to == nil || !to.process.Alive() {
		s.later(s.process, func() { f.fail(f.lost(errRefused)) })
		return
	}
	to.flows = append(to.flows, f)
	s.later(to.process, func() {
		if p := to.partitions[from.Partition]; p != nil {
			p.join(f)
		} else {
			to.asked[from.Partition] = append(to.asked[from.Partition], f)
		}
	})
}

// lost is the error that the producer's process, or the way to it, is gone.
func (f *flow) lost(err error) error {
	return &exchange.PeerLostError{Host: f.from.Host, Address: f.from.Address, Err: err}
}

func (f *flow) finish() {
	if !f.done {
		f.done = true
		f.gate.open--
		f.gate.tell()
	}
}

func (f *flow) fail(err error) {
	if !f.done {
		f.done = true
		f.gate.failed = errors.Join(f.gate.failed, err)
		f.gate.tell()
	}
}

// Poll implements operator.RecordReader.
func (g *gate) Poll() (operator.Item, []byte, error) {
	switch {
	case g.failed != nil:
		return operator.Nothing, nil, g.failed
	case g.crawls():
		return operator.Nothing, nil, nil
	case len(g.records) > 0:
		record := g.records[0]
		g.records = g.records[1:]
		g.read++
		return operator.Record, record, nil
	case g.open == 0:
		return operator.EndOfData, nil, nil
	}
	return operator.Nothing, nil, nil
}

// Wakes implements taskhost.InputGate.
func (g *gate) Wakes(wake chan struct{}) { g.wake = wake }

// tell wakes the task that reads the gate.
func (g *gate) tell() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Close implements taskhost.InputGate.
func (g *gate) Close() { g.records, g.closed = nil, true }

// Traffic implements taskhost.InputGate.
func (g *gate) Traffic() exchange.Traffic { return exchange.Traffic{Records: g.read} }

// Usage implements taskhost.InputGate.
func (g *gate) Usage() exchange.Usage { return exchange.Usage{} }
