package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// dawdler is a job that runs for as long as a test wants: it hardly gets on until
// release, and then ends soon.
type dawdler struct {
	user        *bobbintest.User
	run         *bobbintest.Command
	application string
	job         string
	master      *bobbintest.Master
	gate        string
	output      string
	want        []string
}

// dawdle starts the program dawdle with these flags of `bobbin run` and waits
// until its tasks run.
func dawdle(t testing.TB, u *bobbintest.User, flags ...string) *dawdler {
	t.Helper()
	text := generate(t, "-size", "200k", "-files", "4")
	dir := u.Scratch(t)
	u.Put(t, text, dir+"/text")
	d := &dawdler{
		user: u, gate: filepath.Join(t.TempDir(), "gate"), output: dir + "/output",
		want: independently(t, countFirstWords, text),
	}
	d.run = u.Start(t, small(append(flags, suite.Program(t, "dawdle"), d.gate, d.output, dir+"/text")...)...)
	d.application = d.run.Application(t)
	d.master = u.Master(t, d.application)
	var overview struct {
		Jobs []struct {
			ID string `json:"jid"`
		}
	}
	bobbintest.Eventually(t, "the job is there", func() (bool, error) {
		err := d.master.Get(t.Context(), "/jobs/overview", &overview)
		return len(overview.Jobs) == 1, err
	})
	d.job = overview.Jobs[0].ID
	d.awaitTasks(t)
	return d
}

// details is what REST tells of the job.
type details struct {
	State      msg.JobStatus
	Timestamps map[msg.JobStatus]int64
	Vertices   []struct {
		Parallelism int
		Tasks       map[msg.ExecutionState]int
	}
}

func (d *dawdler) details(t testing.TB) (now details) {
	t.Helper()
	if err := d.master.Get(t.Context(), "/jobs/"+d.job, &now); err != nil {
		t.Fatal(err)
	}
	return now
}

// awaitTasks waits until all of the job's tasks run that read its input.
func (d *dawdler) awaitTasks(t testing.TB) {
	t.Helper()
	bobbintest.Eventually(t, "all tasks run", func() (bool, error) {
		now := d.details(t)
		if now.State.GloballyTerminal() {
			return false, fmt.Errorf("the job is %s", now.State)
		}
		source := now.Vertices[0]
		return source.Tasks[msg.ExecutionRunning] == source.Parallelism, nil
	})
}

// awaitRestart waits until the job has been restarted after a moment by the
// master's clock, and its tasks run again.
func (d *dawdler) awaitRestart(t testing.TB) {
	t.Helper()
	bobbintest.Eventually(t, "the job is restarted", func() (bool, error) {
		now := d.details(t)
		if now.State.GloballyTerminal() {
			return false, fmt.Errorf("the job is %s", now.State)
		}
		return now.Timestamps[msg.JobRestarting] > 0, nil
	})
	d.awaitTasks(t)
}

// release lets the job end.
func (d *dawdler) release(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(d.gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// checkSucceeds releases the job and checks that it ends well with the exact
// result.
func (d *dawdler) checkSucceeds(t testing.TB) {
	t.Helper()
	d.release(t)
	if got := d.run.Wait(t); got.Code != 0 {
		t.Fatal(got)
	}
	app := d.user.WaitEnded(t, d.application)
	if app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	if diff := cmp.Diff(d.want, d.user.Output(t, d.output)); diff != "" {
		t.Errorf("counts differ (-want +got):\n%.2000s", diff)
	}
	d.user.CheckGone(t, d.application)
}

// checkFails checks that the client ended with exit code 1 and says why, that
// YARN has the final status, and that nothing is left.
func (d *dawdler) checkFails(t testing.TB, state, status, why string) {
	t.Helper()
	got := d.run.Wait(t)
	if got.Code != 1 || !strings.Contains(got.Stderr, why) {
		t.Errorf("want exit code 1 and %q, got %s", why, got)
	}
	app := d.user.WaitEnded(t, d.application)
	if app.State != state || app.FinalStatus != status {
		t.Errorf("YARN says %s (%s), want %s (%s): %s", app.State, app.FinalStatus, state, status, app.Diagnostics)
	}
	if names := d.user.Names(t, d.output); slices.Contains(names, "_SUCCESS") {
		t.Errorf("output of a job that did not finish is committed: %v", names)
	}
	d.user.CheckGone(t, d.application)
}

// processes lists the job's processes of one role by container.
func (d *dawdler) processes(t testing.TB, role bobbintest.Role) map[string]bobbintest.Process {
	t.Helper()
	found := make(map[string]bobbintest.Process)
	for _, p := range bobbintest.ProcessesIn(t, d.application, role) {
		if other, twice := found[p.Container]; twice {
			t.Fatalf("two processes are %s of %s: %d and %d", role, p.Container, other.PID, p.PID)
		}
		found[p.Container] = p
	}
	return found
}

// rootCause is the failure that REST tells of first.
func (d *dawdler) rootCause(t testing.TB) string {
	t.Helper()
	var exceptions struct {
		Root *string `json:"root-exception"`
	}
	if err := d.master.Get(t.Context(), "/jobs/"+d.job+"/exceptions", &exceptions); err != nil {
		t.Fatal(err)
	}
	if exceptions.Root == nil {
		return ""
	}
	return *exceptions.Root
}
