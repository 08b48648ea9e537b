package dispatcher

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// The Dispatcher keeps account of the memory that jobs may take, Config.Memory:
//
//	├─ reserved, for each job that has not ended
//	│   ├─ its graph and its JobMaster, by estimate of the most that they become
//	│   └─ of each result that it collects, what may be held of it
//	├─ the archive: what is left of jobs that have ended, by estimate; beyond the half
//	│  only what stays, see handoverTime
//	└─ free
//
// A job is taken in when there is room for the most that it may become, so that none has
// to be ended for its memory later. A job that ends leaves no more than was reserved.
// Nothing is let go of before somebody needs its room, but whole jobs by Limits.

// resultShare of what is free goes to the results of a job at most, beyond the least that
// they need, so that the next jobs get some as well.
const resultShare = 4

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

// admit makes room for a job: what it reserves, and how much may be held of each of its
// results, in bytes. msg.ErrNoMemory, msg.ErrJobTooLarge.
func (c *core) admit(s Submission) (reserved int64, each int, err error) {
	size, results := GraphSize(s.Graph), int64(0)
	if !s.Detached {
		results = resultsOf(s.Graph)
	}
	least := size + results*collect.LeastBuffered
	most := c.config.Memory
	if most == 0 { // nobody bounds it
		return size + results*collect.MaxBuffered, resultBytes(results, collect.MaxBuffered), nil
	}
	if least > most {
		return 0, 0, fmt.Errorf("%w: %s needs %s, and all jobs together have %s: raise %s, or divide the job",
			msg.ErrJobTooLarge, s.Job, mebibytes(least), mebibytes(most), config.JobManagerProcessSize)
	}
	if lacking := c.reserved + c.archive.size + least - most; lacking > 0 {
		c.forget(c.archive.yield(c.now, lacking))
	}
	free := most - c.reserved - c.archive.size - least
	if free < 0 {
		return 0, 0, fmt.Errorf("%w for %s: it needs %s, and jobs have %s of the %s that are for them: submit it again when others have ended, or raise %s",
			msg.ErrNoMemory, s.Job, mebibytes(least), mebibytes(c.reserved+c.archive.size), mebibytes(most), config.JobManagerProcessSize)
	}
	if results == 0 {
		return size, 0, nil
	}
	beyond := min(free/resultShare/results, collect.MaxBuffered-collect.LeastBuffered)
	return least + results*beyond, resultBytes(results, collect.LeastBuffered+beyond), nil
}

// resultBytes is what is held of each result; of those that nobody comes for, nothing.
func resultBytes(results, each int64) int {
	if results == 0 {
		return 0
	}
	return int(each)
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// resultsOf counts what a job collects.
func resultsOf(g *jobgraph.JobGraph) (n int64) {
	for _, v := range g.Vertices {
		if v.Collect != "" {
			n++
		}
	}
	return n
}

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
