package progress

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Bytes says how much of a known amount is done: "120 of 200 MB". The unit leaves the total at least two
// digits. Parts of a unit are rounded up, because started work counts.
func Bytes(done, total int64) string {
	unit, name := unitOf(total)
	return fmt.Sprintf("%d of %d %s", (done+unit-1)/unit, (total+unit-1)/unit, name)
}

// Size is an amount in words: "200 MB".
func Size(bytes int64) string {
	unit, name := unitOf(bytes)
	return fmt.Sprintf("%d %s", (bytes+unit-1)/unit, name)
}

func unitOf(total int64) (unit int64, name string) {
	unit, name = 1, "bytes"
	for _, larger := range []struct {
		size int64
		name string
	}{{1 << 10, "KB"}, {1 << 20, "MB"}} {
		if total >= 10*larger.size {
			unit, name = larger.size, larger.name
		}
	}
	return unit, name
}

// Job is how far a job is.
type Job struct {
	Finished, Tasks int
	Read            int64 // bytes that its sources have read
	Input           int64 // bytes to read; 0 if not known
}

// String is the progress line for people.
func (j Job) String() string {
	tasks := fmt.Sprintf("%d of %d tasks done", j.Finished, j.Tasks)
	if j.Input <= 0 {
		return tasks
	}
	// Sources read lines to their ends, which may be after the end of a split.
	return fmt.Sprintf("read %s, %s", Bytes(min(j.Read, j.Input), j.Input), tasks)
}

// Input is the number of bytes that a job's sources will read.
func Input(g *jobgraph.JobGraph) int64 {
	total := int64(0)
	for _, v := range g.Vertices {
		for _, split := range v.Splits {
			total += split.Bytes()
		}
	}
	return total
}
