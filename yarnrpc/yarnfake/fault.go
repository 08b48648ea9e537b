package yarnfake

import (
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// When is the side of its execution on which a fault befalls a call.
type When int

const (
	// Before the call is executed: it is not.
	Before When = iota
	// After the call was executed: the client does not learn that it was.
	After
)

// faults are those that tests have ordered and nothing has met yet.
type faults struct {
	mu      sync.Mutex // guards what follows
	next    []fault
	standby bool
}

type fault struct {
	method string
	when   When
	delay  time.Duration
	drop   bool
	err    error // the answer; nil: none of the fault's
}

// Refuse answers the next call of a method, such as "allocate", with a Java exception
// instead of its own answer; when says whether the call is executed all the same.
// Several faults of a method befall its calls one after the other.
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

// Standby makes the ResourceManager answer every call with a StandbyException, until
// it is told to serve again.
func (f *Fake) Standby(on bool) {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.standby = on
}

// RestartResourceManager is a work-preserving restart: connections break; applications
// and running containers are recovered, registrations, response ids, asks and
// containers that nobody has started are forgotten. Ids of later containers carry a
// higher epoch.
func (f *Fake) RestartResourceManager() {
	f.step(restarted{})
	f.client.Disconnect()
	f.masters.Disconnect()
}

// RollAMRMKey makes a new key for AMRM tokens. Allocate brings a new token to masters
// that are logged in with the key before; the one before that is good no more.
func (f *Fake) RollAMRMKey() {
	f.mu.Lock()
	id := f.books.keys.amrm.id
	f.mu.Unlock()
	f.step(keyRolled{newKey(id + firstRolled)})
}

// firstRolled keeps the ids of rolled keys apart from those of other keys.
const firstRolled = 100

// LoseNode takes a node away for good with all that runs on it: its containers end
// with ExitAborted, its server is gone, masters are told that it is unusable.
func (f *Fake) LoseNode(id records.NodeID) {
	if m := f.manager(id); m != nil {
		f.step(nodeGone{id})
		m.server.Close()
	}
}

// RestartNode has a node leave in order and come back at once, without what ran on it and
// with another capability: its containers end with ExitAborted, its connections break,
// and masters are told that it has changed. As with YARN, no container may be larger than
// the largest node from then on. Of a node that is killed, and comes back before it counts
// as lost, YARN tells masters nothing (RMNodeImpl.ReconnectNodeTransition).
func (f *Fake) RestartNode(id records.NodeID, capability records.Resource) {
	if m := f.manager(id); m != nil {
		f.step(nodeRestarted{id, capability})
		m.server.Disconnect()
		m.back()
	}
}

// Freeze stops a node as SIGSTOP does: it takes connections, answers nothing and sends no
// heartbeats until Thaw, which has it go on with all that has come meanwhile.
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
	f.step(containerTaken{id: id, exit: records.ExitPreempted, reason: "Container preempted by scheduler"})
}

// FailContainer ends a running container with a status of the test's choice.
func (f *Fake) FailContainer(id records.ContainerID, exit records.ExitStatus, diagnostics string) {
	f.step(containerTaken{id: id, exit: exit, reason: diagnostics})
}

func (s *faults) add(one fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, one)
}

// take gives the fault that befalls a call, if there is one.
func (s *faults) take(method string, resourceManager bool) (fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.standby && resourceManager {
		return fault{err: rpctest.Exception("org.apache.hadoop.ipc.StandbyException", "ResourceManager is not active")}, true
	}
	i := slices.IndexFunc(s.next, func(one fault) bool { return one.method == method })
	if i < 0 {
		return fault{}, false
	}
	one := s.next[i]
	s.next = slices.Delete(s.next, i, i+1)
	return one, true
}

// answer decodes a call's request and executes it, as far as the faults allow.
func (f *Fake) answer(call *rpctest.Call, request proto.Message, resourceManager bool, execute func() (proto.Message, error)) (proto.Message, error) {
	if err := call.Decode(request); err != nil {
		return nil, err
	}
	fault, struck := f.faults.take(call.Call.Method, resourceManager)
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
		_, _ = execute() // the client is not to learn what came of it
	}
	if fault.drop {
		call.Conn.Close()
	}
	return nil, fault.err
}

// wait reports whether the time has passed and the caller is still there.
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
