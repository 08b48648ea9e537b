package scale

import (
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// worker is a TaskExecutor with a task host, as its master sees it.
type worker struct {
	m         *master
	number    int
	id        ids.ResourceID
	node      string
	connected bool
	rm, jm    *link
	slots     []msg.SlotStatus
	offers    []msg.SlotOffer
	tasks     []msg.TaskDeployment
	deployed  int // bytes of the last frame with DeployTasks
	restarts  int // deployments after the first one
}

// newWorker makes a worker whose number the master's hosts and nodes do not show in order, as those of a cluster.
func (m *master) newWorker(n int) *worker {
	w := &worker{
		m: m, number: n,
		id:   ids.ResourceID(fmt.Sprintf("container_e17_1700000000000_0001_01_%06d", n+2)),
		node: fmt.Sprintf("node-%05d.dc1.example.com", (n*7919+17)%100_003),
	}
	for i := range m.slotsOfWorker() {
		w.slots = append(w.slots, msg.SlotStatus{Index: i})
	}
	m.workers[w.id] = w
	m.list = append(m.list, w)
	return w
}

// link is a worker's end of a stream. The master's end is a rolerpc.Stream over its wire.
type link struct {
	token string
	in    chan []byte // frames to the master; a stream's reader takes them
	ended chan struct{}
	once  sync.Once

	mu  sync.Mutex
	out [][]byte // frames from the master, which the worker has not read
	m   *master
}

func (l *link) Send(f rolerpc.Frame) error {
	data, err := rolerpc.EncodeFrame(f)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = append(l.out, data)
	return nil
}

func (l *link) CloseSend() error {
	l.Shut()
	return nil
}

func (l *link) Receive(kinds msg.Kinds) (rolerpc.Frame, error) {
	select {
	case data := <-l.in:
		return rolerpc.DecodeFrame(data, kinds)
	case <-l.ended:
		return rolerpc.Frame{}, rolerpc.ErrPeerGone
	}
}

func (l *link) Shut() { l.once.Do(func() { close(l.ended) }) }

// read gives the frames that have come.
func (l *link) read() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	frames := l.out
	l.out = nil
	for _, f := range frames {
		l.m.sent += int64(len(f))
	}
	return frames
}

// open connects the worker with a role.
func (w *worker) open(target string) *link {
	l := &link{m: w.m, in: make(chan []byte, 64), ended: make(chan struct{})}
	peer := rolerpc.Peer{Identity: pki.Identity{Role: pki.RoleTaskExecutor, Resource: w.id}}
	stream := rolerpc.NewStream(w.m.t.Context(), peer, target, l, w.m.logger)
	handler, err := w.m.Mux.Accept(stream)
	if err != nil {
		w.m.t.Fatal(err)
	}
	go stream.Run(handler) // ends with the link
	return l
}

func (w *worker) close() {
	for _, l := range []*link{w.rm, w.jm} {
		if l != nil {
			l.Shut()
		}
	}
}

// say encodes a message now, and gives the function that sends it.
func (w *worker) say(l *link, m msg.Message) func() {
	data, err := rolerpc.EncodeFrame(rolerpc.Frame{Token: l.token, Message: m})
	if err != nil {
		w.m.t.Fatal(err)
	}
	return func() {
		select {
		case l.in <- data:
		case <-l.ended:
		}
	}
}

// answers gives what the worker does next.
func (w *worker) answers() (say []func()) {
	if !w.connected {
		w.connected = true
		return []func(){func() {
			w.rm = w.open("resourcemanager")
			w.say(w.rm, msg.RegisterTaskExecutor{
				ProtocolVersion: jobgraph.ProtocolVersion, Resource: w.id, Host: w.node, PID: 7, Slots: w.slots,
				Memory: w.m.memory, VCores: 1, Hardware: msg.Hardware{Cores: 32, Memory: 128 << 30},
			})()
		}}
	}
	for _, frame := range w.rm.read() {
		say = append(say, w.fromResourceManager(frame)...)
	}
	if w.jm != nil {
		for _, frame := range w.jm.read() {
			say = append(say, w.fromJobMaster(frame)...)
		}
	}
	return say
}

func (w *worker) decode(frame []byte, kinds msg.Kinds) msg.Message {
	f, err := rolerpc.DecodeFrame(frame, kinds)
	if err != nil {
		w.m.t.Fatal(err)
	}
	return f.Message
}

func (w *worker) fromResourceManager(frame []byte) (say []func()) {
	switch m := w.decode(frame, msg.ResourceManagerToTaskExecutor).(type) {
	case msg.TaskExecutorRegistered:
		w.rm.token = string(m.ResourceManager)
	case msg.RequestSlots:
		for _, s := range m.Slots {
			w.slots[s.Index] = msg.SlotStatus{Index: s.Index, Allocation: s.Allocation, Job: m.Job}
		}
		w.offers = append(w.offers, m.Slots...)
		say = append(say, w.say(w.rm, msg.SlotRequestsAnswered{Taken: m.Slots}))
		if w.jm != nil {
			return append(say, w.say(w.jm, msg.OfferSlots{Offers: m.Slots}))
		}
		say = append(say, func() {
			w.jm = w.open("jobmaster/" + string(m.Job))
			w.jm.token = string(m.JobMaster)
			w.say(w.jm, msg.RegisterAtJobMaster{Resource: w.id, Host: w.node})()
		})
	}
	return say
}

func (w *worker) fromJobMaster(frame []byte) (say []func()) {
	switch m := w.decode(frame, msg.JobMasterToTaskExecutor).(type) {
	case msg.RegisteredAtJobMaster:
		say = append(say, w.say(w.jm, msg.OfferSlots{Offers: w.offers}), w.say(w.jm, msg.HostReady{
			Host: ids.NewHostID(w.id, 1), DataAddress: fmt.Sprintf("%s:%d", w.node, 32_768+w.number*6151%28_000),
		}))
	case msg.DeployTasks:
		if w.tasks != nil {
			w.restarts++
		}
		w.tasks, w.deployed = m.Tasks, len(frame)
		w.m.deployment = frame
		say = append(say, w.change(msg.ExecutionRunning))
	case msg.CancelTasks:
		say = append(say, w.change(msg.ExecutionCanceled))
	}
	return say
}

// change reports a new state of all tasks in one message, as a task host joins them.
func (w *worker) change(to msg.ExecutionState) func() {
	var m msg.TaskStatesChanged
	for _, t := range w.tasks {
		m.Changes = append(m.Changes, msg.TaskStateChange{Execution: t.Execution, State: to})
	}
	return w.say(w.jm, m)
}

// beat gives what the worker says at a heartbeat: its slots to the ResourceManager; to the JobMaster that it lives,
// and the progress of its tasks.
func (w *worker) beat() (say []func()) {
	say = append(say, w.say(w.rm, msg.SlotReport{Slots: w.slots}))
	if w.jm == nil {
		return say
	}
	var m msg.TasksProgress
	for i, t := range w.tasks {
		n := int64(w.number*1000 + i)
		m.Tasks = append(m.Tasks, msg.TaskProgress{
			Execution: t.Execution, Metrics: msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: n << 10, WriteRecords: n << 9, ReadBytes: n << 20, WriteBytes: n << 19}},
		})
	}
	return append(say, w.say(w.jm, msg.Heartbeat{}), w.say(w.jm, m))
}
