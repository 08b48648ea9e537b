package rest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// skewed are the subtasks of a vertex of which one reads most. All are measured but the last one.
func skewed(records ...int64) []msg.Subtask {
	all := make([]msg.Subtask, len(records))
	for i, n := range records {
		all[i] = msg.Subtask{TaskAttempt: msg.TaskAttempt{State: msg.ExecutionRunning, Resource: ids.ResourceID(fmt.Sprint("w", i/2)), Traffic: msg.Traffic{ReadRecords: n}}}
		if i < len(records)-1 {
			all[i].Sample = sampleOf(0.5, 0.25*float64(i))
			all[i].Sample.Until.ReadRecords = 60 * n
		}
	}
	return all
}

// TestAVertexIsSummedUp would catch a page that names the wrong subtask as the one with most of the work, means that count tasks
// which were not measured, and rates of one task instead of all.
func TestAVertexIsSummedUp(t *testing.T) {
	t.Parallel()
	var v restapi.VertexSummary
	summarize(&v, skewed(1000, 2000, 90_000, 3000))
	answer := verticesOf(&msg.JobDetails{Vertices: []msg.VertexDetails{{Parallelism: 4}}}, []restapi.VertexSummary{v}, time.Now())
	if want := (restapi.SubtaskSpread{Subtask: 2, Most: 90_000, Median: 2500, Sum: 96_000, Usual: 2500, Outlier: 7500}); v.Spread.ReadRecords != want {
		t.Errorf("records are spread as %+v, want %+v", v.Spread.ReadRecords, want)
	}
	if v.Activity == nil || v.Activity.Tasks != 3 || v.Activity.Idle != 0.5 || v.Activity.BackPressured != 0.25 {
		t.Fatalf("activity %+v", v.Activity)
	}
	if want := (restapi.SubtaskShare{Subtask: 2, Share: 0.5}); v.Activity.MostBackPressured != want {
		t.Errorf("most back-pressured: %+v, want %+v", v.Activity.MostBackPressured, want)
	}
	if want := (restapi.SubtaskShare{Subtask: 0, Share: 0.5}); v.Activity.MostBusy != want {
		t.Errorf("most busy: %+v, want %+v", v.Activity.MostBusy, want)
	}
	if v.Rates.ReadRecords != 93_000 {
		t.Errorf("%v records in a second, want 93000", v.Rates.ReadRecords)
	}
	if skew := answer.Vertices[0].Skew; skew == nil || skew.Subtask != 2 {
		t.Errorf("skew %+v, want that of subtask 2", skew)
	}
}

// TestSplitsInTheMiddleAreProgress would catch a bar that stands still while large splits are read, one beyond its end, and one that
// goes back when a later ApplicationMaster knows no bytes of a vertex that has finished.
func TestSplitsInTheMiddleAreProgress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		splits  msg.SplitProgress
		traffic int64
		want    restapi.SplitProgress
		done    float64
	}{
		{msg.SplitProgress{All: 16, Bytes: 1000}, 250, restapi.SplitProgress{All: 16, ReadBytes: 250, AllBytes: 1000}, 0.25},
		{msg.SplitProgress{Read: 15, All: 16, Bytes: 1000}, 1200, restapi.SplitProgress{Read: 15, All: 16, ReadBytes: 1000, AllBytes: 1000}, 1},
		{msg.SplitProgress{Read: 16, All: 16, Bytes: 1000}, 0, restapi.SplitProgress{Read: 16, All: 16, ReadBytes: 1000, AllBytes: 1000}, 1},
		{msg.SplitProgress{Read: 4, All: 16}, 250, restapi.SplitProgress{Read: 4, All: 16}, 0.25},
	} {
		got := splitsOf(&msg.VertexDetails{Splits: c.splits, Traffic: msg.Traffic{ReadBytes: c.traffic}})
		if *got != c.want || got.Done() != c.done {
			t.Errorf("%+v with %d bytes: %+v, done %v; want %+v, %v", c.splits, c.traffic, *got, got.Done(), c.want, c.done)
		}
	}
}

// TestTimesInWordsNameTheirZone would catch a time of another day that looks like one of today, and a form that the page does not
// find: web/src/lib/words.test.ts has the same texts.
func TestTimesInWordsNameTheirZone(t *testing.T) {
	t.Parallel()
	clock := clockOf(time.Date(2026, 11, 30, 9, 30, 0, 0, time.FixedZone("", 3600)))
	for at, want := range map[time.Time]string{
		time.Date(2026, 11, 30, 5, 12, 47, 0, time.FixedZone("", 7200)): "03:12:47 UTC",
		time.Date(2026, 11, 28, 23, 12, 47, 0, time.UTC):                "28 Nov 2026 23:12:47 UTC",
	} {
		if got := clock(at); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}

// TestAJobWithoutItsSubtasksHasAPage would catch an error instead of the vertices of a large job that has ended, and a failure
// of the JobMaster that looks like such a job.
func TestAJobWithoutItsSubtasksHasAPage(t *testing.T) {
	t.Parallel()
	job := msg.JobDetails{Restarts: 2, Vertices: []msg.VertexDetails{{ID: "v", Splits: msg.SplitProgress{Read: 4, All: 4}}}}
	answering := func(err error) subtasksOf {
		return func(string) (msg.VertexSubtasks, error) { return msg.VertexSubtasks{}, err }
	}
	vertices, err := jobVerticesOf(job, answering(msg.ErrSubtasksGone), time.Now())
	if err != nil || vertices.Restarts != 2 || vertices.Vertices[0].Spread != nil || vertices.Vertices[0].Splits.Read != 4 {
		t.Errorf("vertices %+v, error %v", vertices, err)
	}
	timeline, err := jobTimelineOf(job, answering(msg.ErrSubtasksGone), time.Now())
	if err != nil || len(timeline.Vertices) != 1 {
		t.Errorf("time line %+v, error %v", timeline, err)
	}
	lost := errors.New("no answer")
	_, first := jobVerticesOf(job, answering(lost), time.Now())
	_, second := jobTimelineOf(job, answering(lost), time.Now())
	if !errors.Is(first, lost) || !errors.Is(second, lost) {
		t.Errorf("without an answer of the JobMaster: errors %v, %v", first, second)
	}
}
