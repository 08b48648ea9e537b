package hdfsfake

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// When says whether a fault hits a call before or after its execution.
type When int

const (
	// Before: the call is not executed.
	Before When = iota
	// After: the call is executed, but the client does not learn that.
	After
)

// faults holds the faults that tests have ordered.
type faults struct {
	mu         sync.Mutex // guards what follows
	calls      []fault
	reads      []blockFault
	writes     []blockFault
	away       map[string]bool // addresses that refuse connections
	unreported int             // times that complete finds DataNodes silent
}

// fault hits one call of a method.
type fault struct {
	method string
	when   When
	delay  time.Duration
	drop   bool
	err    error
}

// blockFault hits one block that is read or written, after so many bytes of its data.
type blockFault struct {
	kind  blockFaultKind
	after int64
}

type blockFaultKind int

const (
	cut     blockFaultKind = iota + 1 // the connection ends
	stall                             // nothing more comes
	corrupt                           // a byte is wrong
	refuse                            // an error takes the place of the data, or of an acknowledgement
)

// Refuse answers the next call of a method, such as "create", with a Java exception. when says
// whether the call is executed nevertheless. Several faults of a method apply to its calls one
// after the other.
func (f *Fake) Refuse(method string, when When, class, message string) {
	f.faults.add(fault{method: method, when: when, err: rpctest.Exception(class, message)})
}

// Drop breaks the connection of the next call of a method instead of answering it; when
// says whether the call is executed.
func (f *Fake) Drop(method string, when When) {
	f.faults.add(fault{method: method, when: when, drop: true})
}

// Delay makes the next call of a method wait before it is executed. The call is not executed if the
// client leaves meanwhile.
func (f *Fake) Delay(method string, d time.Duration) { f.faults.add(fault{method: method, delay: d}) }

// CutRead ends the connection of the next block that is read, after this many bytes of its data.
// This may be in the middle of a packet.
func (f *Fake) CutRead(after int64) { f.faults.addRead(blockFault{cut, after}) }

// StallRead stops sending the next block that is read after this many bytes. Below 0 not even an
// answer is sent.
func (f *Fake) StallRead(after int64) { f.faults.addRead(blockFault{stall, after}) }

// CorruptRead changes one byte, after this many, of the next block that is read.
func (f *Fake) CorruptRead(after int64) { f.faults.addRead(blockFault{corrupt, after}) }

// RefuseRead answers the next read of a block with an error.
func (f *Fake) RefuseRead() { f.faults.addRead(blockFault{refuse, 0}) }

// CutWrite ends the connection of the next block that is written, after the packet with
// the byte at that place.
func (f *Fake) CutWrite(after int64) { f.faults.addWrite(blockFault{cut, after}) }

// RefuseWrite makes the acknowledgement for the packet with this byte of the next block report a
// failed write. Below 0 the request to write the block is refused.
func (f *Fake) RefuseWrite(after int64) { f.faults.addWrite(blockFault{refuse, after}) }

// Unreported makes the NameNode answer the next calls to close a file, this many, as if the
// DataNodes had not reported its last block yet.
func (f *Fake) Unreported(times int) {
	f.faults.mu.Lock()
	defer f.faults.mu.Unlock()
	f.faults.unreported = times
}

// StopNameNode ends the connections of a NameNode, by its number from 0, and refuses new
// ones until StartNameNode.
func (f *Fake) StopNameNode(number int) {
	n := f.nameNodes[number]
	f.faults.setAway(n.address, true)
	n.server.Disconnect()
}

// StartNameNode lets clients reach a NameNode again.
func (f *Fake) StartNameNode(number int) { f.faults.setAway(f.nameNodes[number].address, false) }

// Activate makes a NameNode the active one, and the others answer with
// StandbyException.
func (f *Fake) Activate(number int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active = number
}

// StopDataNode makes a DataNode, by its number from 0, refuse connections until StartDataNode. The
// NameNode does not notice; use ForgetDataNode for that.
func (f *Fake) StopDataNode(number int) {
	f.faults.setAway(dataNodeAddress(f.dataNodes[number]), true)
}

// ForgetDataNode stops a DataNode, by its number from 0, and makes the NameNode treat it as dead.
// Until StartDataNode, blocks that only this DataNode has are on no DataNode.
func (f *Fake) ForgetDataNode(number int) {
	f.StopDataNode(number)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dead[f.dataNodes[number]] = true
}

// StartDataNode lets clients reach a DataNode again, and the NameNode know of it.
func (f *Fake) StartDataNode(number int) {
	f.faults.setAway(dataNodeAddress(f.dataNodes[number]), false)
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.dead, f.dataNodes[number])
}

// SafeMode makes the NameNodes refuse all changes, or accept them again (dfsadmin -safemode).
func (f *Fake) SafeMode(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.safeMode = on
}

func (s *faults) add(one fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, one)
}

func (s *faults) addRead(one blockFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = append(s.reads, one)
}

func (s *faults) addWrite(one blockFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, one)
}

func (s *faults) setAway(address string, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away == nil {
		s.away = make(map[string]bool)
	}
	s.away[address] = away
	maps.DeleteFunc(s.away, func(_ string, away bool) bool { return !away })
}

func (s *faults) refuses(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away[address]
}

// take returns the fault for a call, if there is one.
func (s *faults) take(method string) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.calls, func(one fault) bool { return one.method == method })
	if i < 0 {
		return fault{}
	}
	one := s.calls[i]
	s.calls = slices.Delete(s.calls, i, i+1)
	return one
}

// takeBlock returns the fault for a block, if there is one.
func (s *faults) takeBlock(from *[]blockFault) blockFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(*from) == 0 {
		return blockFault{}
	}
	one := (*from)[0]
	*from = (*from)[1:]
	return one
}

// reported returns whether the DataNodes have reported a file's last block.
func (s *faults) reported() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreported > 0 {
		s.unreported--
		return false
	}
	return true
}
