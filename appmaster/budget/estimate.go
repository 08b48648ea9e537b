package budget

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Estimates of the memory that an unfinished job takes at most, in bytes, beside its texts.
const (
	// masterSize is of a JobMaster whose job is empty: 50 KiB with the nodes that it sets
	// aside, the failures that it remembers, and its counters.
	masterSize = 64<<10 + msg.MaxJobFailures + msg.MaxJobCounters
	// subtaskSize is of a subtask in all lists of its job, with its share of a region, of a
	// slot, of a message that deploys it, and with a few counters and a failure.
	subtaskSize = 1 << 10
	// plannedSize is of a vertex with the maps that it is counted in, linkSize of an edge.
	plannedSize, linkSize = 1 << 10, 256
	// splitSize is of a split and its places in the queues, partSize of one of its parts in a list
	// that has room for as many again; hostSize of a host's name there.
	splitSize, partSize, hostSize = 128, 128, 64
	// textSize is of a text in a list.
	textSize = 32
)

// Estimates of the memory that an ended job takes, in bytes, beside its texts.
const (
	endedSize     = 1 << 10 // with its maps, and its places in the Dispatcher's
	vertexSize    = 512
	exceptionSize = 128
)

// entrySize is of an entry of a map or a list, in bytes, beside its texts.
const entrySize = 64

// GraphSize estimates what a valid graph and its JobMaster take at most, in bytes, without
// results.
func GraphSize(g *jobgraph.JobGraph) int64 {
	size := int64(masterSize + len(g.Job) + len(g.Name) + len(g.Args) + len(g.Digest))
	for name, value := range g.Config {
		size += int64(entrySize + len(name) + len(value))
	}
	for _, e := range g.Edges {
		size += int64(linkSize + len(e.Type) + len(e.Pattern))
	}
	for _, v := range g.Vertices {
		size += int64(plannedSize + 2*len(v.Name) + len(v.Collect) + v.Parallelism*subtaskSize)
		for _, text := range v.Operators {
			size += int64(textSize + len(text))
		}
		for _, text := range v.Outputs {
			size += int64(textSize + len(text))
		}
		for _, split := range v.Splits {
			size += int64(splitSize + len(split.Base))
			for _, part := range split.Parts {
				size += int64(partSize + len(part.Name))
			}
			for _, host := range split.Hosts {
				size += int64(hostSize + len(host))
			}
		}
	}
	return size
}

// EndedSize estimates what is left of a job that has ended, in bytes, without results.
func EndedSize(d *msg.JobDetails) int64 {
	size := endedSize + len(d.Name) + entrySize*(len(d.Timestamps)+len(d.Steps))
	for _, v := range d.Vertices {
		size += vertexSize + len(v.Name) + entrySize*(len(v.Tasks)+len(v.Inputs))
	}
	for _, e := range slices.Concat(d.Exceptions, d.TaskFailures) {
		size += exceptionSize + len(e.Failure.Message) + len(e.Failure.Stack) + len(e.Task) + len(e.Location)
	}
	for name := range d.Counters {
		size += entrySize + len(name)
	}
	for name, value := range d.Config {
		size += entrySize + len(name) + len(value)
	}
	return int64(size)
}
