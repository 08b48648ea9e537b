package run

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// busy is an ApplicationMaster whose job has one busy vertex, until the test lets it end.
type busy struct {
	rest.Gateway
	ends chan struct{}
}

// vertexOfBusy has a name that would clear the terminal.
func vertexOfBusy() msg.VertexDetails {
	return msg.VertexDetails{
		ID: strings.Repeat("a", 32), Name: "count\x1b[2J", Status: msg.ExecutionRunning, Parallelism: 2,
		Tasks: map[msg.ExecutionState]int{msg.ExecutionRunning: 2},
	}
}

func (b busy) JobDetails(_ context.Context, job ids.JobID) (msg.JobDetails, error) {
	d := msg.JobDetails{ID: job, Name: "words", Status: msg.JobRunning, Vertices: []msg.VertexDetails{vertexOfBusy()}}
	select {
	case <-b.ends:
		d.Status = msg.JobFinished
	default:
	}
	return d, nil
}

func (busy) VertexSubtasks(context.Context, ids.JobID, string) (msg.VertexSubtasks, error) {
	task := msg.Subtask{Sample: msg.TaskSample{Over: time.Minute}}
	return msg.VertexSubtasks{VertexDetails: vertexOfBusy(), Subtasks: []msg.Subtask{task, task}}, nil
}

func (busy) JobResult(context.Context, ids.JobID, time.Duration) (msg.JobEnded, error) {
	return msg.JobEnded{Status: msg.JobFinished}, nil
}

// TestARunningJobIsSeenOnATerminal would catch a command without a picture, one that leaves it below its last line, a name
// that controls the terminal, and a command that waits for the next look after the job's end or after Ctrl-C.
func TestARunningJobIsSeenOnATerminal(t *testing.T) {
	for _, columns := range []int{40, 80} {
		master := busy{ends: make(chan struct{})}
		leaders := &succession{first: served(t, 1, master, rest.Config{})}
		screen, ended := ptytest.On(t, columns, 24, func(screen *os.File) error {
			s := sessionAt(leaders, screen)
			s.Looks(terminal.Looks{Moves: true})
			r := s.runner()
			_, err := r.followJob(t.Context(), nil, followed(), &jobgraph.JobGraph{Name: "words"})
			r.Line("after it")
			return err
		})
		at := screen.Await(0, "0 of 2 tasks done\x1b[J\r\n")
		at = screen.Await(at, "VERTEX")
		at = screen.Await(at, "count")
		at = screen.Await(at, "Busiest is")
		at = screen.Await(at, "A\r\x1b[17C") // the cursor is back at the end of the moving line
		fmt.Fprintln(screen.Screen, "a word of the driver")
		at = screen.Await(at, "a word of the driver")
		close(master.ends)
		at = screen.Await(at, "\x1b[J")
		screen.Await(at, "\nafter it\r\n")
		if err := <-ended; err != nil {
			t.Errorf("%d columns: %v", columns, err)
		}
		if text := screen.Shown(); strings.Contains(text, "\x1b[2J") || strings.Contains(text, "\x1b[0;3") {
			t.Errorf("%d columns: a name controls the terminal, or there are colours: %q", columns, text)
		}
	}
}

// TestCollectedRecordsAreNotMixedWithAPicture would catch records that are printed over a picture, and no picture for a
// program whose records go to a file.
func TestCollectedRecordsAreNotMixedWithAPicture(t *testing.T) {
	screen := ptytest.Start(t, 80, 24)
	for _, c := range []struct {
		name  string
		graph *jobgraph.JobGraph
		moves bool
		print bool
		want  bool
	}{
		{"it collects nothing", &jobgraph.JobGraph{}, true, true, true},
		{"it collects into a file", collecting(), true, false, true},
		{"it prints records", collecting(), true, true, false},
		{"a dumb terminal", &jobgraph.JobGraph{}, false, false, false},
	} {
		r := runner{Journal: NewJournal(screen.Screen, time.Now(), false), prints: c.print}
		r.Looks(terminal.Looks{Moves: c.moves})
		if got := r.views(c.graph); got != c.want {
			t.Errorf("%s: view %v, want %v", c.name, got, c.want)
		}
	}
	r := runner{Journal: NewJournal(t.Output(), time.Now(), false)}
	r.Looks(terminal.Looks{Moves: true})
	if r.views(&jobgraph.JobGraph{}) {
		t.Error("a view where the output is no terminal")
	}
}
