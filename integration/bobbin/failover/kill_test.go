package failover

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
)

// TestASessionOutlivesItsMaster kills the ApplicationMaster of a session with jobs that run and one that has ended. While
// no NodeManager works, YARN starts no other. It would catch any job that is lost or begins as another one; workers and
// task hosts that do not stay; clients that do not follow, and commands that take the death for the end.
func TestASessionOutlivesItsMaster(t *testing.T) {
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "pauses the NodeManagers")
	u := suite.UserOf(t, c, bobbintest.Alice)
	jobs := 2
	if longtest.Is() {
		jobs = 5
	}
	for i := range cluster.Times(t, 3) {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			s := startSession(t, u, jobs)
			before := processes(t, s.id)
			for n := range c.NodeManagers() {
				if err := c.Pause(t.Context(), fmt.Sprintf("nodemanager%d", n+1)); err != nil {
					t.Fatal(err)
				}
			}
			master(t, s.id).Kill(t)
			checkUnanswered(t, s)
			for n := range c.NodeManagers() {
				if err := c.Resume(fmt.Sprintf("nodemanager%d", n+1)); err != nil {
					t.Fatal(err)
				}
			}
			s.checkFollowed(t)
			checkStayed(t, s.id, before)
			checkHistory(t, u, s.id, "137")
			s.checkEnds(t)
		})
	}
}

// TestAnApplicationOutlivesItsMasterInItsSecondJob would catch a first job that runs again, or whose result the driver
// does not get again; a second job that is lost or runs twice; and a driver that outlives its master and continues beside
// its successor.
func TestAnApplicationOutlivesItsMasterInItsSecondJob(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
	for i := range cluster.Times(t, 3) {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			t.Parallel()
			slow := suite.SlowJob(t, u)
			first := slow.Output + "-before"
			args := slices.Insert(slices.Clone(slow.Args), 1, "-before", first)
			got := u.Run(t, append([]string{
				"run-application", "-jm", "256m", "-tm", "512m", "-s", "2", "-p", "2",
				"-D", "slotmanager.number-of-slots.max=2", // so that there is no other worker
			}, args...)...)
			if got.Code != 0 {
				t.Fatal(got)
			}
			d := &bobbintest.Dawdler{SlowJob: slow, User: u, Application: got.Application(t)}
			t.Cleanup(func() { u.Run(t, "kill", d.Application) })
			jobs := secondJob(t, d)
			d.Resume(t)
			written := tree(t, u, first)
			before, driver := hosted(t, d.Application), bobbintest.ProcessesIn(t, d.Application, bobbintest.Driver)

			master(t, d.Application).Kill(t)
			d.AwaitSuccessor(t)
			wait.For(t, "another driver runs in place of the first one", func() (bool, error) {
				if app := u.App(t, d.Application); bobbintest.Ended(app) {
					return false, fmt.Errorf("the application is %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
				}
				now := bobbintest.ProcessesIn(t, d.Application, bobbintest.Driver)
				return len(now) == 1 && len(driver) == 1 && now[0].PID != driver[0].PID, nil
			})
			checkStayed(t, d.Application, before)
			d.Release(t)
			app := u.WaitEnded(t, d.Application)
			if app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
				t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
			}
			if diff := cmp.Diff(written, tree(t, u, first)); diff != "" {
				t.Errorf("the first job's output was written again (-before +after):\n%s", diff)
			}
			for _, output := range []string{first, d.Output} {
				if diff := cmp.Diff(d.Want, u.Output(t, output)); diff != "" {
					t.Errorf("output %s differs (-want +got):\n%.2000s", output, diff)
				}
			}
			u.CheckGone(t, d.Application)
			checkDrivers(t, d, jobs)
		})
	}
}

// secondJob waits until the application's second job runs, and names both jobs.
func secondJob(t *testing.T, d *bobbintest.Dawdler) (ids []string) {
	t.Helper()
	m := d.User.Master(t, d.Application)
	wait.For(t, "the second job runs", func() (bool, error) {
		var overview struct {
			Jobs []struct {
				ID    string `json:"jid"`
				State string
				Start int64 `json:"start-time"`
			}
		}
		if err := m.Get(t.Context(), "/jobs/overview", &overview); err != nil || len(overview.Jobs) < 2 {
			return false, err
		}
		ids = nil
		for _, job := range overview.Jobs {
			ids = append(ids, job.ID)
			if job.State == "RUNNING" {
				d.Job = job.ID
			}
		}
		return d.Job != "", nil
	})
	return ids
}

// hosted returns an application's only worker and the task host of its second job, once that of the first has ended.
func hosted(t *testing.T, application string) (found []bobbintest.Process) {
	t.Helper()
	wait.For(t, "the task host of the first job has ended", func() (bool, error) {
		found = processes(t, application)
		return len(found) == 2, nil
	})
	return found
}

// checkDrivers checks in the logs that the drivers of both attempts had the first job's result.
func checkDrivers(t *testing.T, d *bobbintest.Dawdler, jobs []string) {
	t.Helper()
	d.User.WaitLogs(t, d.Application)
	told := 0
	for _, text := range d.User.Logs(t, d.Application) {
		told += strings.Count(text, fmt.Sprintf("the first job is done: lines=%d\n", lines(t, d.Want)))
	}
	if told != 2 {
		t.Errorf("%d drivers have told the first job's result, want both of the attempts; the jobs were %v", told, jobs)
	}
}

// lines adds up counts.
func lines(t *testing.T, counts []string) (sum int) {
	t.Helper()
	for _, line := range counts {
		_, count, _ := strings.Cut(line, "\t")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestAJobOutlivesItsMasterAtAnyTime kills the ApplicationMaster of a word count when its tasks have read a part of the
// text, each time a larger one. It would catch a record that is lost, counted twice or torn, wherever the job is, also in
// the counters, and files of the first attempt that remain.
func TestAJobOutlivesItsMasterAtAnyTime(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	const size = 40 << 20
	u := suite.User(t, bobbintest.Alice)
	text := suite.Generate(t, "-size", strconv.Itoa(size), "-files", "4")
	want := bobbintest.CountWords(t, text)
	dir := u.Scratch(t)
	u.Put(t, text, dir+"/text")
	times := cluster.Times(t, 20)
	for i := range times {
		t.Run(strconv.Itoa(i+1), func(t *testing.T) {
			t.Parallel()
			output := fmt.Sprintf("%s/counts-%d", dir, i)
			run := u.Start(t, bobbintest.Small("-p", "4", "-s", "2", "-tm", "512m", "-o", "json", suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", output)...)
			id := run.Application(t)
			killAt(t, run, id, int64(size)*int64(2*i+1)/int64(2*times))
			got := run.Wait(t)
			if got.Code != 0 {
				t.Fatal(got)
			}
			if diff := cmp.Diff(want, u.Output(t, output)); diff != "" {
				t.Errorf("counts differ (-want +got):\n%.2000s", diff)
			}
			counters := map[string]int64{"words": int64(lines(t, want)), "distinct": int64(len(want))}
			if diff := cmp.Diff(counters, got.JSON(t).Counters); diff != "" {
				t.Errorf("counters differ (-want +got):\n%s", diff)
			}
			app := u.WaitEnded(t, id)
			if app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
				t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
			}
			u.CheckGone(t, id)
		})
	}
}

// killAt kills an application's first ApplicationMaster when its tasks have read this number of bytes.
func killAt(t *testing.T, run *bobbintest.Command, application string, bytes int64) {
	t.Helper()
	var victim bobbintest.Process
	wait.For(t, fmt.Sprintf("the tasks have read %d bytes", bytes), func() (bool, error) {
		if !run.Running() {
			return false, fmt.Errorf("the job has ended before: %s", run.Seen())
		}
		masters := bobbintest.ProcessesIn(t, application, bobbintest.ApplicationMaster)
		if len(masters) != 1 {
			return false, nil
		}
		victim = masters[0]
		var read int64
		for _, host := range bobbintest.ProcessesIn(t, application, bobbintest.TaskHost) {
			read += host.Read(t)
		}
		return read >= bytes, nil
	})
	victim.Kill(t)
	cluster.Figure(t, "the ApplicationMaster was killed after %d bytes", bytes)
}

// tree lists all files and directories below one, with their sizes and times.
func tree(t *testing.T, u *bobbintest.User, dir string) (found []string) {
	t.Helper()
	files := u.Files(t)
	entries, err := files.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found = append(found, fmt.Sprintf("%s %d %s", filepath.Base(e.URI), e.Size, e.ModTime))
		if e.IsDir {
			found = append(found, tree(t, u, e.URI)...)
		}
	}
	return found
}
