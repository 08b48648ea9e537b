package dataflow

import (
	"fmt"
	"reflect"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Codec encodes the elements of a stream; see package codec.
type Codec[T any] = codec.Codec[T]

// KV is a key and its value.
type KV[K, V any] = codec.KV[K, V]

// Option changes how an operator runs. An option that does not apply to its
// operator is a planning error.
type Option struct {
	kind  optionKind
	apply func(*settings)
}

// optionKind identifies an option. Its values are bits, which form sets.
type optionKind int

const (
	optionName optionKind = 1 << iota
	optionParallelism
	optionCounter
	optionCodec
	optionOverwrite
	optionCompressed
	optionGroup
	optionCoLocated
	optionReject
	optionHint
	optionDescending

	// forSinks are the options of every sink but Collect.
	forSinks = optionName | optionParallelism | optionGroup | optionCoLocated
	// forStreams are the options of every operator that returns a stream.
	forStreams = forSinks | optionCounter | optionCodec
)

func (k optionKind) String() string {
	switch k {
	case optionName:
		return "Named"
	case optionParallelism:
		return "Parallelism"
	case optionCounter:
		return "CountAs"
	case optionCodec:
		return "WithCodec"
	case optionOverwrite:
		return "Overwrite"
	case optionCompressed:
		return "Compressed"
	case optionGroup:
		return "InGroup"
	case optionCoLocated:
		return "CoLocated"
	case optionReject:
		return "RejectTo"
	case optionHint:
		return "Hint"
	case optionDescending:
		return "Descending"
	default:
		return fmt.Sprintf("optionKind(%d)", int(k))
	}
}

// settings holds the values of one operator's options.
type settings struct {
	name        string
	parallelism int
	counter     string
	codec       any  // Codec of the operator's elements, or nil
	incomplete  bool // the codec lacks something
	overwrite   bool
	compression Compression
	reject      string // the side output for elements that cannot be processed
	rejected    reflect.Type
	hint        JoinHint // 0: none
	descending  bool
	placement
}

// Named sets the operator's name. Plans, job states and errors show this name.
func Named(name string) Option {
	return Option{optionName, func(s *settings) { s.name = name }}
}

// Parallelism sets the number of the operator's subtasks, 1 to 32768. The
// default is the job's (parallelism.default).
func Parallelism(n int) Option {
	return Option{optionParallelism, func(s *settings) { s.parallelism = n }}
}

// CountAs adds the number of elements that the operator emits to the job's
// counter of this name (Result.Counters). Several operators may share a counter.
func CountAs(counter string) Option {
	return Option{optionCounter, func(s *settings) { s.counter = counter }}
}

// WithCodec sets the codec of the operator's elements, or of the keys of KeyBy.
func WithCodec[T any](c Codec[T]) Option {
	return Option{optionCodec, func(s *settings) {
		s.codec, s.incomplete = c, c.Name == "" || c.Append == nil || c.Decode == nil
	}}
}

// Overwrite lets a sink replace an output that exists. The old content stays
// until the new one is complete.
func Overwrite() Option {
	return Option{optionOverwrite, func(s *settings) { s.overwrite = true }}
}

// Compression is the format of compressed files that a sink writes.
type Compression string

// The formats.
const (
	Gzip Compression = "gzip" // part-00000.gz: read by every tool
	Zstd Compression = "zstd" // part-00000.zst: takes less time to read
)

// Compressed makes WriteText compress its files. The default is no compression,
// which Compressed("") means, too: a job may pass on a text of its arguments.
func Compressed(format Compression) Option {
	return Option{optionCompressed, func(s *settings) { s.compression = format }}
}

// settle applies the options of an operator, and reports mistakes to the plan. functions are those of the user that the operator
// calls: a nil one would panic in a task.
func (p *Plan) settle(operator string, allowed optionKind, options []Option, functions ...any) settings {
	var s settings
	for _, o := range options {
		if o.kind&allowed == 0 {
			p.fault(fmt.Errorf("%s: option %v does not apply to this operator", operator, o.kind))
			continue
		}
		o.apply(&s)
		if o.kind == optionParallelism && (s.parallelism < 1 || s.parallelism > jobgraph.MaxParallelism) {
			p.fault(fmt.Errorf("%s: parallelism %d is not between 1 and %d", operator, s.parallelism, jobgraph.MaxParallelism))
		}
	}
	if s.compression != "" && !compress.Writable(compress.Format(s.compression)) {
		p.fault(fmt.Errorf("%s: files cannot be written in the format %q: choose %s or %s", operator, s.compression, Gzip, Zstd))
	}
	if s.name == "" {
		s.name = operator
	}
	if s.incomplete {
		p.fault(fmt.Errorf("%s: the codec given by WithCodec lacks Name, Append or Decode", s.name))
	}
	for _, f := range functions {
		if reflect.ValueOf(f).IsNil() {
			p.fault(fmt.Errorf("%s: its function is nil", s.name))
		}
	}
	if s.parallelism == 0 {
		s.parallelism = p.parallelism
	}
	return s
}
