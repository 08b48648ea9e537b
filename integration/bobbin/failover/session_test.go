package failover

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/cli"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// follows is the line with which a client follows its job to the next ApplicationMaster, without its end.
const follows = " has been replaced: attempt "

// session is a session with jobs that run, each with an attached client, and one that has ended and whose result was
// collected.
type session struct {
	user    *bobbintest.User
	id      string
	running []*bobbintest.Dawdler
	ended   ended
}

// ended is a job that has ended, and what its session keeps of it.
type ended struct {
	job     ids.JobID
	end     msg.JobEnded
	records []byte // that it has collected
}

// startSession starts a session with this number of jobs that run, each in a worker of its own with two task hosts'
// slots.
func startSession(t *testing.T, u *bobbintest.User, jobs int, flags ...string) *session {
	t.Helper()
	u = u.With("TMPDIR=" + t.TempDir()) // for the file that names the session
	got := u.Run(t, append([]string{
		"session", "start", "-d", "-jm", "256m", "-tm", "512m", "-s", "2",
		"-D", "restart-strategy.fixed-delay.attempts=1000", // lost nodes restart jobs
	}, flags...)...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	s := &session{user: u, id: got.Application(t)}
	t.Cleanup(func() { u.Run(t, "kill", s.id) })
	s.ended = s.collect(t)
	for range jobs {
		s.run(t)
	}
	return s
}

// collect runs a job to its end that collects its lines.
func (s *session) collect(t *testing.T) ended {
	t.Helper()
	dir := s.user.Scratch(t)
	s.user.Write(t, dir+"/lines", "to be\nor not\n")
	got := s.user.Run(t, "run", "-o", "json", "-id", s.id, suite.Program(t, "collector"), dir+"/lines")
	if got.Code != 0 || !strings.Contains(got.Stderr, "collected 2 lines, 13 bytes") {
		t.Fatal(got)
	}
	return s.kept(t, ids.JobID(got.JSON(t).Job))
}

// kept asks the present ApplicationMaster for an ended job.
func (s *session) kept(t *testing.T, job ids.JobID) ended {
	t.Helper()
	master := rpctest.Closing(t, closer{reach(t, s.user, s.id)})
	end, err := master.Result(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	page, err := master.CollectPage(t.Context(), job, "lines", 0)
	if refused, is := errors.AsType[*client.StatusError](err); err != nil && !(is && refused.Status == http.StatusGone) { // its client has read it
		t.Fatal(err)
	}
	return ended{job, end, page.Records}
}

// closer is a client whose Close cannot fail.
type closer struct{ *client.ClusterClient }

func (c closer) Close() error {
	c.ClusterClient.Close()
	return nil
}

// reach connects to the present ApplicationMaster as a user's command does.
func reach(t *testing.T, u *bobbintest.User, application string) *client.ClusterClient {
	t.Helper()
	c, err := client.NewClusterClient(u.Master(t, application).Access)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// run starts a job with two tasks, and waits until they run.
func (s *session) run(t *testing.T) {
	t.Helper()
	d := &bobbintest.Dawdler{SlowJob: suite.SlowJob(t, s.user), User: s.user, Application: s.id}
	d.Run = s.user.Start(t, append([]string{"run", "-id", s.id, "-p", "2"}, d.Args...)...)
	d.Run.Says(t, "submitted job ")
	_, said, _ := strings.Cut(d.Run.Seen().Stderr, "submitted job ")
	_, said, _ = strings.Cut(said, "(")
	d.Job, _, _ = strings.Cut(said, ")")
	d.Resume(t)
	s.running = append(s.running, d)
}

// checkFollowed waits until all jobs run in the next ApplicationMaster. It would catch a job that is lost, or that has
// another id or runs again, a result that is lost, and a client that is silent about the change, or says more than one
// line.
func (s *session) checkFollowed(t *testing.T) {
	t.Helper()
	before := s.running[0].Master
	next := s.user.Successor(t, s.id, before)
	for _, d := range s.running {
		d.Resume(t)
		d.Run.Says(t, follows)
	}
	var overview struct {
		Jobs []struct {
			ID    string `json:"jid"`
			State string
		}
	}
	if err := next.Get(t.Context(), "/jobs/overview", &overview); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, job := range overview.Jobs {
		got[job.ID] = job.State
	}
	want := map[string]string{string(s.ended.job): "FINISHED"}
	for _, d := range s.running {
		want[d.Job] = "RUNNING"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the next ApplicationMaster's jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.ended, s.kept(t, s.ended.job), cmp.AllowUnexported(ended{})); diff != "" {
		t.Errorf("of the job that had ended, the next ApplicationMaster has (-before +after):\n%s", diff)
	}
}

// checkEnds lets all jobs end, checks their complete output, and runs another one. Then it ends the session. It would
// catch output that is lost or doubled, and a session that accepts no jobs any more, or has lost its programs.
func (s *session) checkEnds(t *testing.T) {
	t.Helper()
	for _, d := range s.running {
		d.Release(t)
	}
	for _, d := range s.running {
		checkClient(t, d)
	}
	s.collect(t)
	if got := s.user.Run(t, "session", "stop", "-id", s.id); got.Code != 0 {
		t.Error(got)
	}
	app := s.user.WaitEnded(t, s.id)
	if app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	s.user.CheckGone(t, s.id)
}

// checkClient checks the end of a job's client, what it said, and the job's complete output.
func checkClient(t *testing.T, d *bobbintest.Dawdler) {
	t.Helper()
	got := d.Run.Wait(t)
	if got.Code != 0 {
		t.Error(got)
	}
	if n := strings.Count(got.Stderr, follows); n != 1 {
		t.Errorf("the client says %d times that it follows to another ApplicationMaster, want once: %s", n, got)
	}
	if diff := cmp.Diff(d.Want, d.User.Output(t, d.Output)); diff != "" {
		t.Errorf("output differs (-want +got):\n%.2000s", diff)
	}
}

// processes are the workers and the task hosts of an application, by pid.
func processes(t *testing.T, application string) (found []bobbintest.Process) {
	t.Helper()
	for _, p := range bobbintest.Processes(t, application) {
		if p.Role == bobbintest.TaskExecutor || p.Role == bobbintest.TaskHost {
			found = append(found, p)
		}
	}
	return found
}

// master returns the process of the application's only ApplicationMaster, except those that were replaced.
func master(t *testing.T, application string, replaced ...bobbintest.Process) bobbintest.Process {
	t.Helper()
	found := slices.DeleteFunc(bobbintest.ProcessesIn(t, application, bobbintest.ApplicationMaster), func(p bobbintest.Process) bool {
		return slices.Contains(replaced, p)
	})
	if len(found) != 1 {
		t.Fatalf("the ApplicationMasters are %v, want one", found)
	}
	return found[0]
}

// checkStayed checks that these processes of an application live, and that there are no others. It would catch workers
// and warm task hosts that end with their ApplicationMaster, and workers that are requested although these return.
func checkStayed(t *testing.T, application string, before []bobbintest.Process) {
	t.Helper()
	if diff := cmp.Diff(before, processes(t, application)); diff != "" {
		t.Errorf("workers and task hosts are not the same (-before +after):\n%s", diff)
	}
}

// checkAlive checks that these processes of an application live.
func checkAlive(t *testing.T, application string, before []bobbintest.Process) {
	t.Helper()
	now := processes(t, application)
	for _, p := range before {
		if !slices.Contains(now, p) {
			t.Errorf("%s has ended", p)
		}
	}
}

// checkReplaced runs commands while no ApplicationMaster leads. It would catch commands that wait for the next one, that
// take the replacement for the end, or that scripts cannot tell from failures.
func checkReplaced(t *testing.T, s *session) {
	t.Helper()
	for _, command := range [][]string{{"list", "-id", s.id}, {"status", "-id", s.id}, {"cancel", "-id", s.id, s.running[0].Job}} {
		if got := s.user.Run(t, command...); got.Code != cli.ExitReplacing || !strings.Contains(got.Stderr, "the ApplicationMaster is being replaced") {
			t.Errorf("%v: want exit code %d: %s", command, cli.ExitReplacing, got)
		}
	}
}

// checkHistory checks that `bobbin status` and REST tell how the attempts have ended, the oldest first.
func checkHistory(t *testing.T, u *bobbintest.User, application string, why ...string) {
	t.Helper()
	told := u.Run(t, "status", "-id", application)
	at := 0
	for i, text := range why {
		next := strings.Index(told.Stdout[at:], text)
		if told.Code != 0 || next < 0 {
			t.Errorf("bobbin status does not say that attempt %d ended by %q: %s", i+1, text, told)
			return
		}
		at += next
	}
}
