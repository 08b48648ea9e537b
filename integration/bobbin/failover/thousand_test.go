package failover

import (
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestASessionOfAThousandJobsComesBack kills the ApplicationMaster of a session with one job that runs, 99 that wait for
// its slots, and 900 that were cancelled. It would catch any job that is lost, runs again or never runs. How long the session
// takes is a figure.
func TestASessionOfAThousandJobsComesBack(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	const batches, batch, waiting = 4, 225, 99
	u := suite.User(t, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
	id := u.StartSession(
		t, "-jm", "512m", "-tm", "512m", "-s", "2",
		"-D", "slotmanager.number-of-slots.max=2", "-D", "slot.request.timeout=1h",
	)
	d := &bobbintest.Dawdler{SlowJob: suite.SlowJob(t, u), User: u, Application: id}
	d.Run = u.Start(t, append([]string{"run", "-id", id, "-p", "2"}, d.Args...)...)
	d.Job = submitted(t, d.Run)
	d.Resume(t)
	u.Write(t, d.Input+"-line", "to be\n")
	for range batches { // the ApplicationMaster has no room for all at the same time
		repeat(t, d, batch)
		cancelAll(t, d)
	}
	repeat(t, d, waiting)
	want := states(t, d)
	if len(want) != 1+batches*batch+waiting {
		t.Fatalf("the session has %d jobs", len(want))
	}

	began := time.Now()
	master(t, id).Kill(t)
	d.AwaitSuccessor(t)
	cluster.Figure(t, "a session of %d jobs was back after %.1f s", len(want), time.Since(began).Seconds())
	if diff := cmp.Diff(want, states(t, d)); diff != "" {
		t.Errorf("the next ApplicationMaster's jobs (-want +got):\n%s", diff)
	}
	d.Release(t)
	checkClient(t, d)
	for job, state := range want {
		if state == "RUNNING" {
			want[job] = "FINISHED"
		}
	}
	wait.For(t, "all jobs have ended", func() (bool, error) {
		return maps.Equal(want, states(t, d)), nil
	})
	if got := u.Run(t, "session", "stop", "-id", id); got.Code != 0 {
		t.Error(got)
	}
	u.WaitEnded(t, id)
	u.CheckGone(t, id)
}

// states returns the state of each job.
func states(t *testing.T, d *bobbintest.Dawdler) map[string]string {
	t.Helper()
	var overview struct {
		Jobs []struct {
			ID    string `json:"jid"`
			State string
		}
	}
	if err := d.Master.Get(t.Context(), "/jobs/overview", &overview); err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, job := range overview.Jobs {
		all[job.ID] = job.State
	}
	return all
}

// repeat submits small jobs to the session of a dawdler, which has all its slots.
func repeat(t *testing.T, d *bobbintest.Dawdler, times int) {
	t.Helper()
	got := d.User.Run(t, "run", "-d", "-id", d.Application, suite.Program(t, "repeat"), strconv.Itoa(times), d.Input+"-line")
	if got.Code != 0 {
		t.Fatal(got)
	}
}

// cancelAll cancels all jobs that wait beside the dawdler's, and waits until they have ended.
func cancelAll(t *testing.T, d *bobbintest.Dawdler) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for job, state := range states(t, d) {
		if job != d.Job && state == "RUNNING" {
			group.Go(func() error { return d.Master.Patch(ctx, "/jobs/"+job) })
		}
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the jobs are cancelled", func() (bool, error) {
		for job, state := range states(t, d) {
			if job != d.Job && state != "CANCELED" {
				return false, nil
			}
		}
		return true, nil
	})
}
