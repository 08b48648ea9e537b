package dataflow

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Write writes the elements into a sink. They become visible when all of them are written, as a whole or not at all.
func Write[T any](s Stream[T], sink connector.Sink[T], o ...Option) {
	write(s, s.out.node.plan.settle("write", forSinks, o), sink)
}

// ready is the message that a subtask has written its part.
type ready = KV[int, string] // subtask, committable

func write[T any](s Stream[T], set settings, sink connector.Sink[T]) {
	p := s.out.node.plan
	if sink == nil {
		p.fault(fmt.Errorf("%s: the sink is nil", set.name))
	}
	writer := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement,
		inputs: []connection{{from: s.out}},
		sink: &plannedSink{text: textOf(sink), check: func(ctx context.Context, p connector.Planning) ([]string, error) {
			return sink.Check(ctx, p)
		}},
	}
	writer.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		w := &sinkStage[T]{caller: caller{ctx, c, writer}, sink: sink, environment: c.environment(), ready: down.(func(ready))}
		return w.take, w
	}
	p.add(writer)
	parts := newStream(writer, settings{}, codec.For[ready])

	commit := &node{name: set.name + " (commit)", parallelism: 1, commits: true, inputs: []connection{{from: parts.out, exchange: true}}}
	commit.attach = func(ctx context.Context, c *chain, _ any) (any, stage) {
		k := &commitStage{
			caller: caller{ctx, c, commit}, committables: make([]string, writer.parallelism), got: make([]bool, writer.parallelism),
			environment: c.environment(), commit: sink.Commit,
		}
		return k.take, k
	}
	p.add(commit)
}

// plannedSink is a sink as the planner sees it.
type plannedSink struct {
	text  string // the same in each plan
	check func(ctx context.Context, p connector.Planning) (directories []string, err error)
}

// sinkStage writes one part, and reports it when it is complete.
type sinkStage[T any] struct {
	idle
	caller
	sink        connector.Sink[T]
	environment connector.Environment
	ready       func(ready)
	writer      connector.Writer[T] // nil until the first element
}

// begin makes the writer, unless it is there or the attempt has failed.
func (w *sinkStage[T]) begin() {
	if w.writer != nil || w.chain.err != nil {
		return
	}
	writer, err := w.sink.NewWriter(w.ctx, w.environment)
	if err != nil {
		w.fail(err)
		return
	}
	w.writer = writer
}

func (w *sinkStage[T]) take(element T) {
	w.begin()
	if w.chain.err != nil {
		return
	}
	if err := w.writer.Write(element); err != nil {
		w.chain.fail(failedAt(w.caller, element, err))
	}
}

// event completes the part at the end of the data.
func (w *sinkStage[T]) event(_ int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	w.begin() // an empty part, too
	if err := w.chain.fault(); err != nil {
		return err
	}
	committable, err := w.writer.Prepare(w.ctx)
	if err != nil {
		return w.failed(err)
	}
	if err := storable(committable, w.environment.Parallelism); err != nil {
		return w.failed(operator.Permanent(err))
	}
	w.ready(ready{Key: w.environment.Index, Value: committable})
	return nil
}

// storable returns an error if the master cannot keep a committable: it has the same room for each subtask. So the first subtask that
// needs more finds that out, and not the commit, when all are written.
func storable(committable string, parallelism int) error {
	switch most := min(connector.MaxCommittable, connector.MaxCommittables/parallelism); {
	case !utf8.ValidString(committable):
		return fmt.Errorf("%w: it is not UTF-8", connector.ErrCommittable)
	case len(committable) > connector.MaxCommittable:
		return fmt.Errorf("%w: it has %d bytes, at most %d are allowed", connector.ErrCommittable, len(committable), connector.MaxCommittable)
	case len(committable) > most:
		return fmt.Errorf("%w, or set a lower Parallelism: it has %d bytes, at most %d are allowed for each of %d subtasks",
			connector.ErrCommittable, len(committable), most, parallelism)
	}
	return nil
}

func (w *sinkStage[T]) close() error {
	if w.writer == nil {
		return nil
	}
	return w.failed(w.writer.Close())
}

// commitStage commits the parts of all subtasks of a sink.
type commitStage struct {
	idle
	caller
	environment  connector.Environment
	committables []string // by subtask
	got          []bool
	bytes        int // of committables
	commit       func(ctx context.Context, e connector.Environment, committables []string) error
}

func (k *commitStage) take(r ready) {
	if r.Key < 0 || r.Key >= len(k.got) || k.got[r.Key] {
		k.fail(fmt.Errorf("the committable %q of subtask %d is not expected", r.Value, r.Key))
		return
	}
	k.committables[r.Key], k.got[r.Key] = r.Value, true
	if k.bytes += len(r.Value); k.bytes > connector.MaxCommittables {
		k.fail(operator.Permanent(fmt.Errorf("%w: those of all subtasks have more than %d bytes", connector.ErrCommittable, connector.MaxCommittables)))
	}
}

// event commits at the end of the data. The first attempt asks for leave; the later ones are told the committables.
func (k *commitStage) event(_ int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	if err := k.chain.fault(); err != nil {
		return err
	}
	if known := k.chain.subtask.Winners(); known != nil {
		k.committables = known
	} else {
		if i := slices.Index(k.got, false); i >= 0 {
			return k.failed(fmt.Errorf("the committable of subtask %d is missing", i))
		}
		if err := k.chain.subtask.PrepareCommit(k.ctx, k.committables); err != nil {
			return err
		}
	}
	return k.failed(k.commit(k.ctx, k.environment, k.committables))
}
