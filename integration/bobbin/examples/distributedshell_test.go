package examples

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const shell = "distributedshell"

// nothingStaged checks that the program has removed its files from HDFS.
func nothingStaged(t *testing.T, application string) {
	t.Helper()
	files := suite.User(t, bobbintest.Alice).Files(t)
	dir, err := files.Qualify("/user/" + bobbintest.Alice + "/.distributedshell/" + application)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Stat(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// The test would catch a copy that does not run or runs twice, and a command that the shell gets with changes.
func TestEachCopyRunsOnceAndAsTyped(t *testing.T) {
	t.Parallel()
	got := runs(t, shell, "-copies", "3", `words="copy  $SHELL_COPY"; echo "$words {{HOME}} <CPS>"; echo '\"' >&2`)
	if got.Code != 0 || !strings.Contains(got.Stdout, "all copies have run") {
		t.Fatal(got)
	}
	id := got.Application(t)
	var want []string
	for i := range 3 {
		want = append(want, fmt.Sprintf("copy  %d {{HOME}} <CPS>", i))
	}
	logs := logs(t, id)
	lines := strings.Split(strings.TrimSpace(written(logs, "stdout")), "\n")
	if slices.Sort(lines); !slices.Equal(lines, want) {
		t.Errorf("the copies have written %q, want %q", lines, want)
	}
	if errors := written(logs, "stderr"); errors != strings.Repeat("\\\"\n", 3) {
		t.Errorf("the copies have written %q to stderr", errors)
	}
	report := ended(t, id)
	if report.State != records.ApplicationFinished || report.FinalStatus != records.FinalSucceeded || report.User != bobbintest.Alice {
		t.Errorf("it ended as %+v", report)
	}
	nothingStaged(t, id)
}

// The test would catch missing retries, and retries of copies that succeeded.
func TestCopiesThatFailRunAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	// The second copy is killed once. The third copy fails twice.
	command := fmt.Sprintf(`cd %q; echo x >> "$SHELL_COPY"; case $SHELL_COPY-$(wc -l < $SHELL_COPY) in 1-1) kill -9 $$;; 2-1|2-2) exit 7;; esac`, dir)
	got := runs(t, shell, "-copies", "3", "-retries", "2", command)
	if got.Code != 0 {
		t.Fatal(got)
	}
	for name, tries := range map[string]int{"0": 1, "1": 2, "2": 3} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(text) != strings.Repeat("x\n", tries) {
			t.Errorf("copy %s has run as %q, %v, want %d times", name, text, err, tries)
		}
	}
}

// The test would catch an application that waits for its other copies although it can no longer succeed, and one
// without a reason in its diagnostics.
func TestACopyThatFailsTooOftenFailsTheApplication(t *testing.T) {
	t.Parallel()
	got := runs(t, shell, "-copies", "2", "-retries", "1", `echo "this is why" >&2; [ "$SHELL_COPY" = 0 ] || exit 7; exec sleep 1000`)
	id := got.Application(t)
	if got.Code != 1 || !strings.Contains(got.Stderr, "copy 1 has failed 2 times") || !strings.Contains(got.Stderr, "this is why") {
		t.Error(got)
	}
	if report := ended(t, id); report.State != records.ApplicationFinished || report.FinalStatus != records.FinalFailed {
		t.Errorf("it ended as %s, %s", report.State, report.FinalStatus)
	}
	nothingStaged(t, id)
}

// The test would catch a configuration in an environment variable, which the kernel limits to 128 KiB (MAX_ARG_STRLEN).
func TestALargeConfigurationReachesTheMaster(t *testing.T) {
	t.Parallel()
	alice, dir := suite.User(t, bobbintest.Alice), t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(alice.Cluster.ConfDir())); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "yarn-site.xml")
	site, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	more := "<property><name>x</name><value>" + strings.Repeat("x", 128<<10) + "</value></property></configuration>"
	if err := os.WriteFile(file, []byte(strings.Replace(string(site), "</configuration>", more, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	got := alice.With("HADOOP_CONF_DIR="+dir).StartProgram(t, suite.Program(t, shell), "true").Wait(t)
	if got.Code != 0 || !strings.Contains(got.Stdout, "all copies have run") {
		t.Error(got)
	}
}

// The test would catch an application that continues after its client has ended, and files that remain on HDFS.
func TestAnInterruptedClientLeavesNothing(t *testing.T) {
	t.Parallel()
	client := suite.User(t, bobbintest.Alice).StartProgram(t, suite.Program(t, shell), "sleep 1000")
	client.Says(t, string(records.ApplicationRunning))
	client.Signal(t, os.Interrupt)
	got := client.Wait(t)
	id := got.Application(t)
	if got.Code != 1 || !strings.Contains(got.Stderr, "interrupted") {
		t.Error(got)
	}
	if report := ended(t, id); report.State != records.ApplicationKilled {
		t.Errorf("it ended as %s", report.State)
	}
	nothingStaged(t, id)
}

// The test would catch an application that is submitted without a command, or with only a part of the arguments.
func TestWhatCannotBeRunIsRefusedWithoutAnApplication(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no command":      {},
		"two commands":    {"true", "false"},
		"no copies":       {"-copies", "0", "true"},
		"an unknown flag": {"-copy", "1", "true"},
	} {
		if got := runs(t, shell, args...); got.Code == 0 || strings.Contains(got.Stdout, "application_") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
