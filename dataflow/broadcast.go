package dataflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ErrBroadcastTooLarge says that a broadcast list exceeds the memory of its operator. It is a permanent failure if the list
// exceeds the memory of the whole worker.
var ErrBroadcastTooLarge = errors.New("the broadcast list exceeds the memory of a subtask: use Join or CoGroup, or raise " +
	"taskmanager.memory.managed.fraction, taskmanager.memory.process.size or Managed in the resources of its slot sharing group")

// Broadcast sends each element of a stream to every subtask of each operator that takes the result (Flink's broadcast). A subtask that
// is to see all elements of a stream before its first element of another one takes them by ProcessWithBroadcast.
func Broadcast[T any](s Stream[T]) Stream[T] {
	n := relay(s, "broadcast")
	n.out = broadcastPort(n, s.codec)
	return Stream[T]{out: n.out, codec: s.codec}
}

// ProcessWithBroadcast is Process with a second input, of which each subtask gets all elements before the first element of s (Flink's
// withBroadcastSet). They come in no defined order. newFunction makes the code of a subtask when the list is complete. Its errors, and
// those of its functions, fail the attempt.
//
// The list must fit into the memory of the operator, or the job fails with ErrBroadcastTooLarge.
func ProcessWithBroadcast[T, B, U any](s Stream[T], list Stream[B], newFunction func(sub Subtask, list []B) (Function[T, U], error), o ...Option) Stream[U] {
	p := s.out.node.plan
	set := p.settle("process with broadcast", forStreams, o, newFunction)
	elements, err := list.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: broadcast: %w", set.name, err))
	}
	main, side := relay(s, set.name+" (main)"), relay(list, set.name+" (broadcast)")
	main.out, side.out = newPort(main, s.codec), broadcastPort(side, list.codec)
	n := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement, hasSides: true,
		inputs: []connection{{from: main.out, held: true}, {from: side.out}},
	}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		f := &broadcastFunction[T, B, U]{
			function: function[T, U]{caller: caller{ctx, c, n}, emit: down.(func(U))},
			subtask:  c.view(), newFunction: newFunction, codec: elements, memory: c.newBudget(leastMemory, 0),
		}
		return heads{f.take, f.add}, f
	}
	p.add(n)
	return newStream(n, set, codec.For[U])
}

// relay adds an operator that passes elements on to a port of its own.
func relay[T any](s Stream[T], name string) *node {
	upstream := s.out.node
	n := &node{name: name, parallelism: upstream.parallelism, inputs: []connection{{from: s.out}}, attach: passOn}
	upstream.plan.add(n)
	return n
}

// passOn attaches an operator that passes elements on.
func passOn(_ context.Context, _ *chain, down any) (any, stage) { return down, idle{} }

// broadcastPort makes an output that sends each element to all subtasks of its consumers.
func broadcastPort[T any](n *node, c func() (Codec[T], error)) *port {
	p := newPortTo(n, c, func(at caller, elements codec.Codec[T], w operator.RecordWriter) func(T) {
		send := at.sender(w, toAll)
		var record []byte
		return func(v T) {
			encoded, err := elements.Append(record[:0], v)
			if err != nil {
				at.chain.fail(failedAt(at, v, err))
				return
			}
			record = encoded
			send(record)
		}
	})
	p.ship = jobgraph.ShipBroadcast
	return p
}

// broadcastFunction is a function that is made when a list is complete.
type broadcastFunction[T, B, U any] struct {
	function[T, U]
	subtask     Subtask
	newFunction func(Subtask, []B) (Function[T, U], error)
	codec       Codec[B]
	list        []B
	memory      *budget
	room        int64 // bytes of memory that were taken
	held        int64 // bytes to which the elements of the list refer
	complete    bool
}

// The inputs of the operator.
const (
	mainInput = iota
	broadcastInput
)

// open does nothing: there is no function yet.
func (f *broadcastFunction[T, B, U]) open() error { return nil }

// wants implements stage.
func (f *broadcastFunction[T, B, U]) wants(input int) bool {
	return input == broadcastInput || f.complete
}

// add puts an element into the list.
func (f *broadcastFunction[T, B, U]) add(v B) {
	if f.chain.err != nil {
		return
	}
	v, err := f.codec.Owned(v)
	if err != nil {
		f.fail(err)
		return
	}
	places := cap(f.list)
	if len(f.list) == places {
		places += places/4 + 16
	}
	own := held(&f.codec, &v, false)
	if bytes := f.held + own + int64(places)*int64(unsafe.Sizeof(v)); bytes > f.room {
		if err := f.reserve(bytes); err != nil {
			f.fail(err)
			return
		}
	}
	f.held += own
	f.list = append(slices.Grow(f.list, places-len(f.list)), v)
}

// reserve takes memory for the list, as much as there is. Up to its share the list goes on also without, and asks again with the next
// element: the others give back what they hold of the share.
func (f *broadcastFunction[T, B, U]) reserve(bytes int64) error {
	if bytes > f.memory.Share() {
		return f.memory.tooLarge(ErrBroadcastTooLarge, bytes, func(total int64) int64 { return total })
	}
	for f.room < bytes {
		step := min(bytes-f.room, budgetStep)
		if !f.memory.Take(step) {
			break
		}
		f.room += step
	}
	return nil
}

// event implements stage.
func (f *broadcastFunction[T, B, U]) event(input int, e operator.Item) (err error) {
	if input == mainInput || e != operator.EndOfData {
		return f.function.event(0, e)
	}
	f.complete = true
	f.memory.NoMore()
	if f.code, err = f.newFunction(f.subtask, f.list); err != nil {
		return f.failed(err)
	}
	return f.function.open()
}
