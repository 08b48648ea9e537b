package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
)

// TestWordCountIsExact would catch a line that is read twice or not at all where
// blocks, splits or buffers meet; a record that is lost, doubled or torn between
// workers; an output that is committed before it is whole. The text has 200 MB in
// files of many blocks each, and small files of difficult lines.
func TestWordCountIsExact(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	text := generate(t, "-size", "200m", "-files", "3")
	for name, content := range edges() {
		if err := os.WriteFile(filepath.Join(text, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := alice.Scratch(t)
	stage(t, alice, text, dir+"/text", "16m")
	want := independently(t, countWords, text)
	words, distinct := total(t, want), int64(len(want))

	for _, c := range []struct {
		name    string
		workers int
		args    []string
	}{
		{"four workers with a slot each", 4, []string{"-p", "4", "-s", "1"}},
		{"two workers with two slots each", 2, []string{"-p", "4", "-s", "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			output := dir + "/counts-" + strconv.Itoa(c.workers)
			args := slices.Concat([]string{"run", "-t", "yarn-per-job", "-o", "json"}, c.args,
				[]string{suite.Program(t, "wordcount"), "--input", dir + "/text", "--output", output})
			run := alice.Start(t, args...)
			application := run.Application(t)
			seen := watchWorkers(t, alice, application, run)
			got := run.Wait(t)
			if got.Code != 0 {
				t.Fatal(got)
			}
			if len(seen) != c.workers {
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

// watchWorkers gives the containers in which task hosts were seen while the
// command ran.
func watchWorkers(t testing.TB, u *bobbintest.User, application string, run *bobbintest.Command) []string {
	t.Helper()
	seen := make(map[string]bool)
	bobbintest.Eventually(t, "the job ends", func() (bool, error) {
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
