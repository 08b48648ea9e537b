package dataflow

import (
	"context"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Read reads the elements of a source, each exactly once. The source enumerates its splits once, when the job is planned. An
// element is valid until the function that receives it returns.
func Read[T any](p *Plan, source connector.Source[T], o ...Option) Stream[T] {
	return read(p, p.settle("read", forStreams, o), source)
}

func read[T any](p *Plan, set settings, source connector.Source[T]) Stream[T] {
	if source == nil {
		p.fault(fmt.Errorf("%s: the source is nil", set.name))
	}
	n := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement,
		source: &plannedSource{text: textOf(source), enumerate: func(ctx context.Context, p connector.Planning) ([]connector.Split, error) {
			return source.Enumerate(ctx, p)
		}},
	}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		r := &sourceStage[T]{caller: caller{ctx, c, n}, source: source, environment: c.environment(), emit: down.(func(T))}
		c.at = r.at
		if locator, is := c.subtask.(operator.Locator); is {
			locator.Locate(r.at)
		}
		return nil, r
	}
	p.add(n)
	return newStream(n, set, codec.For[T])
}

// plannedSource is a source as the planner sees it.
type plannedSource struct {
	text      string // the same in each plan
	enumerate func(ctx context.Context, p connector.Planning) ([]connector.Split, error)
}

// textOf is what the planner can compare of a source or a sink, if it has a text.
func textOf(sourceOrSink any) string {
	if s, is := sourceOrSink.(fmt.Stringer); is {
		return s.String()
	}
	return ""
}

// environment is that of the operator that is being attached.
func (c *chain) environment() connector.Environment {
	s := c.subtask
	return connector.Environment{
		Job: s.Job(), Epoch: s.Epoch(), Attempt: s.Attempt(), Index: s.Index(), Parallelism: s.Parallelism(),
		FileSystem: s.FileSystem(), LocalDirs: s.LocalDirs(), Metrics: c.metrics(), CachedFile: s.CachedFile, Wake: s.Wake,
	}
}

// sourceStage emits the elements of the splits that its subtask gets.
type sourceStage[T any] struct {
	idle
	caller
	source      connector.Source[T]
	environment connector.Environment
	emit        func(T)
	reader      connector.Reader[T]
	reading     bool // a split
}

func (r *sourceStage[T]) open() error {
	reader, err := r.source.NewReader(r.ctx, r.environment)
	if err != nil {
		return r.failed(err)
	}
	r.reader = reader
	return nil
}

// produce takes a split, or reads some elements of it.
func (r *sourceStage[T]) produce() (progress, error) {
	if !r.reading {
		return r.begin()
	}
	for range burst {
		element, found, err := r.reader.Poll()
		if err == io.EOF { //nolint:errorlint // an error that wraps io.EOF has another cause
			r.reading = false
			return more, nil
		}
		if err != nil {
			return done, r.failed(err)
		}
		if !found {
			return blocked, r.chain.flush(r.ctx)
		}
		r.emit(element)
		if err := r.chain.fault(); err != nil {
			return done, err
		}
	}
	return more, nil
}

// begin takes the next split, if there is one.
func (r *sourceStage[T]) begin() (progress, error) {
	split, found, err := r.chain.subtask.PollSplit(r.ctx)
	switch {
	case err == io.EOF: //nolint:errorlint // as PollSplit says
		return done, nil
	case err != nil:
		return done, err
	case !found:
		return blocked, nil
	}
	if err := r.reader.Open(r.ctx, split, nil); err != nil {
		return done, r.failed(err)
	}
	r.reading = true
	return more, nil
}

// at says where the last element came from. It stays after close.
func (r *sourceStage[T]) at() string {
	if !r.reading {
		return ""
	}
	return r.reader.At()
}

func (r *sourceStage[T]) close() error {
	if r.reader == nil {
		return nil
	}
	return r.failed(r.reader.Close())
}

// flush sends what the vertex has emitted, because its source may have nothing for long.
func (c *chain) flush(ctx context.Context) error {
	for i := range c.subtask.Outputs() {
		if err := c.subtask.Output(i).Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}
