package bobbintest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// DawdleLate is Dawdle for a job on two workers of one slot. Its readers are the first vertex, and have finished. The tasks
// behind their exchange, which must be blocking, have the gate. With parallelism 2, each worker holds the partition of one reader.
func (s *Suite) DawdleLate(t testing.TB, u *User, flags ...string) *Dawdler {
	t.Helper()
	text, want := hours(t)
	late := filepath.Join(t.TempDir(), "late")
	job := s.slowJob(t, u, text, "", want, "-late", late)
	d := u.submit(t, job, append(flags, "-s", "1", "-D", "slotmanager.number-of-slots.max=2"))
	d.Master, d.slots = u.Master(t, d.Application), 2
	d.reachJob(t) // the readers: so each worker runs one of them
	d.Release(t)
	d.gate, d.gated = late, 1
	d.AwaitTasks(t)
	return d
}

// Gated starts a job in an application of its own, and does not wait for its tasks. The program's arguments are its gate,
// its output and args.
func (s *Suite) Gated(t testing.TB, u *User, program string, args, flags []string) *Dawdler {
	t.Helper()
	job := &SlowJob{Output: u.Scratch(t) + "/output", gate: filepath.Join(t.TempDir(), "gate")}
	job.Args = append([]string{s.Program(t, program), job.gate, job.Output}, args...)
	d := u.submit(t, job, flags)
	d.Master = u.Master(t, d.Application)
	d.awaitJob(t)
	return d
}

// Readers returns the present attempts of the job's first vertex.
func (d *Dawdler) Readers(t testing.TB) []restapi.SubtaskAttempt {
	t.Helper()
	vertex := d.Details(t).Vertices[0].ID
	return wait.Answer(t, "the readers", func() (readers []restapi.SubtaskAttempt, err error) {
		var details restapi.JobVertexDetails
		err = d.Master.Get(wait.Context(t), "/jobs/"+d.Job+"/vertices/"+vertex, &details)
		return details.Subtasks, err
	})
}

// CheckReaders waits until the readers of a worker that has lost its partitions have finished again. The others must not
// have run again. before is from Readers.
func (d *Dawdler) CheckReaders(t testing.TB, before []restapi.SubtaskAttempt, lost string) {
	t.Helper()
	want := make([]int, len(before)) // attempts
	losses := 0
	for i, r := range before {
		want[i] = r.Attempt
		if r.TaskManagerID == lost {
			want[i]++
			losses++
		}
	}
	if losses == 0 || losses == len(before) {
		t.Fatalf("%d of %d readers were on %s, want some", losses, len(before), lost)
	}
	wait.For(t, "the readers have finished again", func() (bool, error) {
		for i, r := range d.Readers(t) {
			if r.Attempt < want[i] || r.Status != msg.ExecutionFinished {
				return false, nil
			}
			if r.Attempt > want[i] {
				return false, fmt.Errorf("reader %d of %s is at attempt %d, want %d: %s has lost its partitions", i, before[i].TaskManagerID, r.Attempt, want[i], lost)
			}
		}
		return true, nil
	})
}

// Partition is the file of a blocking partition on a node.
type Partition struct {
	File      string
	Container string // of the worker
	Producer  ids.ExecutionAttemptID
}

// Partitions lists the partitions of an application's jobs on all nodes, also those that are not finished.
func (u *User) Partitions(t testing.TB, application string) (found []Partition) {
	t.Helper()
	// The last folders are the container's, that of its partitions, and the task host's.
	files, err := filepath.Glob(filepath.Join(u.Cluster.Dir(), "nodemanager*", "local", "usercache", "*", "appcache", application, "container_*", "partitions", "*", "e*-o*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(filepath.Base(file), "-o")
		producer, is := ids.ParseExecutionAttemptID(name)
		if !is {
			t.Fatalf("%s does not name an attempt of a task", file)
		}
		host := filepath.Dir(file)
		found = append(found, Partition{File: file, Container: filepath.Base(filepath.Dir(filepath.Dir(host))), Producer: producer})
	}
	return found
}
