package dataflow

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/output"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/text"
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
	return read(p, set, text.Source{URIs: append([]string{}, uris...)})
}

// Format appends the text of an element to dst and returns the result. The text
// is one line, without a line end.
type Format[T any] func(dst []byte, v T) []byte

// WriteText writes each element as a line into the directory uri, one file for
// each subtask: part-00000, part-00001, …, or part-00000.gz with the option
// Compressed. The files appear when the job is done, _SUCCESS last. If the
// output exists, the job fails before it starts, unless the option Overwrite is
// set.
func WriteText[T any](s Stream[T], uri string, format Format[T], o ...Option) {
	p := s.out.node.plan
	set := p.settle("write text", forSinks|optionOverwrite|optionCompressed, o, format)
	if uri == "" {
		p.fault(fmt.Errorf("%s: no output is named", set.name))
	}
	sink := text.Sink[T]{URI: uri, Compression: compress.Format(set.compression), Format: format}
	if set.overwrite {
		sink.Mode = output.Replace
	}
	write(s, set, sink)
}
