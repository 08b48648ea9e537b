package randomjobs

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// maxCollects bounds the sinks of a job that collect.
const maxCollects = 4

// collectors has the elements of sinks, by the number of the sink.
//
//nolint:gochecknoglobals // constants
var collectors = func() (all [maxCollects]dataflow.Collector[string]) {
	for i := range all {
		all[i] = dataflow.NewCollector[string]("sink-" + strconv.Itoa(i))
	}
	return all
}()

// Registered is the job that all descriptions are arguments of.
//
//nolint:gochecknoglobals // a job is registered once
var Registered = dataflow.Job("random", plan)

// plan makes the SDK's plan of a description.
func plan(p *dataflow.Plan, j Job) error {
	b := &builder{plan: p, job: j}
	for i := range j.Nodes {
		b.node(i)
	}
	for i, s := range j.Sinks {
		b.streams[s.Node].write(b, i)
	}
	return nil
}

// builder makes a plan.
type builder struct {
	plan    *dataflow.Plan
	job     Job
	streams []stream // of the nodes so far
	sides   []stream // of the side outputs of the nodes so far
}

// node adds a node. at is its number.
func (b *builder) node(at int) {
	n := &placed{Node: b.job.Nodes[at], at: at}
	b.sides = append(b.sides, nil)
	var in [2]stream
	for i, input := range n.Inputs {
		in[i] = b.streams[input]
	}
	var out stream
	switch n.Op {
	case OpSource:
		out = shapes[n.Shape].read(b, n)
	case OpSide:
		out = b.sides[n.Inputs[0]]
	case OpConvert:
		out = shapes[n.Shape].convert(n, in[0])
	default:
		out = in[0].apply(b, n, in[1])
	}
	b.streams = append(b.streams, out)
}

// placed is a node with its number.
type placed struct {
	Node
	at int
}

// options are the options of the node's operator.
func (n *placed) options(more ...dataflow.Option) []dataflow.Option { return n.named("", more...) }

// named are the options of an operator that belongs to the node.
func (n *placed) named(suffix string, more ...dataflow.Option) []dataflow.Option {
	more = append(more, dataflow.Named(name(n.at)+suffix))
	if n.Parallelism > 0 && n.Op != OpLimit && n.Op != OpTopNOfAll {
		more = append(more, dataflow.Parallelism(n.Parallelism))
	}
	return more
}

// stream is a stream of any shape.
type stream interface {
	apply(b *builder, n *placed, other stream) stream
	write(b *builder, sink int)
}

// shaper is a shape without its type.
type shaper interface {
	normal(r Record) Record
	read(b *builder, n *placed) stream
	convert(n *placed, in stream) stream
}

// typed implements stream.
type typed[T any] struct {
	dataflow.Stream[T]
	*shape[T]
}

// of makes a stream of the node's operator.
func (s *shape[T]) of(stream dataflow.Stream[T]) typed[T] { return typed[T]{stream, s} }

// read implements shaper.
func (s *shape[T]) read(b *builder, n *placed) stream {
	var options []dataflow.Option
	if n.Parallelism > 0 {
		options = append(options, dataflow.Parallelism(n.Parallelism))
	}
	lines := dataflow.ReadTextWith(b.plan, []string{directory(n.at)}, append(options, dataflow.Named(name(n.at)))...)
	return s.of(dataflow.FlatMap(lines, func(line []byte, emit func(T)) {
		if len(bytes.TrimSpace(line)) == 0 {
			return
		}
		emit(s.to(parse(string(line))))
	}, n.named(" out")...))
}

// convert implements shaper.
func (s *shape[T]) convert(n *placed, in stream) stream {
	switch in := in.(type) {
	case typed[int64]:
		return converted(n, in, s)
	case typed[string]:
		return converted(n, in, s)
	case typed[[]byte]:
		return converted(n, in, s)
	case typed[flat]:
		return converted(n, in, s)
	case typed[nested]:
		return converted(n, in, s)
	}
	panic(fmt.Sprintf("randomjobs: no conversion of %T", in))
}

func converted[T, U any](n *placed, in typed[T], to *shape[U]) stream {
	return to.of(dataflow.Map(in.Stream, func(v T) U { return to.to(in.take(v)) }, n.options()...))
}

// take is the record of an element that the caller owns.
func (s *shape[T]) take(v T) Record {
	r := s.from(v)
	s.spoil(v)
	return r
}

// write implements stream.
func (t typed[T]) write(b *builder, sink int) {
	node := b.job.Sinks[sink].Node
	var options []dataflow.Option
	if p, _ := b.job.sinkParallelism(node); p > 0 {
		options = append(options, dataflow.Parallelism(p))
	}
	lines := dataflow.Map(t.Stream, func(v T) string { return line(t.take(v)) }, append(options, dataflow.Named(name(node)+sinkSuffix(sink)))...)
	if b.job.Sinks[sink].Collect {
		dataflow.Collect(lines, collectors[sink])
		return
	}
	dataflow.WriteText(lines, output(sink), func(dst []byte, v string) []byte { return append(dst, v...) },
		append(options, dataflow.Named(writer(sink)))...)
}

// sinkSuffix ends the names of a sink's operators.
func sinkSuffix(sink int) string { return " sink " + strconv.Itoa(sink) }

// writer is the name of the operator that writes the files of a sink.
func writer(sink int) string { return "write" + sinkSuffix(sink) }

// sinkParallelism is the parallelism of a sink behind a node; 0: that of the job. If known is true, it is that of the node, so the
// sink keeps the order of a sort.
func (j Job) sinkParallelism(node int) (parallelism int, known bool) {
	switch n := &j.Nodes[node]; n.Op {
	case OpSortPartition: // that of its input
		return j.sinkParallelism(n.Inputs[0])
	case OpBroadcast:
		return n.N, true
	case OpSide, OpTopNOfAll:
		return 0, false
	default:
		return n.Parallelism, true
	}
}

// line is a record as a line of a sink.
func line(r Record) string {
	return strconv.FormatInt(r.K, 10) + " " + strconv.FormatInt(r.N, 10) + " " + strconv.Quote(r.S)
}
