package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// splitQueue gives out the splits of one source vertex, each once, and takes back those of a
// subtask that restarts. It prefers splits with a replica on the asking worker's node, and
// otherwise keeps the order of the JobGraph.
type splitQueue struct {
	splits []jobgraph.Split
	bytes  int64 // of all splits
	taken  []bool
	given  [][]int // splits given to each subtask
	// read is how many of them each attempt of a subtask has got, by its number. All attempts that run at the same time read the same
	// splits, so that it does not matter which of them finishes.
	read []map[int]int
	// drained says of each subtask that one of its attempts has read all that was given: it asked once more, and none was left. The
	// others get no further ones, even if there are some again.
	drained []bool
	all     cursor
	byHost  map[string]*cursor
}

// cursor is a position in a list of splits. No split before position next is free.
type cursor struct {
	indexes []int // into splitQueue.splits, ascending
	next    int
}

func newSplitQueue(splits []jobgraph.Split, parallelism int) *splitQueue {
	q := &splitQueue{
		splits:  splits,
		taken:   make([]bool, len(splits)),
		given:   make([][]int, parallelism),
		read:    make([]map[int]int, parallelism),
		drained: make([]bool, parallelism),
		byHost:  make(map[string]*cursor),
	}
	for i, s := range splits {
		q.bytes += s.Bytes()
		q.all.indexes = append(q.all.indexes, i)
		for _, host := range s.Hosts {
			c := q.byHost[host]
			if c == nil {
				c = &cursor{}
				q.byHost[host] = c
			}
			c.indexes = append(c.indexes, i)
		}
	}
	return q
}

// next gives a split to an attempt of a subtask that runs on a node: its index in splits; false when none is left.
func (q *splitQueue) next(subtask, attempt int, host string) (split int, found bool) {
	if q.read[subtask] == nil {
		q.read[subtask] = make(map[int]int, 1)
	}
	n := q.read[subtask][attempt]
	if n == len(q.given[subtask]) && !q.give(subtask, host) {
		return 0, false
	}
	q.read[subtask][attempt]++
	return q.given[subtask][n], true
}

// give gives one more split to a subtask; false: none is left.
func (q *splitQueue) give(subtask int, host string) bool {
	if q.drained[subtask] {
		return false
	}
	i, found := q.take(q.byHost[host])
	if !found {
		i, found = q.take(&q.all)
	}
	if !found {
		q.drained[subtask] = true
		return false
	}
	q.taken[i] = true
	q.given[subtask] = append(q.given[subtask], i)
	return true
}

func (q *splitQueue) take(c *cursor) (int, bool) {
	if c == nil {
		return 0, false
	}
	for ; c.next < len(c.indexes); c.next++ {
		if i := c.indexes[c.next]; !q.taken[i] {
			return i, true
		}
	}
	return 0, false
}

// takeBack frees the splits of a subtask that restarts.
func (q *splitQueue) takeBack(subtask int) {
	for _, i := range q.given[subtask] {
		q.taken[i] = false
		q.all.rewind(i)
		for _, host := range q.splits[i].Hosts {
			q.byHost[host].rewind(i)
		}
	}
	q.given[subtask], q.read[subtask], q.drained[subtask] = nil, nil, false
}

// done counts the splits that were read to their end: a subtask asks for a split when it has read the one before.
func (q *splitQueue) done() int {
	n := 0
	for s, given := range q.given {
		n += len(given)
		if len(given) > 0 && !q.drained[s] {
			n--
		}
	}
	return n
}

// rewind moves the cursor back to a split that is free again.
func (c *cursor) rewind(split int) {
	at, _ := slices.BinarySearch(c.indexes, split)
	c.next = min(c.next, at)
}
