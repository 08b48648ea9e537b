package jobs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestWordCountIsExact would catch a line that is read twice or not at all where
// blocks, splits or buffers meet; a record that is lost, doubled or torn between
// workers; an output that is committed before it is whole; and whatever an attempt
// that failed in full flow leaves in the result or the counters of the next. The
// text has 200 MB in files of many blocks each, and small files of difficult lines.
func TestWordCountIsExact(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	text := suite.Generate(t, "-size", "200m", "-files", "3")
	for name, content := range edges() {
		if err := os.WriteFile(filepath.Join(text, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := alice.Scratch(t)
	stage(t, alice, text, dir+"/text", "16m")
	want := bobbintest.CountWords(t, text)
	words, distinct := total(t, want), int64(len(want))

	for _, c := range []struct {
		name    string
		workers int // 0: their number changes
		args    []string
		disturb func(t testing.TB, application string)
	}{
		{"four workers with a slot each", 4, []string{"-p", "4", "-s", "1"}, nil},
		{"two workers with two slots each", 2, []string{"-p", "4", "-s", "2"}, nil},
		{"a task host and then a worker are killed", 0, []string{"-p", "4", "-s", "1"}, killInFlow},
	} {
		t.Run(c.name, func(t *testing.T) {
			output := fmt.Sprintf("%s/counts-%d", dir, c.workers)
			args := slices.Concat([]string{"run", "-t", "yarn-per-job", "-o", "json"}, c.args,
				[]string{suite.Program(t, "wordcount"), "--input", dir + "/text", "--output", output})
			run := alice.Start(t, args...)
			application := run.Application(t)
			if c.disturb != nil {
				c.disturb(t, application)
			}
			seen := watchWorkers(t, alice, application, run)
			got := run.Wait(t)
			if got.Code != 0 {
				t.Fatal(got)
			}
			if c.workers > 0 && len(seen) != c.workers {
				t.Errorf("the job ran in %d containers %v, want %d", len(seen), seen, c.workers)
			}
			if diff := cmp.Diff(want, alice.Output(t, output)); diff != "" {
				t.Errorf("counts differ (-want +got):\n%.2000s", diff)
			}
			report := got.JSON(t)
			counters := map[string]int64{"words": words, "distinct": distinct}
			if diff := cmp.Diff(counters, report.Counters); diff != "" {
				t.Errorf("counters differ (-want +got):\n%s", diff)
			}
			app := alice.WaitEnded(t, application)
			if app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
				t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
			}
			alice.CheckGone(t, application)
		})
	}
	t.Run("local mode", func(t *testing.T) {
		output := dir + "/counts-local"
		got := alice.StartProgram(t, suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", output).Wait(t)
		if got.Code != 0 {
			t.Fatal(got)
		}
		if diff := cmp.Diff(want, alice.Output(t, output)); diff != "" {
			t.Errorf("counts differ (-want +got):\n%.2000s", diff)
		}
	})
}

// killInFlow kills a task host that is amid its input, and after the restart the
// worker of one that is.
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

// busyHost waits for a task host, none of the old ones, that has read 5 MB: some,
// and far from all of its share of 50 MB.
func busyHost(t testing.TB, application string, old []bobbintest.Process) (busy bobbintest.Process) {
	t.Helper()
	wait.For(t, "a task host is amid its input", func() (bool, error) {
		for _, p := range bobbintest.ProcessesIn(t, application, bobbintest.TaskHost) {
			if !slices.Contains(old, p) && p.Read(t) > 5<<20 {
				busy = p
				return true, nil
			}
		}
		return false, nil
	})
	return busy
}

// watchWorkers gives the containers in which task hosts were seen while the
// command ran.
func watchWorkers(t testing.TB, u *bobbintest.User, application string, run *bobbintest.Command) []string {
	t.Helper()
	seen := make(map[string]bool)
	wait.For(t, "the job ends", func() (bool, error) {
		for _, p := range bobbintest.ProcessesIn(t, application, bobbintest.TaskHost) {
			seen[p.Container] = true
		}
		return !run.Running() || bobbintest.Ended(u.App(t, application)), nil
	})
	containers := make([]string, 0, len(seen))
	for c := range seen {
		containers = append(containers, c)
	}
	slices.Sort(containers)
	return containers
}

// total adds up the counts behind the tabs.
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
