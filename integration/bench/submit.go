package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
)

const (
	submitRuns = 5
	// longRuns and uploadRuns are the numbers of runs for measurements that take Flink half a
	// minute each, or that repeat one beside another Flink.
	longRuns   = 2
	uploadRuns = 1
	// noMark stands for a ratio without a goal.
	noMark = 0
)

// submissions measures the time between a user's command and the job, beside Flink if it is there.
func submissions(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "Submission, beside Flink",
		text: fmt.Sprintf("WordCount of three lines on HDFS with one worker, in the modes of Flink on YARN. Bobbin and Flink run in turns, "+
			"%d times. They run %d times in application mode and for *Flink tuned*, and once for the job that is not cached. A time runs from the "+
			"start of the command to its end. In application mode, whose commands do not wait for the job, it runs to the "+
			"end of the application as YARN reports it. A session is ready when its command says so. Its first job waits for "+
			"a worker, and the next job finds this worker idle. *Cached* means that the job uploads nothing but itself: another "+
			"application has put Bobbin's programs on HDFS, and Flink's libraries are there too (`yarn.provided.lib.dirs`). "+
			"Flink has the options of its own `config.yaml` and runs without its shell scripts, so their time does not "+
			"count. In *Flink tuned*, the processes compile less and collect garbage in one thread (`-XX:TieredStopAtLevel=1 "+
			"-XX:+UseSerialGC`), and Flink asks YARN for containers as often as Bobbin does. The memory of a client is the "+
			"most that its process holds. The memory of an ApplicationMaster is its memory after the session's two jobs. A "+
			"row in bold misses its goal.", submitRuns, longRuns),
		head: []string{"measured", "Bobbin", "Flink", "ratio", "to reach"},
	}
	input, err := r.threeLines(ctx)
	if err != nil {
		return t, err
	}
	of := rivals{bobbin: bobbin{r, input}}
	for range r.runs(warmUps) {
		if err := r.measure(ctx, of.bobbin, of.bobbin.perJob(), new([]usage)); err != nil {
			return t, err
		}
	}
	version := "not installed here"
	if r.flink != "" {
		if version, err = of.install(ctx, r, input); err != nil {
			return t, err
		}
	}
	t.text += " Flink is " + version + "."
	for i := range r.runs(submitRuns) {
		if err = of.round(ctx, r, i); err != nil { // the rows have the runs before
			break
		}
	}
	ours, theirs := of.ours, of.theirs
	t.compare("session ready", 0.3, ours.session, theirs.session)
	t.compare("job in a session, which starts a worker", 0.15, ours.cold, theirs.cold)
	t.compare("job in a session, which has a worker", 0.1, ours.warm, theirs.warm)
	t.compare("list the jobs of a session", 0.03, ours.list, theirs.list)
	t.compare("job of its own cluster, cached", 0.15, ours.perJob, theirs.perJob)
	t.compare("the same beside Flink tuned", 0.15, ours.perJob, of.tunedPerJob)
	t.compare("job of its own cluster, not cached", 0.15, ours.uploading, theirs.uploading)
	t.compare("application mode, cached", noMark, ours.application, theirs.application)
	t.compareMemory("memory of `run` in a session", 0.2, peaks(ours.warm), peaks(theirs.warm))
	t.compareMemory("memory of `run` with a cluster of its own", 0.2, peaks(ours.perJob), peaks(theirs.perJob))
	t.compareMemory("memory of `list`", 0.2, peaks(ours.list), peaks(theirs.list))
	t.compareMemory("memory of the session's ApplicationMaster", noMark, ours.masters, theirs.masters)
	return t, err
}

func peaks(runs []usage) []int64 {
	values := make([]int64, len(runs))
	for i, run := range runs {
		values[i] = run.Peak
	}
	return values
}

// compare writes a row with the times of both, and the ratio of their medians. The ratio is bold if
// it exceeds the goal.
func (t *table) compare(what string, toReach float64, ours, theirs []usage) {
	compared(t, what, toReach, times(ours), times(theirs), millis)
}

func (t *table) compareMemory(what string, toReach float64, ours, theirs []int64) {
	compared(t, what, toReach, ours, theirs, megabytes)
}

func times(runs []usage) []time.Duration {
	values := make([]time.Duration, len(runs))
	for i, run := range runs {
		values[i] = run.Wall
	}
	return values
}

func compared[T time.Duration | int64](t *table, what string, toReach float64, ours, theirs []T, format func(T) string) {
	if len(ours) == 0 { // the round has failed early
		return
	}
	cells := []string{what, spread(ours, format), "", "", ""}
	if toReach != noMark {
		cells[4] = strconv.FormatFloat(toReach, 'f', -1, 64)
	}
	if len(theirs) > 0 {
		ratio := float64(median(ours)) / float64(median(theirs))
		cells[2] = spread(theirs, format)
		cells[3] = strconv.FormatFloat(ratio, 'f', 3, 64)
		if toReach != noMark && ratio > toReach {
			cells = bold(cells)
		}
	}
	t.row(cells...)
}

func bold(cells []string) []string {
	marked := slices.Clone(cells)
	for i, cell := range cells {
		if cell != "" {
			marked[i] = "**" + cell + "**"
		}
	}
	return marked
}
