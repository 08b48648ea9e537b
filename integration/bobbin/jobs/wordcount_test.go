package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestWordCountIsExact would catch a line that is read twice or not at all at the border of blocks, splits or buffers,
// a record that is lost, doubled or torn between workers, and an output that is committed before it is complete. The
// text has files of many blocks, and small files of difficult lines.
func TestWordCountIsExact(t *testing.T) {
	t.Parallel()
	l := stageLanguage(t, "9m", "1m")
	for _, c := range []struct {
		name    string
		workers int
		args    []string
	}{
		{"four workers with a slot each", 4, []string{"-p", "4", "-s", "1"}},
		{"two workers with two slots each", 2, []string{"-p", "4", "-s", "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			application := l.count(t, c.args, func(testing.TB, string) {})
			l.user.WaitLogs(t, application)
			workers := make(map[string]bool)
			for file := range l.user.Logs(t, application) {
				if strings.HasPrefix(file.Name, "taskhost-") {
					workers[file.Container] = true
				}
			}
			if len(workers) != c.workers {
				t.Errorf("the job ran in %d containers %v, want %d", len(workers), workers, c.workers)
			}
		})
	}
	t.Run("local mode", func(t *testing.T) {
		t.Parallel()
		output := l.dir + "/counts-local"
		got := l.user.StartProgram(t, suite.Program(t, "wordcount"), "--input", l.dir+"/text", "--output", output).Wait(t)
		if got.Code != 0 {
			t.Fatal(got)
		}
		if diff := cmp.Diff(l.want, l.user.Output(t, output)); diff != "" {
			t.Errorf("counts differ (-want +got):\n%.2000s", diff)
		}
	})
}

// TestWordCountIsExactAfterFailuresInFullFlow would catch any effect of a failed attempt on the result or the counters
// of the next attempt.
func TestWordCountIsExactAfterFailuresInFullFlow(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	l := stageLanguage(t, "200m", "16m") // long enough for the test to find a host in the middle of it
	l.count(t, []string{"-p", "4", "-s", "1"}, killInFlow)
}

// language is a text on HDFS, with word counts from an independent program.
type language struct {
	user *bobbintest.User
	dir  string
	want []string
}

// stageLanguage makes a text of this size, in blocks of this size.
func stageLanguage(t *testing.T, size, block string) language {
	t.Helper()
	alice := suite.User(t, bobbintest.Alice)
	text := suite.Generate(t, "-size", size, "-files", "3")
	for name, content := range edges() {
		if err := os.WriteFile(filepath.Join(text, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := language{alice, alice.Scratch(t), bobbintest.CountWords(t, text)}
	stage(t, alice, text, l.dir+"/text", block)
	return l
}

// count runs a word count in an application of its own, calls meanwhile during the run, and checks all reports of the
// result.
func (l language) count(t *testing.T, flags []string, meanwhile func(t testing.TB, application string)) string {
	t.Helper()
	output := l.dir + "/counts-" + strings.Join(flags, "")
	args := slices.Concat([]string{"run", "-t", "yarn-per-job", "-o", "json"}, flags,
		[]string{suite.Program(t, "wordcount"), "--input", l.dir + "/text", "--output", output})
	run := l.user.Start(t, args...)
	application := run.Application(t)
	meanwhile(t, application)
	got := run.Wait(t)
	if got.Code != 0 {
		t.Fatal(got)
	}
	if diff := cmp.Diff(l.want, l.user.Output(t, output)); diff != "" {
		t.Errorf("counts differ (-want +got):\n%.2000s", diff)
	}
	counters := map[string]int64{"words": total(t, l.want), "distinct": int64(len(l.want))}
	if diff := cmp.Diff(counters, got.JSON(t).Counters); diff != "" {
		t.Errorf("counters differ (-want +got):\n%s", diff)
	}
	app := l.user.WaitEnded(t, application)
	if app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	l.user.CheckGone(t, application)
	return application
}

// killInFlow kills a task host in the middle of its input, and after the restart a worker whose host is.
func killInFlow(t testing.TB, application string) {
	t.Helper()
	victim := busyHost(t, application, nil)
	before := bobbintest.ProcessesIn(t, application, bobbintest.TaskHost)
	victim.Kill(t)
	victim = busyHost(t, application, before)
	for _, p := range bobbintest.ProcessesIn(t, application, bobbintest.TaskExecutor) {
		if p.Container == victim.Container {
			p.Kill(t)
		}
	}
}

// busyHost waits for a new task host that has read 5 MB of its share of 50 MB.
func busyHost(t testing.TB, application string, old []bobbintest.Process) (busy bobbintest.Process) {
	t.Helper()
	wait.Until(t, "a task host is amid its input", func() bool {
		for _, p := range bobbintest.ProcessesIn(t, application, bobbintest.TaskHost) {
			if !slices.Contains(old, p) && p.Read(t) > 5<<20 {
				busy = p
				return true
			}
		}
		return false
	})
	return busy
}

// total adds up the counts after the tabs.
func total(t testing.TB, lines []string) (sum int64) {
	t.Helper()
	for _, line := range lines {
		_, count, _ := strings.Cut(line, "\t")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}
