package splits

import (
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// cut makes splits of at most target bytes. A split holds whole blocks, or a piece
// of one block that is larger than target. If the blocks do not add up to the file,
// cut ignores them. A compressed file is one split: its text can be read only from the beginning.
func (f *file) cut(target int64) []jobgraph.Split {
	if compress.Of(f.uri) != compress.None {
		target = max(f.size, 1)
	}
	base := directoryOf(f.uri)
	var all []jobgraph.Split
	for _, run := range f.runs(target) {
		pieces := (run.Length + target - 1) / target
		each, rest := run.Length/pieces, run.Length%pieces
		for i := range pieces {
			begin, end := each*i+rest*i/pieces, each*(i+1)+rest*(i+1)/pieces
			all = append(all, jobgraph.Split{Base: base, Parts: []jobgraph.Part{f.part(base, run.Offset+begin, end-begin)}, Hosts: run.Hosts})
		}
	}
	return all
}

func (f *file) part(base string, offset, length int64) jobgraph.Part {
	return jobgraph.Part{Name: f.uri[len(base):], Offset: offset, Length: length, FileLength: f.size, FileModTime: f.modTime}
}

// directoryOf returns the URI up to its last "/".
func directoryOf(uri string) string { return uri[:strings.LastIndexByte(uri, '/')+1] }

// runs joins neighbouring blocks up to target bytes. A run has the hosts of its
// largest block. If the blocks do not add up to the file, the file is one run
// without hosts.
func (f *file) runs(target int64) []filesystem.Block {
	var joined []filesystem.Block
	largestBlock, end := int64(0), int64(0)
	for _, b := range f.blocks {
		if b.Offset != end || b.Length < 0 {
			end = -1
			break
		}
		end += b.Length
		last := len(joined) - 1
		if last < 0 || joined[last].Length+b.Length > target {
			joined = append(joined, b)
			largestBlock = b.Length
			continue
		}
		joined[last].Length += b.Length
		if b.Length > largestBlock {
			joined[last].Hosts, largestBlock = b.Hosts, b.Length
		}
	}
	if end != f.size {
		return []filesystem.Block{{Length: f.size}}
	}
	return joined
}
