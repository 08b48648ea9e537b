package budget

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Estimates of the most memory that an unfinished job takes, in bytes, without its texts.
const (
	// masterSize is for the JobMaster of an empty job: 50 KiB, plus the nodes that it sets aside, the
	// failures that it remembers, its counters, and its users' metrics.
	masterSize = 64<<10 + msg.MaxJobFailures + msg.MaxJobCounters + msg.MaxJobMetrics
	// subtaskSize is for a subtask in all lists of its job, with its share of a region, of a slot and of a
	// deployment message, its name among the winners of a commit, and with a few counters, a few of its
	// users' metrics, and two brief failures of its region: 1.5 KiB. The room that counters and metrics leave is for what workers tell
	// a later JobMaster.
	subtaskSize = listedSize + msg.TaskCounterBytes + msg.TaskMetricBytes + 2*BriefFailure
	listedSize  = 256
	// BriefFailure is the most that a JobMaster keeps of a failure's text when many regions fail at once,
	// in bytes.
	BriefFailure = 256
	// plannedSize is for a vertex with its entries in maps, linkSize for an edge.
	plannedSize, linkSize = 1 << 10, 256
	// partitionSize is for what a task writes into an exchange, if it is blocking or becomes so.
	partitionSize = 32
	// splitSize is for a split and its places in the queues. partSize is for one of its parts, in a list
	// that has room for twice as many. hostSize is for a host's name there.
	splitSize, partSize, hostSize = 160, 128, 64
	// textSize is for a text in a list, fileSize for a cached file.
	textSize, fileSize = 32, 128
)

// Estimates of the memory that an ended job takes, in bytes, without its texts.
const (
	endedSize  = 1 << 10 // with its maps, and its places in the Dispatcher's
	vertexSize = 512
	inputSize  = 160 // of a vertex, with the producer's id
)

// FailureSize is for a failure of a job without its texts, in bytes: 128 bytes in a list that grows.
const FailureSize = 192

// SizeOfFailure estimates the memory of a failure of a job, in bytes.
func SizeOfFailure(e *msg.ExceptionEntry) int {
	return FailureSize + len(e.Failure.Message) + len(e.Failure.Stack) + len(e.Task) + len(e.Location)
}

// entrySize is for an entry of a map or a list, in bytes, without its texts.
const entrySize = 64

// GraphSize estimates the most memory that a valid graph and its JobMaster take, in bytes, without results.
func GraphSize(g *jobgraph.JobGraph) int64 {
	size := int64(masterSize + len(g.Job) + len(g.Name) + len(g.Args) + len(g.Digest))
	for name, value := range g.Config {
		size += int64(entrySize + len(name) + len(value))
	}
	for _, f := range g.Files {
		size += int64(fileSize + len(f.Name) + len(f.URI) + len(f.SHA256))
	}
	for _, e := range g.Edges {
		size += int64(linkSize + len(e.Type) + len(e.Route) + len(e.Pattern) + len(e.Ship) + len(e.Why) + g.Vertices[e.From].Parallelism*partitionSize)
	}
	tasks := 0
	for _, v := range g.Vertices {
		tasks += v.Parallelism
		size += int64(plannedSize + 2*len(v.Name) + len(v.Collect) + v.Parallelism*subtaskSize)
		for _, text := range v.Operators {
			size += int64(textSize + len(text))
		}
		for _, text := range slices.Concat(v.Outputs, v.Notes) {
			size += int64(textSize + len(text))
		}
		for _, split := range v.Splits {
			size += int64(splitSize + len(split.Base) + len(split.Data))
			for _, part := range split.Parts {
				size += int64(partSize + len(part.Name))
			}
			for _, host := range split.Hosts {
				size += int64(hostSize + len(host))
			}
		}
	}
	return size + int64(tasks*msg.EarlierAttempts(tasks, msg.MaxAttemptsHistory)*msg.EarlierAttemptBytes)
}

// EndedSize estimates the memory that an ended job keeps, in bytes, without results.
func EndedSize(d *msg.JobDetails) int64 {
	size := endedSize + len(d.Name) + len(d.Note) + entrySize*(len(d.Timestamps)+len(d.Steps))
	for _, v := range d.Vertices {
		size += vertexSize + len(v.Name) + entrySize*len(v.Tasks) + len(v.Subtasks)
		for name := range v.Counters {
			size += entrySize + len(name)
		}
		for _, in := range v.Inputs {
			size += inputSize + len(in.Why)
		}
		for _, note := range v.Notes {
			size += textSize + len(note)
		}
	}
	for _, entries := range [][]msg.ExceptionEntry{d.Exceptions, d.TaskFailures} {
		for i := range entries {
			size += SizeOfFailure(&entries[i])
		}
	}
	for name := range d.Counters {
		size += entrySize + len(name)
	}
	for name, value := range d.Config {
		size += entrySize + len(name) + len(value)
	}
	return int64(size)
}
