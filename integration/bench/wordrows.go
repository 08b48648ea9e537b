package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// The goals of the word count.
const (
	speedGoal = 100e6 // bytes a second
	handGoal  = 1.05  // times the processor time of counting by hand and of reading HDFS
	flinkGoal = 7     // times the bytes for a second of processor time that Flink's best counts
)

// rows writes the table: a row for each measured thing, a column for each that counts.
func (w *words) rows(t *table) {
	onYARN := []contestant{w.bobbin, w.flink, w.combined}
	all := slices.Concat(onYARN, []contestant{w.hand, w.reading})
	t.head = []string{"measured", "to reach", "reached"}
	for _, c := range all {
		t.head = append(t.head, c.name)
	}
	speed := func(h heavy) float64 { return float64(w.bytes) / h.took.Seconds() }
	efficiency := func(h heavy) float64 { return float64(w.bytes) / h.cpu.Seconds() }
	spent := func(h heavy) time.Duration { return h.cpu }
	middle := func(c contestant) time.Duration { return median(pick(c.runs, spent)) }

	t.row(cellsOf("time of the command", onYARN, func(h heavy) time.Duration { return h.command.Wall }, seconds)...)
	t.row(cellsOf("time of the job", all, func(h heavy) time.Duration { return h.took }, seconds)...)
	t.reach(median(pick(w.bobbin.runs, speed)) >= speedGoal, perSecond(speedGoal), "", cellsOf("speed of the job", all, speed, perSecond))
	share := middle(w.bobbin).Seconds() / (middle(w.hand) + middle(w.reading)).Seconds()
	t.reach(share <= handGoal, fmt.Sprintf("%v × by hand and HDFS", handGoal), ratioOf(share), cellsOf("processor time of the job", all, spent, seconds))
	t.row(cellsOf("processor time of the command", onYARN, func(h heavy) time.Duration { return h.command.CPU }, seconds)...)
	goal, reached, met := fmt.Sprintf("%v × Flink's best", flinkGoal), "", true
	if best := w.flinksBest(efficiency); best > 0 {
		share := median(pick(w.bobbin.runs, efficiency)) / best
		reached, met = ratioOf(share), share >= flinkGoal
	}
	t.reach(met, goal, reached, cellsOf("bytes for a second of processor time", all, efficiency, perCPUSecond))
	t.row(cellsOf("peak memory, RSS", onYARN, func(h heavy) int64 { return h.peak.RSS }, megabytes)...)
	t.row(cellsOf("peak memory, PSS", onYARN, func(h heavy) int64 { return h.peak.PSS }, megabytes)...)
	t.row(cellsOf("written to disks", onYARN, func(h heavy) int64 { return h.written }, megabytes)...)
}

// flinksBest returns the better median of both programs of Flink; 0 without Flink.
func (w *words) flinksBest(of func(heavy) float64) (best float64) {
	for _, c := range []contestant{w.flink, w.combined} {
		if len(c.runs) > 0 {
			best = max(best, median(pick(c.runs, of)))
		}
	}
	return best
}

// cellsOf makes a row without a goal.
func cellsOf[V cmp.Ordered](what string, columns []contestant, of func(heavy) V, format func(V) string) []string {
	cells := []string{what, "", ""}
	for _, c := range columns {
		cells = append(cells, spreadOver(c.runs, of, format))
	}
	return cells
}

// reach writes a row with a goal. It is bold if it misses the goal.
func (t *table) reach(met bool, goal, reached string, cells []string) {
	cells[1], cells[2] = goal, reached
	if !met {
		cells = bold(cells)
	}
	t.row(cells...)
}

func ratioOf(ratio float64) string { return fmt.Sprintf("%.2f ×", ratio) }

func perCPUSecond(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/1e6) }
