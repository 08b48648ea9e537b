package live

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// measured is a vertex whose tasks are busy and wait for their readers for these shares of the time.
func measured(name string, tasks int, busy, most, pressed float64, inputs ...string) Vertex {
	return Vertex{
		ID: name, Name: name, Status: msg.ExecutionRunning, Parallelism: tasks, Inputs: inputs, Measured: true,
		Activity: restapi.VertexActivity{
			Tasks: tasks, Busy: busy, BackPressured: pressed,
			MostBusy: restapi.SubtaskShare{Subtask: tasks - 1, Share: most}, MostBackPressured: restapi.SubtaskShare{Share: pressed},
		},
	}
}

// TestAnswersAreJoinedById would catch numbers of one vertex that are shown for another, and a job of an earlier release
// that is not shown at all, and a job that has ended and is slow nevertheless.
func TestAnswersAreJoinedById(t *testing.T) {
	t.Parallel()
	details := restapi.JobDetailsInfo{
		ID: "1", Name: "words", State: msg.JobRunning, StartTime: 1000, EndTime: -1, Now: 61_000,
		Vertices: []restapi.VertexInfo{
			{ID: "a", Name: "read", Parallelism: 2, Tasks: map[msg.ExecutionState]int{msg.ExecutionFinished: 1}, Metrics: restapi.IOMetrics{ReadBytes: 7, WriteRecords: 3}},
			{ID: "b", Name: "count", Parallelism: 2, Status: msg.ExecutionFinished},
		},
		Plan: restapi.JobPlan{Nodes: []restapi.PlanNode{{ID: "b", Inputs: []restapi.PlanInput{{ID: "a"}}}}},
	}
	activity := restapi.JobVertices{Restarts: 3, Slow: &restapi.SlowVertex{Words: "Busiest is “read”."}, Vertices: []restapi.VertexSummary{
		{ID: "b"},
		{ID: "a", Splits: &restapi.SplitProgress{Read: 1, All: 4}, Activity: &restapi.VertexActivity{Tasks: 2, Busy: 0.5}, Rates: &restapi.VertexRates{WriteRecords: 10, ReadRecords: 1}},
	}}
	job := JobOf(details, activity)
	a, b := job.Vertices[0], job.Vertices[1]
	if !a.Source() || b.Source() || !a.Measured || b.Measured || a.Rate() != 10 || a.Read.Bytes != 7 || a.Written.Records != 3 || job.Restarts != 3 || job.Lasts() != time.Minute {
		t.Errorf("job %+v", job)
	}
	if job.Slow != "Busiest is “read”." {
		t.Errorf("slow: %q", job.Slow)
	}
	if a.Done() != 0.25 || b.Done() != 1 {
		t.Errorf("done: %v and %v", a.Done(), b.Done())
	}
	earlier := JobOf(details, restapi.JobVertices{})
	if v := earlier.Vertices[0]; v.Measured || v.Done() != 0.5 || v.Rate() != 0 {
		t.Errorf("of an earlier release: %+v", v)
	}
	details.State, details.EndTime = msg.JobFinished, 31_000
	if got := JobOf(details, activity).Slow; got != "" {
		t.Errorf("a job that has ended: %q", got)
	}
	if got := JobOf(details, activity).Lasts(); got != 30*time.Second {
		t.Errorf("it lasted %v", got)
	}
}

// TestACauseIsLookedForInCaseOfDoubt would catch a restart or a failure without its cause, because an ApplicationMaster of an earlier
// release does not say that tasks have failed; and a question about each job that nothing has failed in.
func TestACauseIsLookedForInCaseOfDoubt(t *testing.T) {
	t.Parallel()
	const answered = 61_000
	for _, c := range []struct {
		state    msg.JobStatus
		activity restapi.JobVertices
		want     bool
	}{
		{msg.JobRunning, restapi.JobVertices{Now: answered}, false},
		{msg.JobRunning, restapi.JobVertices{Now: answered, Troubled: true}, true},
		{msg.JobRunning, restapi.JobVertices{Now: answered, Restarts: 1}, true},
		{msg.JobRunning, restapi.JobVertices{}, true}, // no answer
		{msg.JobRestarting, restapi.JobVertices{Now: answered}, true},
		{msg.JobFailed, restapi.JobVertices{Now: answered}, true},
	} {
		if got := JobOf(restapi.JobDetailsInfo{State: c.state}, c.activity).Troubled; got != c.want {
			t.Errorf("%s with %+v: %v, want %v", c.state, c.activity, got, c.want)
		}
	}
}

// TestNumbersAreShort would catch a number that is too wide for its column, and one with a wrong unit.
func TestNumbersAreShort(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{Count(0), "0"},
		{Count(999), "999"},
		{Count(999.4), "999"},
		{Count(999.6), "1 k"},
		{Count(14_100), "14.1 k"},
		{Count(999_600), "1 M"},
		{Count(2e6), "2 M"},
		{Count(3.25e13), "32.5 T"},
		{Bytes(0), "0 B"},
		{Bytes(1023.9), "1 KB"},
		{Bytes(1536), "1.5 KB"},
		{Bytes(1 << 30), "1 GB"},
		{Bytes(150 << 20), "150 MB"},
		{PerSecond(1234), "1.2 k/s"},
		{Percent(0.995), "100 %"},
		{Percent(0.004), "0 %"},
		{Lasting(0), "0s"},
		{Lasting(-time.Hour), "0s"},
		{Lasting(59*time.Second + 900*time.Millisecond), "59s"},
		{Lasting(200 * time.Second), "3m20s"},
		{Lasting(2*time.Hour + 13*time.Minute), "2h13m"},
		{Lasting(102 * time.Hour), "4d6h"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Float64Range(0, 1e15).Draw(t, "n")
		if text := Count(n); len(text) > len("999.9 k") {
			t.Errorf("%v is %q", n, text)
		}
	})
}

// TestARowHasTheWidthOfItsList would catch a row that is wider than the screen, columns above others, and a bar that is
// longer than the whole.
func TestARowHasTheWidthOfItsList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(38, 200).Draw(t, "width")
		v := measured(rapid.StringN(0, 60, 200).Draw(t, "name"), rapid.IntRange(1, 9999).Draw(t, "tasks"),
			rapid.Float64Range(0, 1.2).Draw(t, "busy"), 1, rapid.Float64Range(0, 1.2).Draw(t, "pressed"))
		v.Splits = restapi.SplitProgress{Read: 1234, All: 99999}
		v.Rates.WriteRecords = rapid.Float64Range(0, 1e9).Draw(t, "rate")
		p := canvas.New(width+10, 2)
		l := VertexLayout(width)
		l.Titles(p, 0, 0)
		v.Draw(p, l, 0, 1)
		for line := range strings.Lines(p.String()) {
			if cells := terminal.Cells(strings.TrimRight(line, "\n")); cells > width {
				t.Errorf("%d of %d cells: %q", cells, width, line)
			}
		}
	})
}

// TestRecordsHaveTheirOwnBytes would catch a filter whose records are those that it reads, and whose bytes are those that it writes.
func TestRecordsHaveTheirOwnBytes(t *testing.T) {
	t.Parallel()
	rates := restapi.VertexRates{ReadRecords: 1, ReadBytes: 2 << 10, WriteRecords: 3, WriteBytes: 4 << 10}
	source, filter := measured("read", 1, 0, 0, 0), measured("filter", 1, 0, 0, 0, "read")
	for want, v := range map[string]Vertex{"3/s 4 KB/s": source, "1/s 2 KB/s": filter} {
		v.Rates = rates
		p := canvas.New(100, 1)
		v.Draw(p, VertexLayout(100), 0, 0)
		if got := strings.Join(strings.Fields(p.String()), " "); !strings.Contains(got, want) {
			t.Errorf("%s: no %q in %q", v.Name, want, got)
		}
	}
}

// TestAVertexThatHasEndedIsNotBusy would catch a full bar of time at a finished vertex: without colours its tasks seem to work.
func TestAVertexThatHasEndedIsNotBusy(t *testing.T) {
	t.Parallel()
	v := Vertex{Name: "write", Status: msg.ExecutionFinished, Parallelism: 2, Tasks: map[msg.ExecutionState]int{msg.ExecutionFinished: 2}}
	p := canvas.New(120, 1)
	v.Draw(p, VertexLayout(120), 0, 0)
	if got := strings.Join(strings.Fields(p.String()), " "); got != "write 2/2 FINISHED" {
		t.Errorf("it has %q", got)
	}
}

// TestBarsCanBeReadWithoutColours would catch a bar whose parts look the same, and work that is not seen at all.
func TestBarsCanBeReadWithoutColours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		busy, pressed float64
		want          string
	}{
		{0, 0, "··········"}, {0.5, 0.3, "█████▒▒▒··"}, {1, 0, "██████████"}, {0.02, 0.02, "█▒········"}, {0.9, 0.4, "█████████▒"}, {0.001, 0, "··········"},
	} {
		p := canvas.New(10, 1)
		DrawBar(p, 0, 0, 10, Busy(c.busy), Pressured(c.pressed))
		if diff := cmp.Diff(c.want+"\n", p.String()); diff != "" {
			t.Errorf("%v and %v (-want +got):\n%s", c.busy, c.pressed, diff)
		}
	}
}
