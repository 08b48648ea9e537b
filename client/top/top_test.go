package top

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/live"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/client/terminal/keyboard"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

const (
	clicks  = ids.JobID("11111111111111111111111111111111")
	waiting = ids.JobID("22222222222222222222222222222222")
	broken  = ids.JobID("33333333333333333333333333333333")
)

// noon is when the tests look.
func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local) }

// aLook is a session with a slow job, one that waits, and one that has failed.
func aLook() Look {
	at := noon()
	masters := at.Add(time.Hour) // its clock
	l := Look{
		At: at,
		Application: Application{
			ID: "application_1700000000000_0001", Attempt: 1, Version: "0.9.0", Workers: 2, Slots: 4, Running: 2, Finished: 1, Other: 1,
		},
		Jobs: []client.JobOverview{
			{ID: broken, Name: "broken", Status: msg.JobFailed, Start: masters.Add(-time.Hour), End: masters.Add(-59 * time.Minute), Lasts: time.Minute, Tasks: 2},
			{ID: clicks, Name: "clicks by user", Status: msg.JobRunning, Start: masters.Add(-2 * time.Minute), Lasts: 2 * time.Minute, Tasks: 9, Running: 9},
			{ID: waiting, Name: "每晚统计\x1b[2J", Status: msg.JobRunning, Start: masters.Add(-3 * time.Minute), Lasts: 3 * time.Minute, Tasks: 4},
		},
		Job: &live.Job{
			ID: clicks, Name: "clicks by user", Status: msg.JobRunning, Start: at.Add(-2 * time.Minute), Now: at,
			Slow: "Slow at “clicks of each user -> write text”: subtask 3 of 4 is busy 99 % of the time, the others 7 %: the work is not spread equally. “read text -> parse clicks -> clicks of …” waits for it 70 % of the time.",
			Vertices: []live.Vertex{
				{
					ID: "a", Name: "read text -> parse clicks -> clicks of each user (combine)", Status: msg.ExecutionRunning, Parallelism: 4, Measured: true,
					Splits: restapi.SplitProgress{Read: 12, All: 96}, Rates: restapi.VertexRates{WriteRecords: 14_100, WriteBytes: 1.2e6},
					Activity: restapi.VertexActivity{Tasks: 4, Busy: 0.3, BackPressured: 0.6, MostBusy: restapi.SubtaskShare{Share: 0.35}, MostBackPressured: restapi.SubtaskShare{Share: 0.7}},
				},
				{
					ID: "b", Name: "clicks of each user -> write text", Status: msg.ExecutionRunning, Parallelism: 4, Measured: true, Inputs: []string{"a"},
					Rates:    restapi.VertexRates{ReadRecords: 13_300, ReadBytes: 1.1e6},
					Activity: restapi.VertexActivity{Tasks: 4, Busy: 0.3, MostBusy: restapi.SubtaskShare{Subtask: 2, Share: 0.99}},
				},
				{ID: "c", Name: "write text (commit)", Status: msg.ExecutionScheduled, Parallelism: 1, Inputs: []string{"b"}},
			},
		},
		Workers: []Worker{
			{Worker: client.Worker{ID: "container_1700000000000_0001_01_000002", Node: "node1", Slots: 2, Memory: 1 << 30, Silent: 3 * time.Second}, Load: client.Load{Memory: 32 << 20, CPU: 0.25, Known: true}},
			{Worker: client.Worker{ID: "container_1700000000000_0001_01_000003", Node: "node2", Slots: 2, FreeSlots: 1, Memory: 1 << 30}},
		},
	}
	return l
}

// seen is the view after a look, on a screen of this size.
func seen(columns, lines int, keys ...keyboard.Key) Model {
	m := New("application_1700000000000_0001", noon())
	for _, e := range []Event{
		Sized{columns, lines},
		Reported{noon(), Report{Name: "nightly", Queue: "root.default", State: "RUNNING", Started: noon().Add(-133 * time.Minute)}},
		Looked{aLook()},
	} {
		m = Update(m, e)
	}
	return pressed(m, keys...)
}

func pressed(m Model, keys ...keyboard.Key) Model {
	for _, key := range keys {
		m = Update(m, Pressed{key})
	}
	return m
}

// TestDrawings would catch a view that no longer fits its screen, or hides what the user looks for. -rewrite writes the
// drawings anew.
func TestDrawings(t *testing.T) {
	opened := func(columns, lines int) Model {
		m := seen(columns, lines, keyboard.Tab, keyboard.Down, keyboard.Enter)
		l := aLook()
		l.Vertex = "b"
		for i := range 4 {
			busy := 0.08
			if i == 2 {
				busy = 0.99
			}
			l.Subtasks = append(l.Subtasks, Subtask{
				Index: i, State: msg.ExecutionRunning, Node: fmt.Sprintf("node%d", i%2+1), Read: live.Amount{Records: 293_000, Bytes: 22 << 20}, Lasts: 2 * time.Minute, Measured: true, Busy: busy,
			})
		}
		return Update(m, Looked{l})
	}
	trouble := func(columns, lines int) Model {
		m := seen(columns, lines, keyboard.Down)
		l := aLook()
		l.Job = &live.Job{ID: waiting, Name: "每晚统计\x1b[2J", Status: msg.JobRunning, Start: noon(), Now: noon(), Vertices: []live.Vertex{{ID: "x", Name: "read", Parallelism: 4}}}
		l.Waits, l.Cause = "waits for 3 slots of 1024 MB: 2 containers asked for since 11:57; the queue root.default has no room", "restarted: panic: division by zero"
		return Update(m, Looked{l})
	}
	for name, draw := range map[string]func(columns, lines int) Model{
		"application": func(columns, lines int) Model { return seen(columns, lines) },
		"subtasks":    opened,
		"waits":       trouble,
		"help":        func(columns, lines int) Model { return seen(columns, lines, "?") },
		"replaced": func(columns, lines int) Model {
			m := Update(seen(columns, lines), Missed{Words: "YARN says ACCEPTED, attempt 2", Replacing: true})
			return Update(m, Passed{noon().Add(7 * time.Second)})
		},
		"silent": func(columns, lines int) Model { // YARN does not answer, and a look at the ApplicationMaster takes long
			return Update(Update(seen(columns, lines), Unheard{}), Passed{noon().Add(30 * time.Second)})
		},
		"ended": func(columns, lines int) Model {
			return Update(seen(columns, lines), Over{State: "FINISHED", Words: "SUCCEEDED at 12:00:00 after 2h13m"})
		},
		"first": func(columns, lines int) Model {
			return Update(New("application_1700000000000_0001", noon()), Sized{columns, lines})
		},
		"filter": func(columns, lines int) Model { return seen(columns, lines, "/", "f", "a", "i", "s") },
	} {
		for _, size := range [][2]int{{40, 15}, {80, 24}, {120, 30}} {
			got := Draw(draw(size[0], size[1])).String()
			path := filepath.Join("testdata", fmt.Sprintf("%s-%d.txt", name, size[0]))
			if *rewrite {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
	}
}

// TestAPictureThatIsNotTrueIsGrey would catch an old state that looks like the present one, and a state that stays grey
// after the next master has answered.
func TestAPictureThatIsNotTrueIsGrey(t *testing.T) {
	const red, green = "\x1b[0;31m", "\x1b[0;32m"
	m := seen(80, 24)
	colours := func(m Model) string { return Draw(m).Changes(nil, true) }
	if text := colours(m); !strings.Contains(text, red) || !strings.Contains(text, green) {
		t.Fatalf("a live view has no colours: %q", text)
	}
	gone := Update(m, Missed{Words: "no answer"})
	if text := colours(gone); strings.Contains(text, red) || strings.Contains(text, green) || !strings.Contains(text, "no answer") {
		t.Errorf("an old view: %q", text)
	}
	if back := colours(Update(gone, Looked{aLook()})); back != colours(m) {
		t.Errorf("after the next answer: %q", back)
	}
}

// TestKeysChoose would catch a key that does something else, and a choice that another job changes.
func TestKeysChoose(t *testing.T) {
	job := func(m Model) ids.JobID { return m.Asks().Job }
	m := seen(80, 24)
	if job(m) != clicks {
		t.Errorf("at first it is %s", job(m))
	}
	for _, c := range []struct {
		keys []keyboard.Key
		want ids.JobID
	}{
		{[]keyboard.Key{"j"}, waiting},
		{[]keyboard.Key{keyboard.Down, keyboard.Down, keyboard.Down}, broken},
		{[]keyboard.Key{"G", "k"}, waiting},
		{[]keyboard.Key{keyboard.End, keyboard.Home}, clicks},
		{[]keyboard.Key{"s"}, broken}, // by name
		{[]keyboard.Key{"/", "b", "r", "o", keyboard.Enter}, broken},
		{[]keyboard.Key{"/", "n", "o", "n", "e", keyboard.Enter}, ""},
		{[]keyboard.Key{"/", "b", "r", keyboard.Escape}, clicks},
		{[]keyboard.Key{"/", "b", "r", "x", keyboard.Erase, keyboard.Enter}, broken},
		{[]keyboard.Key{"?", "j"}, clicks}, // any key ends the help
	} {
		if got := job(pressed(m, c.keys...)); got != c.want {
			t.Errorf("%q: job %q, want %q", c.keys, got, c.want)
		}
	}
	m = pressed(m, "j") // the second one
	l := aLook()
	l.Jobs = append(l.Jobs, client.JobOverview{ID: "44444444444444444444444444444444", Status: msg.JobRunning, Start: noon()})
	if m = Update(m, Looked{l}); job(m) != waiting {
		t.Errorf("a new job has changed the choice to %s", job(m))
	}
	m = pressed(m, keyboard.Up, keyboard.Tab, keyboard.Down, keyboard.Enter)
	if asks := m.Asks(); asks.Job != clicks || asks.Vertex != "b" {
		t.Errorf("opened: %+v", asks)
	}
	if m = pressed(m, keyboard.Escape, keyboard.Escape, "j"); m.Asks().Vertex != "" || job(m) != waiting {
		t.Errorf("after going back: %+v", m.Asks())
	}
	for _, quits := range [][]keyboard.Key{{"q"}, {"?", "q"}, {"p", "q"}} {
		if !pressed(m, quits...).Quit {
			t.Errorf("%q does not quit", quits)
		}
	}
	if pressed(m, "/", "q").Quit {
		t.Error("a letter of a filter quits")
	}
}

// TestLoadsOfOtherWorkersStay would catch memory that vanishes from the screen between two reports.
func TestLoadsOfOtherWorkersStay(t *testing.T) {
	m := seen(80, 24)
	l := aLook()
	l.Workers[0].Load = client.Load{}
	m = Update(m, Looked{l})
	if got := m.Workers[0].Load; !got.Known || got.Memory != 32<<20 {
		t.Errorf("load %+v", got)
	}
}

// TestTheEndOfALongFilterIsSeen would catch a user who does not see what the next key does.
func TestTheEndOfALongFilterIsSeen(t *testing.T) {
	m := seen(40, 15, "/")
	for range mostFilter / 2 {
		m = pressed(m, "每")
	}
	m = pressed(m, "x")
	if got := Draw(m).String(); !strings.HasSuffix(got, "每x▏\n") {
		t.Errorf("the last line of\n%s", got)
	}
}

// TestTheEndIsFinal would catch an ended application that seems to run again, because the last answers of YARN and of its
// ApplicationMaster come later.
func TestTheEndIsFinal(t *testing.T) {
	ended := Update(seen(80, 24), Over{State: "FINISHED", Words: "SUCCEEDED at 12:00:00 after 2h13m"})
	for _, late := range []Event{Looked{aLook()}, Missed{Words: "no answer"}, Unheard{}, Reported{noon(), Report{State: "RUNNING"}}} {
		if diff := cmp.Diff(Draw(ended).Changes(nil, true), Draw(Update(ended, late)).Changes(nil, true)); diff != "" {
			t.Errorf("after %T (-ended +now):\n%s", late, diff)
		}
	}
}

// TestRowsAreSortedOnce would catch 10,000 jobs that are sorted again for each key and each second.
func TestRowsAreSortedOnce(t *testing.T) {
	l := aLook()
	for i := range 10_000 {
		l.Jobs = append(l.Jobs, client.JobOverview{ID: ids.JobID(fmt.Sprintf("%032d", i)), Status: msg.JobFinished, End: noon()})
		l.Workers = append(l.Workers, Worker{Worker: client.Worker{ID: fmt.Sprintf("container_%05d", i)}})
	}
	m := Update(seen(80, 24), Looked{l})
	same := func(now Model) bool { return &now.jobs[0] == &m.jobs[0] && &now.workers[0] == &m.workers[0] }
	for name, e := range map[string]Event{"a key": Pressed{"j"}, "another panel": Pressed{keyboard.Tab}, "a second": Passed{noon()}, "a size": Sized{40, 15}} {
		now := Update(m, e)
		if Draw(now); !same(now) {
			t.Errorf("%s sorts the rows", name)
		}
	}
	for name, e := range map[string]Event{"a look": Looked{aLook()}, "another order": Pressed{"s"}} {
		if same(Update(m, e)) {
			t.Errorf("%s does not sort the rows", name)
		}
	}
}

// TestThePanelInFocusHasTheMostLines would catch a user who looks through 10,000 jobs two lines at a time, because another list is
// as long; and a narrow screen that breaks off in its head.
func TestThePanelInFocusHasTheMostLines(t *testing.T) {
	l := aLook()
	l.Application.Workers, l.Application.Slots, l.Application.Free, l.Application.Running = 500, 12_000, 5656, 40
	l.Job.Slow = ""
	for i := range 10_000 {
		l.Jobs = append(l.Jobs, client.JobOverview{ID: ids.JobID(fmt.Sprintf("%032d", i)), Name: fmt.Sprintf("job %d", i), Status: msg.JobFinished, End: noon()})
		l.Workers = append(l.Workers, Worker{Worker: client.Worker{ID: fmt.Sprintf("container_%05d", i)}})
		l.Job.Vertices = append(l.Job.Vertices, live.Vertex{ID: fmt.Sprint(i), Name: fmt.Sprintf("vertex %d", i)})
	}
	for _, size := range [][2]int{{40, 24}, {80, 24}, {200, 50}} {
		for of, row := range []string{"job ", "vertex ", "container_"} {
			m := Update(seen(size[0], size[1], slices.Repeat([]keyboard.Key{keyboard.Tab}, of)...), Looked{l})
			picture := Draw(pressed(m, keyboard.PageDown, keyboard.PageDown)).String()
			if lines := strings.Count(picture, "\n  "+row) + strings.Count(picture, "\n› "+row); lines < size[1]/5 {
				t.Errorf("%dx%d: %d lines with a %sin\n%s", size[0], size[1], lines, row, picture)
			}
			if !strings.Contains(picture, "40 running") && !strings.Contains(picture, "40 jobs\n") {
				t.Errorf("%dx%d: the head is broken off:\n%s", size[0], size[1], picture)
			}
		}
	}
}

// TestALookAsksForFewWorkers would catch a master that gets a request for each of 10,000 workers, and a chosen worker
// whose load is never asked for.
func TestALookAsksForFewWorkers(t *testing.T) {
	l := aLook()
	l.Workers = nil
	for i := range 10_000 {
		l.Workers = append(l.Workers, Worker{Worker: client.Worker{ID: fmt.Sprintf("container_%05d", i)}})
	}
	m := Update(seen(80, 24, keyboard.BackTab), Looked{l})
	if m = pressed(m, "G"); len(m.Asks().Workers) != mostLoads || m.Asks().Workers[mostLoads-1] != "container_09999" {
		t.Errorf("asks for %v", m.Asks().Workers)
	}
}

// TestAnyKeysOnAnyScreen would catch a panic or text beyond the screen: with any keys, sizes and numbers of rows.
func TestAnyKeysOnAnyScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New("application_1700000000000_0001", noon())
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			switch rapid.IntRange(0, 5).Draw(t, "event") {
			case 0:
				m = Update(m, Sized{rapid.IntRange(1, 130).Draw(t, "columns"), rapid.IntRange(1, 40).Draw(t, "lines")})
			case 1:
				l := aLook()
				l.Jobs = l.Jobs[:rapid.IntRange(0, 3).Draw(t, "jobs")]
				l.Workers = l.Workers[:rapid.IntRange(0, 2).Draw(t, "workers")]
				if rapid.Bool().Draw(t, "forgotten") {
					l.Job = nil
				}
				l.Vertex = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "vertex")
				l.Subtasks = make([]Subtask, rapid.IntRange(0, 50).Draw(t, "subtasks"))
				m = Update(m, Looked{l})
			case 2:
				words := rapid.StringOf(rapid.SampledFrom([]rune("ab 每\u0308\x1b\n\t"))).Draw(t, "words")
				m = Update(m, rapid.SampledFrom([]Event{Missed{Words: words, Replacing: true}, Missed{Words: words}, Unheard{}, Reported{noon(), Report{Name: words, Queue: words}}, Over{Words: words}}).Draw(t, "news"))
			default:
				m = Update(m, Pressed{rapid.SampledFrom([]keyboard.Key{
					"j", "k", "g", "G", "s", "/", "p", "?", "x", "每", keyboard.Tab, keyboard.BackTab, keyboard.Enter, keyboard.Escape, keyboard.Erase,
					keyboard.PageDown, keyboard.PageUp, keyboard.Up, keyboard.Down, keyboard.Home, keyboard.End,
				}).Draw(t, "key")})
			}
			picture := Draw(m).String()
			if lines := strings.Count(picture, "\n"); lines != m.Lines {
				t.Fatalf("%d lines of %d", lines, m.Lines)
			}
			for line := range strings.Lines(picture) {
				if cells := terminal.Cells(strings.TrimRight(line, "\n")); cells > m.Columns {
					t.Fatalf("%d of %d columns: %q", cells, m.Columns, line)
				}
			}
			m.Asks()
		}
	})
}
