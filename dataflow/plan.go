package dataflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Plan is the plan that a plan function builds: operators and the streams between
// them. Only that function may use it, and only while it runs.
type Plan struct {
	parallelism  int     // of operators that set none
	showElements bool    // in errors of users' functions
	nodes        []*node // in the order of creation, so inputs come first
	faults       []error
	choices      choices // of the planner
}

// node is an operator.
type node struct {
	plan        *Plan
	name        string
	parallelism int
	placement
	inputs []connection
	out    *port // nil for sinks
	// sides are the side outputs, by their tags' names; hasSides says that the operator may have some.
	sides    map[string]*port
	hasSides bool
	rejects  string       // the side output for elements that cannot be processed, or ""
	rejected reflect.Type // of the side output's elements
	// attach makes the operator for one subtask. down is the function that takes
	// the operator's elements, a func(U). take is the one that takes its input, a func(T), or heads; a source has none.
	attach  func(ctx context.Context, c *chain, down any) (take any, s stage)
	source  *plannedSource // of a source
	sink    *plannedSink   // of a sink that commits
	collect string         // of a collect sink: the name of its result
	commits bool           // it makes an output visible
	note    string         // how the planner runs it and why, for people; or ""
}

// connection connects an operator with one of its consumers.
type connection struct {
	from *port
	// exchange is true if elements move between subtasks here. Otherwise the
	// consumer may run in its producer's goroutine.
	exchange bool
	// held is true if the consumer reads this input only when all of its inputs that are not held have ended. The operator
	// that sets it is the first one of its vertex, and its stage's wants must do the same.
	held bool
	// bySize is true if the sizes of inputs have decided how the elements come here. It leaves the digest as it is.
	bySize bool
}

// port is the output of an operator. Its functions know the type of the elements;
// any is a func that takes one element.
type port struct {
	node      *node
	consumers int           // connections that begin here
	ship      jobgraph.Ship // how send chooses among the consumer's subtasks; "": in turn; see also forward
	// resolve finds the elements' codec and returns its name. It must be called
	// before send and receive.
	resolve func() (string, error)
	// tee passes each element to several functions.
	tee func(downs []any) any
	// send encodes each element into a writer, for the operator that emits it.
	send func(at caller, w operator.RecordWriter) any
	// receive decodes records for the operator that takes them.
	receive func(at caller, down any) func(record []byte)
	// watch calls a function before each element that a consumer takes.
	watch func(c *chain, before func() error, down any) any
}

// fault records a mistake in the plan. check reports it.
func (p *Plan) fault(err error) { p.faults = append(p.faults, err) }

// add puts an operator into the plan, behind its inputs.
func (p *Plan) add(n *node) {
	n.plan = p
	p.nodes = append(p.nodes, n)
	for i, in := range n.inputs {
		if in.from.node.plan != p {
			p.fault(fmt.Errorf("%s: its input is a stream of another plan", n.name))
		}
		in.from.consumers++
		n.inputs[i].exchange = in.exchange || in.from.ship == jobgraph.ShipBroadcast
	}
	n.inherit()
}

// check returns all mistakes of the plan.
func (p *Plan) check() error {
	faults := p.faults
	if len(p.nodes) == 0 {
		faults = append(faults, errors.New("the plan function made no operators"))
	}
	for _, n := range p.nodes {
		if n.out != nil && n.out.consumers == 0 {
			faults = append(faults, fmt.Errorf("no operator takes the elements of %q: connect it to a sink, or remove it", n.name))
		}
		for _, name := range slices.Sorted(maps.Keys(n.sides)) {
			if n.sides[name].consumers == 0 {
				faults = append(faults, fmt.Errorf("no operator takes the side output %q of %q: connect it to a sink, or remove it", name, n.name))
			}
		}
		if n.rejects != "" && n.sides[n.rejects] == nil {
			faults = append(faults, fmt.Errorf("%s: it rejects elements to the side output %q, which the plan does not take: use SideOutput", n.name, n.rejects))
		}
	}
	return errors.Join(append(faults, p.checkGroups()...)...)
}

// newStream makes the stream of n's elements. The codec is that of the option
// WithCodec, or else c's result. resolve calls c.
func newStream[T any](n *node, s settings, c func() (Codec[T], error)) Stream[T] {
	if s.codec != nil {
		given, ok := s.codec.(Codec[T])
		if !ok {
			n.plan.fault(fmt.Errorf("%s: option WithCodec has a %T, its elements need a %T", n.name, s.codec, given))
		}
		c = func() (Codec[T], error) { return given, nil }
	}
	n.out = newPort(n, c)
	if s.counter != "" {
		attach := n.attach
		n.attach = func(ctx context.Context, ch *chain, down any) (any, stage) {
			return attach(ctx, ch, counted(ch, s.counter, down.(func(T))))
		}
	}
	return Stream[T]{out: n.out, codec: c}
}

// newPort makes an output of an operator. Its elements go to the channels of their consumers in turn.
func newPort[T any](n *node, c func() (Codec[T], error)) *port { return newPortTo(n, c, spread[T]) }

// newPortTo makes an output whose elements send encodes into a writer.
func newPortTo[T any](
	n *node, c func() (Codec[T], error), send func(at caller, elements codec.Codec[T], w operator.RecordWriter) func(T),
) *port {
	var found Codec[T]
	return &port{
		node: n,
		resolve: func() (name string, err error) {
			found, err = c()
			return found.Name, err
		},
		tee: tee[T],
		send: func(at caller, w operator.RecordWriter) any {
			return send(at, found, w)
		},
		receive: func(at caller, down any) func([]byte) {
			return decoded(at, found, down.(func(T)))
		},
		watch: watched[T],
	}
}

// tee passes each element to all of downs. All but the last get a copy of a
// []byte, because each of them may change it.
func tee[T any](downs []any) any {
	all := make([]func(T), len(downs))
	for i, down := range downs {
		all[i] = down.(func(T))
	}
	copies, last := all[:len(all)-1], all[len(all)-1]
	lend := func(v T) T { return v }
	if f, ok := any(borrower()).(func(T) T); ok {
		lend = f
	}
	return func(v T) {
		for _, down := range copies {
			down(lend(v))
		}
		last(v)
	}
}

// borrower returns a function that copies a []byte. Each call reuses the memory of
// the last copy.
func borrower() func([]byte) []byte {
	var scratch []byte
	return func(v []byte) []byte {
		scratch = append(scratch[:0], v...)
		return scratch
	}
}

// countBatch is how many elements may be missing in the counter of CountAs while the task runs.
const countBatch = 256

// counted counts elements on their way to down. An atomic addition for each element would be a part
// of the time that a word takes in a word count. So it adds several at once: at first each element,
// and more when there are many.
func counted[T any](c *chain, name string, down func(T)) func(T) {
	counter := c.metrics().Counter(name)
	n, batch := int64(0), int64(1)
	c.atClose(func() { counter.Add(n) })
	return func(v T) {
		if n++; n >= batch {
			counter.Add(n)
			n, batch = 0, min(2*batch, countBatch)
		}
		down(v)
	}
}

// watched calls before, and passes elements on while it returns no error.
func watched[T any](c *chain, before func() error, down any) any {
	take := down.(func(T))
	return func(v T) {
		if c.err != nil {
			return
		}
		if err := before(); err != nil {
			c.fail(err)
			return
		}
		take(v)
	}
}

// spread encodes elements and sends them to a writer's channels in turn.
func spread[T any](at caller, elements codec.Codec[T], w operator.RecordWriter) func(T) {
	channels := w.Channels()
	next := at.chain.subtask.Index() % channels
	return sent(at, elements, w, func(T) (int, error) {
		channel := next
		if next++; next == channels {
			next = 0
		}
		return channel, nil
	})
}

// sent encodes elements and sends each to the channel that choose returns for it.
func sent[T any](at caller, elements codec.Codec[T], w operator.RecordWriter, choose func(T) (int, error)) func(T) {
	var record []byte
	return func(v T) {
		if at.chain.err != nil {
			return
		}
		channel, err := choose(v)
		if err == nil {
			var encoded []byte
			if encoded, err = elements.Append(record[:0], v); err == nil {
				record = encoded
			}
		}
		if err != nil {
			at.chain.fail(failedAt(at, v, err))
			return
		}
		if err := w.Emit(at.ctx, channel, record); err != nil {
			at.chain.fail(err)
		}
	}
}

// decoded decodes records and passes the elements to down.
func decoded[T any](at caller, elements codec.Codec[T], down func(T)) func([]byte) {
	return func(record []byte) {
		v, err := elements.Decode(record)
		if err != nil {
			at.fail(err)
			return
		}
		down(v)
	}
}
