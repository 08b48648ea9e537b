// Package diagnosis says in words where a job is slow, and which subtask has too much of the work. The page, the terminal
// and the archive of a job show these words, so that all of them say the same.
//
// It is pure: it knows the description of a job and the numbers of REST's answer about its vertices. Subtasks have
// Flink's index from 0 in fields, and are counted from 1 in words, as in the names of tasks. It starts no goroutines.
package diagnosis

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// The thresholds of all diagnoses; docs/web.md has them for users.
const (
	// pressured is the share of its time that a subtask must wait for its consumers before a vertex counts as one that waits.
	// It is Flink's level low of back-pressure.
	pressured = 0.1
	// busy is the share of its time that a subtask must work before its vertex counts as slow.
	busy = 0.5
	// unequal is how many times the mean of the others the busiest subtask works, if the work is not spread equally.
	unequal = 2
	// apart is how far a subtask must be from the mean of all if it is worth a word.
	apart = 0.1
	// outlier is how many times the usual amount a subtask has, if its vertex is skewed.
	outlier = 3
	// fewSubtasks is up to how many subtasks the usual amount is the mean of all but the largest: their median contains the largest.
	fewSubtasks = 3
	// begins is for how long a source begins: until then, its tasks that started first have most of the records.
	begins = 10 * time.Second
)

// Judge completes the summaries of a job's vertices, which are in the job's order, and finds the vertex that makes the job
// slow; nil: the job does not run, nothing is measured, or no vertex has much to do.
//
// Skew is told only where it may be a cause. A vertex that waits itself has what its consumers have taken from each of its
// subtasks so far, and a source that has just begun has what was read by the subtasks that started first.
func Judge(d *msg.JobDetails, summaries []restapi.VertexSummary, now time.Time) *restapi.SlowVertex {
	found, waits := slowest(d, summaries)
	for i := range summaries {
		s, v := &summaries[i], &d.Vertices[i]
		if s.Spread == nil {
			continue
		}
		judge(s.Spread, v.Parallelism)
		if quiet := d.Status == msg.JobRunning && (justBegun(v, now) || i != found && waitsItself(s.Activity)); !quiet {
			s.Skew = skew(v, s.Spread)
		}
	}
	if found < 0 {
		return nil
	}
	return slowVertex(d, summaries, found, waits)
}

// Troubled tells whether a failure of a job is worth a word: it has failed, or tasks have restarted.
func Troubled(d *msg.JobDetails) bool {
	return d.Restarts > 0 || d.Status == msg.JobFailed || d.Status == msg.JobFailing || d.Status == msg.JobRestarting
}

// waitsItself tells whether the tasks of a vertex wait for their consumers more than they work.
func waitsItself(a *restapi.VertexActivity) bool {
	return a != nil && a.BackPressured >= pressured && a.BackPressured > a.Busy
}

// justBegun tells whether a vertex is a source in its first seconds.
func justBegun(v *msg.VertexDetails, now time.Time) bool {
	return len(v.Inputs) == 0 && now.Sub(v.Start) < begins
}

// keyed tells whether a vertex gets each record by its key. An exchange of all with all that does not lead to one subtask goes by
// keys.
func keyed(v *msg.VertexDetails) bool {
	return v.Parallelism > 1 && slices.ContainsFunc(v.Inputs, func(in msg.VertexInput) bool { return in.Pattern == jobgraph.AllToAll })
}

// longestName bounds the name of a vertex in a sentence, in characters: the names of chains are long.
const longestName = 40

// named quotes the name of a vertex.
func named(name string) string {
	if utf8.RuneCountInString(name) > longestName {
		name = string([]rune(name)[:longestName-1]) + "…"
	}
	return "“" + name + "”"
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// othersOf names all subtasks but one.
func othersOf(subtasks int) string {
	if subtasks == 2 {
		return "the other one"
	}
	return "the others"
}

// ofAll names a subtask: "subtask 3 of 4".
func ofAll(subtask, parallelism int) string {
	return fmt.Sprintf("subtask %d of %d", subtask+1, parallelism)
}
