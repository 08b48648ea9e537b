package failover

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/cli"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// follows is the line with which a client follows its job to the next ApplicationMaster, without its end.
const follows = " has been replaced: attempt "

// session is a session with jobs that run, each with an attached client, and one that has ended while its client was
// frozen.
type session struct {
	user    *bobbintest.User
	id      string
	running []*bobbintest.Dawdler
	unread  *bobbintest.Command // the client of the job that has ended
	ended   msg.JobEnded
}

// startSession starts a session with this number of jobs that run, each in a worker of its own with two task hosts'
// slots.
func startSession(t *testing.T, u *bobbintest.User, jobs int, flags ...string) *session {
	t.Helper()
	u = u.With("TMPDIR=" + t.TempDir()) // for the file that names the session
	s := &session{user: u, id: u.StartSession(t, append([]string{
		"-jm", "256m", "-tm", "512m", "-s", "2",
		"-D", "restart-strategy.fixed-delay.attempts=1000", // lost nodes restart jobs
	}, flags...)...)}
	s.endUnread(t)
	for range jobs {
		s.run(t)
	}
	return s
}

// collected is what a client says of collectLines.
const collected = "collected 2 lines, 13 bytes"

// collectLines starts a job that collects the lines of a text.
func (s *session) collectLines(t *testing.T) *bobbintest.Command {
	t.Helper()
	dir := s.user.Scratch(t)
	s.user.Write(t, dir+"/lines", "to be\nor not\n")
	return s.user.Start(t, "run", "-id", s.id, suite.Program(t, "collector"), dir+"/lines")
}

// endUnread lets a job end while its client is frozen, so that the session keeps what the job has collected.
func (s *session) endUnread(t *testing.T) {
	t.Helper()
	s.unread = s.collectLines(t)
	job := submitted(t, s.unread)
	s.unread.Signal(t, syscall.SIGSTOP)
	s.ended = s.end(t, job)
	// Under the race detector a process takes a second to end. Until then it would count as one that must stay, and the next
	// jobs would not find its slot.
	wait.Until(t, "the task host of the job has ended", func() bool {
		return len(bobbintest.ProcessesIn(t, s.id, bobbintest.TaskHost)) == 0
	})
}

// submitted waits until a client has submitted its job, and returns the job's id.
func submitted(t *testing.T, client *bobbintest.Command) string {
	t.Helper()
	client.Says(t, "submitted job ")
	_, said, _ := strings.Cut(client.Seen().Stderr, "submitted job ")
	_, said, _ = strings.Cut(said, "(")
	id, _, _ := strings.Cut(said, ")")
	return id
}

// end waits until the present ApplicationMaster says how a job has ended.
func (s *session) end(t *testing.T, job string) (end msg.JobEnded) {
	t.Helper()
	master := rpctest.Closing(t, closer{reach(t, s.user, s.id)})
	wait.For(t, "job "+job+" has ended", func() (_ bool, err error) {
		end, err = master.Result(t.Context(), ids.JobID(job))
		return end.Status.GloballyTerminal(), err
	})
	return end
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
	d.Job = submitted(t, d.Run)
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
	want := map[string]string{string(s.ended.Job): "FINISHED"}
	for _, d := range s.running {
		want[d.Job] = "RUNNING"
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the next ApplicationMaster's jobs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(s.ended, s.end(t, string(s.ended.Job))); diff != "" {
		t.Errorf("of the job that had ended, the next ApplicationMaster says (-before +after):\n%s", diff)
	}
}

// checkEnds lets all jobs end, and checks their complete output. The client of the job that had ended continues, and
// another job runs. Then the session ends. It would catch output or collected records that are lost or doubled, and a
// session that accepts no jobs any more, or has lost its programs.
func (s *session) checkEnds(t *testing.T) {
	t.Helper()
	for _, d := range s.running {
		d.Release(t)
	}
	for _, d := range s.running {
		checkClient(t, d)
	}
	s.unread.Signal(t, syscall.SIGCONT)
	for _, client := range []*bobbintest.Command{s.unread, s.collectLines(t)} {
		if got := client.Wait(t); got.Code != 0 || !strings.Contains(got.Stdout, collected) {
			t.Error(got)
		}
	}
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
			t.Errorf("%s has ended; before: %v; now: %v", p, before, now)
		}
	}
}

// checkUnanswered runs commands after the ApplicationMaster has died and before YARN notices. It would catch commands that
// wait for the next one, and those that take its death for the end, or for a replacement of which YARN does not know.
func checkUnanswered(t *testing.T, s *session) {
	t.Helper()
	for _, command := range [][]string{{"list", "-id", s.id}, {"status", "-id", s.id}, {"cancel", "-id", s.id, s.running[0].Job}} {
		if got := s.user.Run(t, command...); got.Code != cli.ExitFailed || !strings.Contains(got.Stderr, "connection refused") {
			t.Errorf("%v: want exit code %d: %s", command, cli.ExitFailed, got)
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
