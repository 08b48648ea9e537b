package dataflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/lines"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ReadText reads the lines of text files, each exactly once, without "\n" or
// "\r\n". A URI names a file, a directory or a glob. In a directory, ReadText
// reads all files except those whose names begin with "_" or "."; it reads no
// subdirectories. A path without a scheme is on the default file system. An
// element is valid until the function that receives it returns.
//
// ReadText decompresses files whose names end in .gz, .gzip, .zst, .zstd or
// .bz2. One subtask reads such a file as a whole. Files are listed once, when
// the job is planned. Planning fails if a file's name is that of an archive or
// of another compressed format, such as .tar.gz or .lz4. The job fails if a
// file changes after planning, if a compressed file is damaged, or if a line is
// longer than 64 MiB.
func ReadText(p *Plan, uris ...string) Stream[[]byte] { return ReadTextWith(p, uris) }

// ReadTextWith is ReadText with options.
func ReadTextWith(p *Plan, uris []string, o ...Option) Stream[[]byte] {
	set := p.settle("read text", forStreams, o)
	if len(uris) == 0 {
		p.fault(fmt.Errorf("%s: no input is named", set.name))
	}
	n := &node{name: set.name, parallelism: set.parallelism, placement: set.placement, input: append([]string{}, uris...)}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		reader := lines.NewReader(c.subtask.FileSystem(), lines.Options{})
		c.at = reader.At
		if locator, is := c.subtask.(operator.Locator); is {
			locator.Locate(reader.At)
		}
		return nil, &textReader{ctx: ctx, chain: c, lines: reader, emit: down.(func([]byte))}
	}
	p.add(n)
	return newStream(n, set, codec.For[[]byte])
}

// textReader emits the lines of the splits that its subtask gets.
type textReader struct {
	idle
	ctx     context.Context //nolint:containedctx // of the attempt
	chain   *chain
	lines   *lines.Reader
	reading bool // a split
	emit    func([]byte)
}

// produce takes a split, or reads some lines of it.
func (r *textReader) produce() (progress, error) {
	if !r.reading {
		return r.begin()
	}
	for range burst {
		line, err := r.lines.Next()
		if err == io.EOF { //nolint:errorlint // an error that wraps io.EOF has another cause
			r.reading = false
			return more, nil
		}
		if err != nil {
			return done, err
		}
		r.emit(line)
		if err := r.chain.fault(); err != nil {
			return done, err
		}
	}
	return more, nil
}

// begin takes the next split, if there is one.
func (r *textReader) begin() (progress, error) {
	split, found, err := r.chain.subtask.PollSplit(r.ctx)
	switch {
	case errors.Is(err, io.EOF):
		return done, nil
	case err != nil:
		return done, err
	case !found:
		return blocked, nil
	}
	if err := r.lines.Open(r.ctx, split, lines.Position{}); err != nil {
		return done, err
	}
	r.reading = true
	return more, nil
}

func (r *textReader) close() error {
	r.lines.Close()
	return nil
}

// Format appends the text of an element to dst and returns the result. The text
// is one line, without a line end.
type Format[T any] func(dst []byte, v T) []byte

// textOutput describes a file sink for the planner.
type textOutput struct {
	uri         string
	mode        output.Mode
	compression Compression
}

// ready is the message that a subtask has written its part.
type ready = KV[int, string] // subtask, attempt

// WriteText writes each element as a line into the directory uri, one file for
// each subtask: part-00000, part-00001, …, or part-00000.gz with the option
// Compressed. The files appear when the job is done, _SUCCESS last. If the
// output exists, the job fails before it starts, unless the option Overwrite is
// set.
func WriteText[T any](s Stream[T], uri string, format Format[T], o ...Option) {
	p := s.out.node.plan
	set := p.settle("write text", forSinks|optionOverwrite|optionCompressed, o)
	target := &textOutput{uri: uri, compression: set.compression}
	if set.overwrite {
		target.mode = output.Replace
	}
	if uri == "" {
		p.fault(fmt.Errorf("%s: no output is named", set.name))
	}
	writer := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement,
		inputs: []connection{{from: s.out}}, output: target,
		attach: func(ctx context.Context, c *chain, down any) (any, stage) {
			w := &textWriter{ctx: ctx, chain: c, target: target, ready: down.(func(ready))}
			return func(v T) {
				w.create()
				w.line = append(format(w.line[:0], v), '\n')
				w.write()
			}, w
		},
	}
	p.add(writer)
	parts := newStream(writer, settings{}, codec.For[ready])

	commit := &node{
		name: set.name + " (commit)", parallelism: 1, commits: true, inputs: []connection{{from: parts.out, exchange: true}},
		attach: func(ctx context.Context, c *chain, _ any) (any, stage) {
			winners := make([]string, writer.parallelism)
			return func(r ready) {
				if r.Key < 0 || r.Key >= len(winners) || winners[r.Key] != "" || r.Value == "" {
					c.fail(fmt.Errorf("commit output %s: part %d of attempt %q is not expected", uri, r.Key, r.Value))
					return
				}
				winners[r.Key] = r.Value
			}, atEnd{end: func() error { return c.commit(ctx, target, winners) }}
		},
	}
	p.add(commit)
}

// output returns the output of t with a qualified URI.
func (c *chain) output(t *textOutput) (output.Output, error) {
	dir, err := c.subtask.FileSystem().Qualify(t.uri)
	return output.Output{
		Dir: dir, Job: c.subtask.Job(), Epoch: c.subtask.Epoch(), Mode: t.mode,
		Compression: compress.Format(t.compression),
	}, err
}

// commit moves the parts of the winners into place. The first attempt asks for leave; the later ones are told the winners.
func (c *chain) commit(ctx context.Context, t *textOutput, winners []string) error {
	if known := c.subtask.Winners(); known != nil {
		winners = known
	} else {
		if i := slices.Index(winners, ""); i >= 0 {
			return fmt.Errorf("commit output %s: part %d is missing", t.uri, i)
		}
		if err := c.subtask.PrepareCommit(ctx, winners); err != nil {
			return err
		}
	}
	o, err := c.output(t)
	if err != nil {
		return err
	}
	return o.Commit(ctx, c.subtask.FileSystem(), c.subtask.Attempt(), winners)
}

// textWriter writes one part, and reports it when it is complete.
type textWriter struct {
	idle
	ctx    context.Context //nolint:containedctx // of the attempt
	chain  *chain
	target *textOutput
	ready  func(ready)
	part   *output.Part // nil until the first line, and after the last
	line   []byte
}

// create creates the part, unless it is there or the attempt has failed.
func (w *textWriter) create() {
	if w.part != nil || w.chain.err != nil {
		return
	}
	o, err := w.chain.output(w.target)
	if err == nil {
		w.part, err = o.Create(w.ctx, w.chain.subtask.FileSystem(), w.chain.subtask.Attempt(), w.chain.subtask.Index())
	}
	if err != nil {
		w.chain.fail(err)
	}
}

// write appends the line to the part.
func (w *textWriter) write() {
	if w.chain.err != nil {
		return
	}
	if _, err := w.part.Write(w.line); err != nil {
		w.chain.fail(operator.OfFiles(fmt.Errorf("write output: %w", err)))
	}
}

// event completes the part at the end of the data.
func (w *textWriter) event(_ int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	w.create() // an empty part, too
	if err := w.chain.fault(); err != nil {
		return err
	}
	part := w.part
	w.part = nil
	if err := part.Close(); err != nil {
		return err
	}
	w.ready(ready{Key: w.chain.subtask.Index(), Value: w.chain.subtask.Attempt()})
	return nil
}

// close removes a part that is not complete.
func (w *textWriter) close() error {
	if w.part != nil {
		w.part.Abort()
	}
	return nil
}
