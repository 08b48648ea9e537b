package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTheWordCountIsJudgedByItsGoals would catch a ratio of other columns, a Flink that is not the best one, and a missed goal
// without a mark.
func TestTheWordCountIsJudgedByItsGoals(t *testing.T) {
	t.Parallel()
	runs := func(took, cpu time.Duration) []heavy {
		return []heavy{{
			command: usage{Wall: took + time.Second, CPU: time.Second / 2}, took: took, cpu: cpu,
			peak: resident{RSS: 3 << 20, PSS: 2 << 20}, written: 1 << 20,
		}}
	}
	w := words{
		bytes:    1e9,
		bobbin:   contestant{name: "Bobbin", runs: runs(8*time.Second, 10*time.Second)},
		flink:    contestant{name: "Flink", runs: runs(40*time.Second, 80*time.Second)},
		combined: contestant{name: "Flink, combined", runs: runs(20*time.Second, 40*time.Second)},
		hand:     contestant{name: "by hand", runs: []heavy{{took: 4 * time.Second, cpu: 8 * time.Second}}},
		reading:  contestant{name: "HDFS alone", runs: []heavy{{took: time.Second, cpu: 2 * time.Second}}},
	}
	var got table
	w.rows(&got)
	want := table{
		head: []string{"measured", "to reach", "reached", "Bobbin", "Flink", "Flink, combined", "by hand", "HDFS alone"},
		rows: [][]string{
			{"time of the command", "", "", "9.00 s", "41.00 s", "21.00 s"},
			{"time of the job", "", "", "8.00 s", "40.00 s", "20.00 s", "4.00 s", "1.00 s"},
			{"speed of the job", "100 MB/s", "", "125 MB/s", "25 MB/s", "50 MB/s", "250 MB/s", "1000 MB/s"},
			{"processor time of the job", "1.05 × by hand and HDFS", "1.00 ×", "10.00 s", "80.00 s", "40.00 s", "8.00 s", "2.00 s"},
			{"processor time of the command", "", "", "0.50 s", "0.50 s", "0.50 s"},
			{
				"**bytes for a second of processor time**", "**7 × Flink's best**", "**4.00 ×**", "**100.0 MB**", "**12.5 MB**", "**25.0 MB**",
				"**125.0 MB**", "**500.0 MB**",
			},
			{"peak memory, RSS", "", "", "3.0 MiB", "3.0 MiB", "3.0 MiB"},
			{"peak memory, PSS", "", "", "2.0 MiB", "2.0 MiB", "2.0 MiB"},
			{"written to disks", "", "", "1.0 MiB", "1.0 MiB", "1.0 MiB"},
		},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(table{})); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	w.flink.runs, w.combined.runs = nil, nil
	var alone table
	w.rows(&alone)
	if diff := cmp.Diff([]string{"bytes for a second of processor time", "7 × Flink's best", "", "100.0 MB", "", "", "125.0 MB", "500.0 MB"}, alone.rows[5]); diff != "" {
		t.Errorf("without Flink (-want +got):\n%s", diff)
	}
}

// TestTheTimeOfAJobIsRead would catch the time of another line, and an output without a time that counts as 0 s.
func TestTheTimeOfAJobIsRead(t *testing.T) {
	t.Parallel()
	const flinks = "Job has been submitted with JobID 5d\nProgram execution finished\nJob with JobID 5d has finished.\nJob Runtime: 41250 ms\n"
	if got, err := (batchFlink{}).duration([]byte(flinks)); err != nil || got != 41250*time.Millisecond {
		t.Errorf("of Flink: %v, %v", got, err)
	}
	if got, err := (batchFlink{}).duration([]byte("Job has been submitted")); !errors.Is(err, errNoRuntime) {
		t.Errorf("of no Flink: %v, %v", got, err)
	}
	if got, err := (batchBobbin{}).duration([]byte("{}\n{\"durationMs\":7}\n")); err != nil || got != 7*time.Millisecond {
		t.Errorf("of Bobbin: %v, %v", got, err)
	}
	if got, err := (batchBobbin{}).duration(nil); err == nil {
		t.Errorf("of no Bobbin: %v", got)
	}
}

// TestCountsAreCompared would catch a system that is fast because it counts only a part of the text.
func TestCountsAreCompared(t *testing.T) {
	t.Parallel()
	if got, err := sumCounts([]byte("a\t3\nb\t40\n")); err != nil || got != 43 {
		t.Errorf("%d, %v, want 43", got, err)
	}
	for _, text := range []string{"a\n", "a\tx\n", "\n"} {
		if got, err := sumCounts([]byte(text)); err == nil {
			t.Errorf("%q counts as %d", text, got)
		}
	}
	var w words
	if err := errors.Join(w.check(43, nil), w.check(43, nil)); err != nil {
		t.Error(err)
	}
	if err := w.check(42, nil); !errors.Is(err, errCounts) {
		t.Errorf("42 after 43: %v", err)
	}
}
