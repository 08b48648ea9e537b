package diagnosis

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// task is a vertex of a test. Shares are parts of the time.
type task struct {
	name        string
	parallelism int
	busy, most  float64 // the mean, and the busiest subtask, which is the last one
	pressed     float64 // the mean; the first subtask waits a tenth longer
	inputs      []string
}

// answer is a job that runs, with what its tasks do.
func answer(tasks ...task) (msg.JobDetails, []restapi.VertexSummary) {
	d := msg.JobDetails{Status: msg.JobRunning}
	var summaries []restapi.VertexSummary
	for _, t := range tasks {
		v := msg.VertexDetails{ID: "id of " + t.name, Name: t.name, Parallelism: t.parallelism}
		for _, input := range t.inputs {
			v.Inputs = append(v.Inputs, msg.VertexInput{Vertex: "id of " + input})
		}
		d.Vertices = append(d.Vertices, v)
		summary := restapi.VertexSummary{ID: v.ID}
		if t.parallelism > 0 {
			summary.Activity = &restapi.VertexActivity{
				Tasks: t.parallelism, Busy: t.busy, BackPressured: t.pressed,
				MostBusy: restapi.SubtaskShare{Subtask: t.parallelism - 1, Share: t.most}, MostBackPressured: restapi.SubtaskShare{Share: 1.1 * t.pressed},
			}
		}
		summaries = append(summaries, summary)
	}
	return d, summaries
}

// TestTheSlowVertexIsNamed would catch blame for a vertex that only waits for another one, skew that a mean hides, and
// words about a job that has nothing to do.
func TestTheSlowVertexIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tasks []task
		want  string
	}{
		"one key has most of the work": {
			[]task{{"read", 4, 0.3, 0.4, 0.6, nil}, {"count", 4, 0.28, 0.98, 0, []string{"read"}}},
			"Slow at “count”: subtask 4 of 4 is now busy 98 % of the time, the others 5 %: the work is not spread equally. “read” is back-pressured by it 60 % of the time.",
		},
		"the last of three": {
			[]task{{"read", 2, 0.1, 0.1, 0.9, nil}, {"parse", 2, 0.2, 0.3, 0.7, []string{"read"}}, {"write", 1, 0.95, 0.95, 0, []string{"parse"}}},
			"Slow at “write”: its task is now busy 95 % of the time. “parse” is back-pressured by it 70 % of the time.",
		},
		"the one in the middle works, too, but waits for the last": {
			[]task{{"read", 2, 0.1, 0.1, 0.9, nil}, {"parse", 2, 0.6, 0.7, 0.4, []string{"read"}}, {"write", 2, 0.9, 0.95, 0, []string{"parse"}}},
			"Slow at “write”: its 2 tasks are now busy 90 % of the time. “parse” is back-pressured by it 40 % of the time.",
		},
		"a little back-pressure of the slow vertex does not hide it": {
			[]task{{"read", 2, 0.1, 0.1, 0.9, nil}, {"parse", 2, 0.85, 0.88, 0.12, []string{"read"}}, {"write", 2, 0.5, 0.55, 0, []string{"parse"}}},
			"Slow at “parse”: its 2 tasks are now busy 85 % of the time. “read” is back-pressured by it 90 % of the time.",
		},
		"the busiest is a source that waits": {
			[]task{{"read", 2, 0.7, 0.95, 0.2, nil}, {"count", 2, 0.65, 0.8, 0, []string{"read"}}},
			"Slow at “count”: its 2 tasks are now busy 65 % of the time, the busiest one 80 %. “read” is back-pressured by it 20 % of the time.",
		},
		"of two inputs one waits": {
			[]task{{"left", 1, 0.2, 0.2, 0, nil}, {"right", 1, 0.3, 0.3, 0.6, nil}, {"join", 1, 1, 1, 0, []string{"left", "right"}}},
			"Slow at “join”: its task is now busy 100 % of the time. “right” is back-pressured by it 60 % of the time.",
		},
		"nobody waits": {
			[]task{{"read", 2, 0.9, 0.92, 0, nil}, {"count", 2, 0.2, 0.3, 0, []string{"read"}}},
			"Busiest is “read”: its 2 tasks are now busy 90 % of the time.",
		},
		"a name of another": {
			[]task{{strings.Repeat("länger ", 20), 1, 1, 1, 0, nil}},
			"Busiest is “länger länger länger länger länger läng…”: its task is now busy 100 % of the time.",
		},
		"nobody works much":                        {[]task{{"read", 2, 0.1, 0.2, 0, nil}}, ""},
		"it waits for a vertex that does little":   {[]task{{"read", 2, 0.1, 0.2, 0.5, nil}, {"count", 2, 0.1, 0.1, 0, []string{"read"}}}, ""},
		"nothing is measured":                      {[]task{{name: "read"}}, ""},
		"an input that is not a vertex of the job": {[]task{{"count", 1, 0.9, 0.9, 0, []string{"nowhere"}}}, "Busiest is “count”: its task is now busy 90 % of the time."},
	} {
		d, summaries := answer(c.tasks...)
		got := ""
		if slow := Judge(&d, summaries, time.Time{}); slow != nil {
			got = slow.Words
			if !strings.HasPrefix(got, slow.Brief+".") {
				t.Errorf("%s: in short %q, but %q", name, slow.Brief, got)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestTheMostBackPressuredSubtaskIsNotAll would catch a producer that seems to be back-pressured for most of the time, because one
// of its subtasks is; and words with another number than the graph has beside the same vertex.
func TestTheMostBackPressuredSubtaskIsNotAll(t *testing.T) {
	t.Parallel()
	d, summaries := answer(task{"read", 4, 0.3, 0.4, 0.1, nil}, task{"count", 1, 0.98, 0.98, 0, []string{"read"}})
	summaries[0].Activity.MostBackPressured.Share = 0.4
	if got, want := Judge(&d, summaries, time.Time{}).Words, "Slow at “count”: its task is now busy 98 % of the time. “read” is back-pressured by it 10 % of the time, its subtask 1 of 4 40 %."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTheSlowVertexHasItsNumbers would catch a page that marks another vertex or subtask than its words name, and a slow job
// that has ended.
func TestTheSlowVertexHasItsNumbers(t *testing.T) {
	t.Parallel()
	d, summaries := answer(task{"read", 4, 0.3, 0.4, 0.5, nil}, task{"count", 4, 0.28, 0.98, 0, []string{"read"}})
	got := Judge(&d, summaries, time.Time{})
	want := &restapi.SlowVertex{
		Vertex: "id of count", Subtask: 3, Busy: 0.98, Mean: 0.28, Alone: true, Brief: got.Brief, Words: got.Words,
		Waits: &restapi.WaitingVertex{Vertex: "id of read", Subtask: 0, Share: 0.55},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slow (-want +got):\n%s", diff)
	}
	for _, status := range []msg.JobStatus{msg.JobFinished, msg.JobRestarting, msg.JobCancelling} {
		if d.Status = status; Judge(&d, summaries, time.Time{}) != nil {
			t.Errorf("a job that is %s is slow", status)
		}
	}
}

// TestTheLastSubtasksOfAVertexAreSlow would catch a straggler that is called four busy tasks, because only it is measured.
func TestTheLastSubtasksOfAVertexAreSlow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		measured, finished int
		busy, most         float64
		want               string
		alone              bool
	}{
		{1, 3, 0.98, 0.98, "subtask 2 of 4 is now busy 98 % of the time, and is the last one that works", true},
		{1, 0, 0.98, 0.98, "subtask 2 of 4 is now busy 98 % of the time, and is the only one that runs", false},
		{2, 2, 0.9, 0.95, "2 of its 4 tasks run, and are now busy 90 % of the time", false},
		{2, 2, 0.5, 0.98, "subtask 2 of 4 is now busy 98 % of the time, the other one 2 %: the work is not spread equally", true},
		{4, 0, 0.7, 0.98, "its 4 tasks are now busy 70 % of the time, the busiest one 98 %", false},
		{4, 0, 0.1, 0.6, "subtask 2 of 4 is now busy 60 % of the time, the others 0 %: the work is not spread equally", true}, // measured a moment apart
	} {
		v := msg.VertexDetails{Parallelism: 4, Tasks: map[msg.ExecutionState]int{msg.ExecutionFinished: c.finished}}
		a := restapi.VertexActivity{Tasks: c.measured, Busy: c.busy, MostBusy: restapi.SubtaskShare{Subtask: 1, Share: c.most}}
		if words, alone := loadOf(&v, &a); words != c.want || alone != c.alone {
			t.Errorf("%+v: %q, alone %v", c, words, alone)
		}
	}
}

// TestTheCauseIsAKey would catch words that do not name the key whose records one subtask has, that blame a key of a vertex without
// keys, and that are sure of a key although another subtask has most of the records.
func TestTheCauseIsAKey(t *testing.T) {
	t.Parallel()
	const load = "subtask 4 of 4 is now busy 98 % of the time, the others 5 %: the work is not spread equally"
	for name, c := range map[string]struct {
		pattern jobgraph.Pattern
		subtask int // has most of the records
		most    int64
		want    string
	}{
		"it has the records":           {jobgraph.AllToAll, 3, 90_000, "Slow at “count”, because of a skewed key: " + load},
		"it has heavy records":         {jobgraph.AllToAll, 3, 30, "Slow at “count”, perhaps because of a skewed key: " + load},
		"another one has them":         {jobgraph.AllToAll, 1, 90_000, "Slow at “count”, perhaps because of a skewed key: " + load},
		"the exchange goes not by key": {jobgraph.Pointwise, 3, 90_000, "Slow at “count”: " + load},
	} {
		d, summaries := answer(task{"read", 4, 0.3, 0.4, 0.5, nil}, task{"count", 4, 0.28, 0.98, 0, []string{"read"}})
		d.Vertices[1].Inputs[0].Pattern = c.pattern
		summaries[1].Spread = &restapi.VertexSpread{ReadRecords: restapi.SubtaskSpread{Subtask: c.subtask, Most: c.most, Median: 10, Sum: c.most + 30}}
		if got := Judge(&d, summaries, time.Time{}).Brief; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestAFailureIsTrouble would catch a page and a terminal without the cause of a failure, and ones that ask for the cause of nothing.
func TestAFailureIsTrouble(t *testing.T) {
	t.Parallel()
	for status, want := range map[msg.JobStatus]bool{
		msg.JobRunning: false, msg.JobFinished: false, msg.JobCanceled: false, msg.JobFailing: true, msg.JobFailed: true, msg.JobRestarting: true,
	} {
		if got := Troubled(&msg.JobDetails{Status: status}); got != want {
			t.Errorf("%s: %v", status, got)
		}
		if !Troubled(&msg.JobDetails{Status: status, Restarts: 1}) {
			t.Errorf("%s after a restart", status)
		}
	}
}
