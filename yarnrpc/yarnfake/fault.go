package yarnfake

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// When says whether a fault hits a call before or after its execution.
type When int

const (
	// Before: the call is not executed.
	Before When = iota
	// After: the call is executed, but the client does not learn that.
	After
)

// faults holds the faults that tests have ordered and that no call has met yet.
type faults struct {
	mu   sync.Mutex // guards what follows
	next []fault
}

type fault struct {
	method string
	when   When
	delay  time.Duration
	drop   bool
	err    error // the answer; nil: the fault has none
}

// Refuse answers the next call of a method, such as "allocate", with a Java exception.
// when says whether the call is executed nevertheless. Several faults of a method apply to
// its calls one after the other.
func (f *Fake) Refuse(method string, when When, class, message string) {
	f.faults.add(fault{method: method, when: when, err: rpctest.Exception(class, message)})
}

// Drop breaks the connection of the next call of a method instead of answering it;
// when says whether the call is executed.
func (f *Fake) Drop(method string, when When) {
	f.faults.add(fault{method: method, when: when, drop: true})
}

// Delay keeps the next call of a method waiting before it is executed.
func (f *Fake) Delay(method string, d time.Duration) { f.faults.add(fault{method: method, delay: d}) }

// RestartResourceManager makes a work-preserving restart. Connections break. Applications
// and running containers are recovered. Registrations, response ids, asks and containers
// that were not started are lost. Ids of later containers have a higher epoch.
func (f *Fake) RestartResourceManager() {
	f.mu.Lock()
	f.stepLocked(books.Restarted{})
	for _, m := range f.managers {
		if !m.frozen.Load() {
			f.tellLocked(m, books.Resync{Node: m.id})
		}
	}
	f.mu.Unlock()
	f.disconnect()
}

// RestartResourceManagerAlone is like RestartResourceManager, but the new ResourceManager learns of
// a node and its containers only with the node's next heartbeat, as in YARN. A master that
// registers before finds containers missing, and gets them later.
func (f *Fake) RestartResourceManagerAlone() {
	f.step(books.Restarted{})
	f.disconnect()
}

// LoseResourceManager restarts the ResourceManager without recovery. It knows no applications, no
// tokens and no keys of the previous one, and ends their containers when the nodes report them.
func (f *Fake) LoseResourceManager() {
	f.mu.Lock()
	f.generation++
	f.stepLocked(books.StateLost{Keys: newKeys(f.generation)})
	f.mu.Unlock()
	f.disconnect()
}

// RollAMRMKey makes a new key for AMRM tokens. Masters that have logged in with the
// previous key get a new token from allocate. The key before that is no longer valid.
func (f *Fake) RollAMRMKey() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stepLocked(books.KeyRolled{Key: newKey(f.rm.AMRMKeyID() + firstRolled)})
}

// firstRolled is the difference between the id of a key and that of its successor. It
// keeps the id of a rolled key apart from those of the other keys, and of the next generation.
const firstRolled = 100

// LoseNode removes a node for good. Its containers end with ExitAborted, its server ends,
// and masters learn that the node is unusable.
func (f *Fake) LoseNode(id records.NodeID) {
	if m := f.manager(id); m != nil {
		f.gone(m)
		m.server.Close()
	}
}

// RestartNode makes a node leave in order and return at once with another capability. Its
// containers end with ExitAborted, its connections break, and masters learn that it has
// changed. As in YARN, no later container may be larger than the largest node. YARN does
// not report to masters a node that is killed and returns before it counts as lost
// (RMNodeImpl.ReconnectNodeTransition).
func (f *Fake) RestartNode(id records.NodeID, capability records.Resource) {
	if m := f.manager(id); m != nil {
		f.gone(m)
		m.server.Disconnect()
		f.tell(m, books.Start{Capability: capability})
	}
}

// CrashNode ends a node's process, and starts it again at once, before the node counts as lost. When
// the node registers, YARN learns that its containers are gone: they end with ExitAborted. Masters are
// not told of the node.
func (f *Fake) CrashNode(id records.NodeID) {
	if m := f.manager(id); m != nil {
		f.tell(m, books.Stop{})
		m.server.Disconnect()
		f.tell(m, books.Start{})
	}
}

// gone ends a node's process and tells the ResourceManager.
func (f *Fake) gone(m *nodeManager) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tellLocked(m, books.Stop{})
	f.stepLocked(books.NodeGone{Node: m.id})
}

// Freeze stops a node as SIGSTOP does. Until Thaw, the node accepts connections but
// answers nothing and sends no heartbeats. After Thaw it handles everything that has
// arrived meanwhile.
func (f *Fake) Freeze(id records.NodeID) {
	if m := f.manager(id); m != nil {
		m.frozen.Store(true)
		m.server.Pause()
	}
}

// Thaw lets a frozen node go on.
func (f *Fake) Thaw(id records.NodeID) {
	if m := f.manager(id); m != nil {
		m.frozen.Store(false)
		m.server.Resume()
	}
}

// Preempt takes a container back for the scheduler: it ends with ExitPreempted, which
// does not count as an attempt of an ApplicationMaster.
func (f *Fake) Preempt(id records.ContainerID) {
	f.step(books.ContainerTaken{ID: id, Exit: records.ExitPreempted, Reason: "Container preempted by scheduler"})
}

// FailContainer ends a running container with the given status.
func (f *Fake) FailContainer(id records.ContainerID, exit records.ExitStatus, diagnostics string) {
	f.step(books.ContainerTaken{ID: id, Exit: exit, Reason: diagnostics})
}

func (s *faults) add(one fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, one)
}

// take returns the fault for a call, if there is one.
func (s *faults) take(method string) (fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.next, func(one fault) bool { return one.method == method })
	if i < 0 {
		return fault{}, false
	}
	one := s.next[i]
	s.next = slices.Delete(s.next, i, i+1)
	return one, true
}

// answer takes a call's request and executes it, unless a fault prevents it.
func (f *Fake) answer(call *rpctest.Call, step func(request []byte) books.Answer) (proto.Message, error) {
	request := raw(nil)
	if err := call.Decode(request); err != nil {
		return nil, err
	}
	execute := func() (proto.Message, error) {
		reply := step(request.ProtoReflect().GetUnknown())
		if reply.Exception != nil {
			return nil, java(reply.Exception)
		}
		return raw(reply.Response), nil
	}
	fault, struck := f.faults.take(call.Call.Method)
	if !struck {
		return execute()
	}
	if fault.delay > 0 && !f.wait(call, fault.delay) {
		return nil, nil
	}
	if fault.err == nil && !fault.drop {
		return execute()
	}
	if fault.when == After {
		_, _ = execute() // the client must not learn the result
	}
	if fault.drop {
		call.Conn.Close()
	}
	return nil, fault.err
}

// wait waits. It reports whether the time has passed and the caller is still there.
func (f *Fake) wait(call *rpctest.Call, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-call.Gone:
		return false
	case <-f.stopping:
		return false
	}
}
