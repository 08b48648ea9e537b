package bobbintest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Small returns the flags of `bobbin run` for the smallest containers in which Bobbin's processes can run, so that jobs
// of several tests run at the same time.
func Small(args ...string) []string {
	return append([]string{"run", "-t", "yarn-per-job", "-jm", "256m", "-tm", "320m"}, args...)
}

// SlowJob is a job that runs until a test opens its gate, and uses almost no processor time until then. It ends soon
// after the gate opens or the job is cancelled.
type SlowJob struct {
	Args   []string // the last arguments of a command that runs the job: a program and the program's arguments
	Input  string
	Output string
	Want   []string // the output's lines, sorted

	gate string
}

// SlowJob makes the input of a job that counts lines with up to 4 tasks. It reads and writes the user's own
// directories.
func (s *Suite) SlowJob(t testing.TB, u *User) *SlowJob {
	t.Helper()
	text, want := hours(t)
	return s.slowJob(t, u, text, "", want)
}

// hours returns a text of 4 files, and the number of lines that begin with each word. While the gate is closed, a file
// takes more than an hour, which is longer than a test run.
func hours(t testing.TB) (dir string, want []string) {
	t.Helper()
	const files, lines = 4, 20_000
	dir = t.TempDir()
	for i := range files {
		file := filepath.Join(dir, fmt.Sprintf("text-%d.txt", i))
		if err := os.WriteFile(file, []byte(strings.Repeat("to be\nor not\n", lines/2)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{fmt.Sprintf("or\t%d", files*lines/2), fmt.Sprintf("to\t%d", files*lines/2)}
}

// slowJob runs dawdle with these flags over the text in a local directory. The output is on the file system of this
// root, or on the default file system.
func (s *Suite) slowJob(t testing.TB, u *User, text, root string, want []string, flags ...string) *SlowJob {
	t.Helper()
	dir := u.Scratch(t)
	j := &SlowJob{Input: dir + "/text", Output: dir + "/output", Want: want, gate: filepath.Join(t.TempDir(), "gate")}
	if root != "" {
		j.Output = u.ScratchOn(t, root) + "/output"
	}
	u.Put(t, text, j.Input)
	j.Args = slices.Concat([]string{s.Program(t, "dawdle")}, flags, []string{j.gate, j.Output, j.Input})
	return j
}

// Release lets the job end.
func (j *SlowJob) Release(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(j.gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Dawdler is a SlowJob that runs in an application of its own.
type Dawdler struct {
	*SlowJob
	User        *User
	Run         *Command
	Application string
	Job         string
	Master      *Master // of the application's current attempt

	gated     int   // the vertex with the gate
	slots     int   // of the job; 0: as many as it has tasks with the gate
	restarted int64 // its last restart that was seen, by the master's clock
}

// Dawdle starts a SlowJob with these flags of `bobbin run` and waits until its tasks run.
func (s *Suite) Dawdle(t testing.TB, u *User, flags ...string) *Dawdler {
	t.Helper()
	return s.dawdle(t, u, s.SlowJob(t, u), flags)
}

// DawdleInGroups is Dawdle for a job that reads and counts in slot sharing groups of different sizes. Each slot that
// counts has this amount of the external resource toys.
func (s *Suite) DawdleInGroups(t testing.TB, u *User, toys int, flags ...string) *Dawdler {
	t.Helper()
	text, want := hours(t)
	return s.dawdle(t, u, s.slowJob(t, u, text, "", want, "-toys", strconv.Itoa(toys)), flags)
}

// DawdleOver is Dawdle for the files in a local directory. Each of their lines takes a fifth of a second.
func (s *Suite) DawdleOver(t testing.TB, u *User, text string, flags ...string) *Dawdler {
	t.Helper()
	return s.DawdleOverTo(t, u, text, "", flags...)
}

// DawdleOverTo is DawdleOver with the output on the file system of this root.
func (s *Suite) DawdleOverTo(t testing.TB, u *User, text, root string, flags ...string) *Dawdler {
	t.Helper()
	return s.dawdle(t, u, s.slowJob(t, u, text, root, independently(t, countFirstWords, text)), flags)
}

// DawdleTo is Dawdle with the output on the file system of this root, such as
// hdfs://other.
func (s *Suite) DawdleTo(t testing.TB, u *User, root string, flags ...string) *Dawdler {
	t.Helper()
	text, want := hours(t)
	return s.dawdle(t, u, s.slowJob(t, u, text, root, want), flags)
}

// Trickle starts the program dawdle so that it reads and writes HDFS for this time, at parallelism 2. It copies one
// file after the other, line by line, into an output that is many times larger. Between two files, connections to the
// NameNode become idle and are closed. So the tasks must log in again and again, and need valid credentials all the
// time.
func (s *Suite) Trickle(t testing.TB, u *User, life time.Duration, flags ...string) *Dawdler {
	t.Helper()
	return s.TrickleTo(t, u, "", life, flags...)
}

// TrickleTo is Trickle with the output on the file system of this root.
func (s *Suite) TrickleTo(t testing.TB, u *User, root string, life time.Duration, flags ...string) *Dawdler {
	t.Helper()
	const (
		pause     = 20 * time.Millisecond
		perSecond = 2 * int(time.Second/pause) // lines, of two tasks
		perFile   = 1500                       // 30 s: Hadoop's clients close connections after 10 idle seconds, and renew leases every 20 s
		repeat    = 40                         // to 440 bytes a line
	)
	text := t.TempDir()
	var want []string
	for line := 0; line < int(life.Seconds())*perSecond; line += perFile {
		var content strings.Builder
		for i := range perFile {
			text := fmt.Sprintf("line-%06d", line+i)
			content.WriteString(text + "\n")
			want = append(want, strings.Repeat(text, repeat))
		}
		if err := os.WriteFile(filepath.Join(text, fmt.Sprintf("text-%06d.txt", line)), []byte(content.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job := s.slowJob(t, u, text, root, want, "-pause", pause.String(), "-repeat", strconv.Itoa(repeat))
	return s.dawdle(t, u, job, append(flags, "-p", "2"))
}

func (s *Suite) dawdle(t testing.TB, u *User, job *SlowJob, flags []string) *Dawdler {
	t.Helper()
	return u.submit(t, job, flags).reached(t)
}

// DawdleAtLast is Dawdle for tests in which a race in YARN may end the application before it runs, with these words in
// its diagnostics. It then submits the job again, up to five times in all.
func (s *Suite) DawdleAtLast(t testing.TB, u *User, unlucky string, flags ...string) *Dawdler {
	t.Helper()
	job := s.SlowJob(t, u)
	for try := 1; ; try++ {
		d := u.submit(t, job, flags)
		app := u.WaitBegun(t, d.Application)
		if try == 5 || !Ended(app) || !strings.Contains(app.Diagnostics, unlucky) {
			return d.reached(t)
		}
		t.Logf("%s has ended; the test submits the job again: %s", d.Application, unlucky)
	}
}

// submit starts the command that runs a job in an application of its own.
func (u *User) submit(t testing.TB, job *SlowJob, flags []string) *Dawdler {
	t.Helper()
	d := &Dawdler{SlowJob: job, User: u}
	d.Run = u.Start(t, Small(slices.Concat(flags, job.Args)...)...)
	d.Application = d.Run.Application(t)
	return d
}

// reached waits until the application has the job, and its tasks run.
func (d *Dawdler) reached(t testing.TB) *Dawdler {
	t.Helper()
	d.Master = d.User.Master(t, d.Application)
	d.reachJob(t)
	return d
}

// reachJob waits until the current attempt has the job, and its tasks run.
func (d *Dawdler) reachJob(t testing.TB) {
	t.Helper()
	d.awaitJob(t)
	d.AwaitTasks(t)
}

// awaitJob waits until the current attempt has the job. A job that is not known yet is the application's only one.
func (d *Dawdler) awaitJob(t testing.TB) {
	t.Helper()
	var overview struct {
		Jobs []struct {
			ID string `json:"jid"`
		}
	}
	wait.For(t, "the job is there", func() (bool, error) {
		if err := d.Master.Get(t.Context(), "/jobs/overview", &overview); err != nil {
			return false, err
		}
		for _, job := range overview.Jobs {
			if d.Job == "" && len(overview.Jobs) == 1 {
				d.Job = job.ID
			}
			if d.Job == job.ID {
				return true, nil
			}
		}
		return false, nil
	})
}

// AwaitSuccessor waits until another attempt of the application has replaced the killed one, and all tasks of the job
// that read its input run.
func (d *Dawdler) AwaitSuccessor(t testing.TB) {
	t.Helper()
	d.Master, d.restarted = d.User.Successor(t, d.Application, d.Master), 0
	d.reachJob(t)
}

// Resume connects to the present ApplicationMaster of a job that is known, and waits until all tasks that read its input
// run.
func (d *Dawdler) Resume(t testing.TB) {
	t.Helper()
	d.Master, d.restarted = d.User.Master(t, d.Application), 0
	d.reachJob(t)
}

// JobDetails is REST's description of a job.
type JobDetails struct {
	State      msg.JobStatus
	Timestamps map[msg.JobStatus]int64
	Vertices   []struct {
		ID          string
		Name        string
		Parallelism int
		Tasks       map[msg.ExecutionState]int
	}
}

// Details gets the job's description from REST. It fails the test if the application has ended.
func (d *Dawdler) Details(t testing.TB) JobDetails {
	t.Helper()
	return wait.Answer(t, "the job's details", func() (now JobDetails, err error) {
		err = d.Master.Get(wait.Context(t), "/jobs/"+d.Job, &now)
		if err != nil && wait.OfTheWay(err) {
			if app := d.User.App(t, d.Application); Ended(app) {
				err = fmt.Errorf("%s is %s (%s): %s", d.Application, app.State, app.FinalStatus, app.Diagnostics)
			}
		}
		return now, err
	})
}

// AwaitTasks waits until all tasks of the job that have the gate run: those that read its input, or those behind them
// (DawdleLate).
func (d *Dawdler) AwaitTasks(t testing.TB) {
	t.Helper()
	d.awaitVertex(t, d.gated)
}

// awaitVertex waits until all tasks of a vertex run, or as many as have slots.
func (d *Dawdler) awaitVertex(t testing.TB, vertex int) {
	t.Helper()
	wait.For(t, fmt.Sprintf("all tasks of vertex %d run", vertex), func() (bool, error) {
		now := d.Details(t)
		if now.State.GloballyTerminal() {
			return false, fmt.Errorf("the job is %s", now.State)
		}
		if len(now.Vertices) == 0 { // it is INITIALIZING
			return false, nil
		}
		v := now.Vertices[vertex]
		want := v.Parallelism
		if d.slots > 0 {
			want = min(want, d.slots)
		}
		return v.Tasks[msg.ExecutionRunning] == want, nil
	})
}

// AwaitRestart waits until the job has restarted once more, and its tasks run again.
func (d *Dawdler) AwaitRestart(t testing.TB) {
	t.Helper()
	wait.For(t, "the job is restarted", func() (bool, error) {
		now := d.Details(t)
		if now.State.GloballyTerminal() {
			return false, fmt.Errorf("the job is %s", now.State)
		}
		before := d.restarted
		d.restarted = now.Timestamps[msg.JobRestarting]
		return d.restarted > before, nil
	})
	d.AwaitTasks(t)
}

// CheckSucceeds opens the job's gate, and checks that the job finishes with the exact result.
func (d *Dawdler) CheckSucceeds(t testing.TB) {
	t.Helper()
	if diff := cmp.Diff(d.Want, d.Result(t)); diff != "" {
		t.Errorf("output differs (-want +got):\n%.2000s", diff)
	}
}

// Result opens the job's gate, checks that the job finishes and that nothing is left of it, and returns the lines of its
// output, sorted.
func (d *Dawdler) Result(t testing.TB) []string {
	t.Helper()
	d.Release(t)
	if got := d.Run.Wait(t); got.Code != 0 {
		t.Fatal(got)
	}
	app := d.User.WaitEnded(t, d.Application)
	if app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	d.User.CheckGone(t, d.Application)
	return d.User.Output(t, d.Output)
}

// CheckFails checks that the client ends with exit code 1 and names the reason, that YARN has the final status, and
// that no output is committed.
func (d *Dawdler) CheckFails(t testing.TB, state, status, why string) {
	t.Helper()
	got := d.Run.Wait(t)
	if got.Code != 1 || !strings.Contains(got.Stderr, why) {
		t.Errorf("want exit code 1 and %q, got %s", why, got)
	}
	app := d.User.WaitEnded(t, d.Application)
	if app.State != state || app.FinalStatus != status {
		t.Errorf("YARN says %s (%s), want %s (%s): %s", app.State, app.FinalStatus, state, status, app.Diagnostics)
	}
	if names := d.User.Names(t, d.Output); slices.Contains(names, "_SUCCESS") {
		t.Errorf("output of a job that did not finish is committed: %v", names)
	}
	d.User.CheckGone(t, d.Application)
}

// Processes lists the job's processes of one role by container.
func (d *Dawdler) Processes(t testing.TB, role Role) map[string]Process {
	t.Helper()
	found := make(map[string]Process)
	for _, p := range ProcessesIn(t, d.Application, role) {
		if other, twice := found[p.Container]; twice {
			t.Fatalf("two processes have the role %s of %s: %d and %d", role, p.Container, other.PID, p.PID)
		}
		found[p.Container] = p
	}
	return found
}

// First returns the process of that role in the first container.
func (d *Dawdler) First(t testing.TB, role Role) Process {
	t.Helper()
	var first Process
	for container, p := range d.Processes(t, role) {
		if first.Container == "" || container < first.Container {
			first = p
		}
	}
	if first.PID == 0 {
		t.Fatalf("%s has no %s", d.Application, role)
	}
	return first
}

// RootCause returns the first failure in REST's list.
func (d *Dawdler) RootCause(t testing.TB) string {
	t.Helper()
	var exceptions struct {
		Root *string `json:"root-exception"`
	}
	if err := d.Master.Get(t.Context(), "/jobs/"+d.Job+"/exceptions", &exceptions); err != nil {
		t.Fatal(err)
	}
	if exceptions.Root == nil {
		return ""
	}
	return *exceptions.Root
}
