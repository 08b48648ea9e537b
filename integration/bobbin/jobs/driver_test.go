package jobs

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestCollect would catch pages of a collected result that are lost, doubled or out of order
// between task, master, client and driver. It would also catch a master that keeps the whole
// result, which is larger than the master's limit.
func TestCollect(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	var text bytes.Buffer
	const lines = 1 << 20 // of 16 bytes: splits of the same size, because larger ones are read first
	for i := range lines {
		fmt.Fprintf(&text, "%015d\n", i)
	}
	alice.Write(t, dir+"/text", text.String())
	want := fmt.Sprintf("collected %d lines, %d bytes, sha256 %x\n", lines, text.Len(), sha256.Sum256(text.Bytes()))

	t.Run("on yarn", func(t *testing.T) {
		got := alice.Run(t, bobbintest.Small("-p", "1", suite.Program(t, "collector"), dir+"/text")...)
		if got.Code != 0 || got.Stdout != want {
			t.Errorf("want %s, got %s", want, got)
		}
		alice.CheckGone(t, got.Application(t))
	})
	t.Run("local mode", func(t *testing.T) {
		got := alice.Run(t, "run", "-t", "local", "-p", "1", suite.Program(t, "collector"), dir+"/text")
		if got.Code != 0 || got.Stdout != want {
			t.Errorf("want %s, got %s", want, got)
		}
	})
	t.Run("over 100 MiB", func(t *testing.T) {
		cluster.Long(t)
		inputs := slices.Repeat([]string{dir + "/text"}, 7)
		got := alice.Run(t, bobbintest.Small(slices.Concat([]string{"-p", "2", suite.Program(t, "collector")}, inputs)...)...)
		if got.Code != 1 || !strings.Contains(got.Stderr, "100 MiB") || !strings.Contains(got.Stderr, "file sink") || strings.Contains(got.Stderr, "RESTARTING") {
			t.Errorf("want exit code 1 and an error that names the limit and the way out at once, got %s", got)
		}
		alice.CheckGone(t, got.Application(t))
	})
}

// TestPrint would catch printed lines that go to the wrong place, that are mixed with each other,
// or that lack the number of their subtask.
func TestPrint(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	text := suite.Generate(t, "-size", "300k", "-files", "2")
	alice.Put(t, text, dir+"/text")
	want := bobbintest.CountWords(t, text)
	line := regexp.MustCompile(`(?m)^([12])> (.*)$`)
	counts := func(t *testing.T, printed string) {
		t.Helper()
		subtasks := make(map[string]bool)
		var got []string
		for _, match := range line.FindAllStringSubmatch(printed, -1) {
			subtasks[match[1]] = true
			got = append(got, match[2])
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" || len(subtasks) != 2 {
			t.Errorf("printed by subtasks %v; counts differ (-want +got):\n%.2000s", subtasks, diff)
		}
	}
	t.Run("on yarn", func(t *testing.T) {
		got := alice.Run(t, bobbintest.Small("-p", "2", "-s", "1", suite.Program(t, "wordcount"), "--input", dir+"/text")...)
		if got.Code != 0 || line.MatchString(got.Stdout) {
			t.Errorf("want exit code 0 and no counts on the client's stdout, got %s", got)
		}
		application := got.Application(t)
		alice.WaitEnded(t, application)
		alice.WaitLogs(t, application)
		var printed strings.Builder
		for file, text := range alice.Logs(t, application) {
			if strings.HasPrefix(file.Name, "taskhost-") && strings.HasSuffix(file.Name, ".out") {
				printed.WriteString(text)
			}
		}
		counts(t, printed.String())
	})
	t.Run("local mode", func(t *testing.T) {
		got := alice.Run(t, "run", "-t", "local", "-p", "2", suite.Program(t, "wordcount"), "--input", dir+"/text")
		if got.Code != 0 {
			t.Error(got)
		}
		counts(t, got.Stdout)
	})
}

// TestDetached would catch a detached client that waits for the job's end, or that ends the
// application. It would also catch a master that waits for a client that has ended.
func TestDetached(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "2", "-tm", "512m", "-d")
	got := d.Run.Wait(t)
	if got.Code != 0 || !strings.Contains(got.Stdout, "the driver goes on: detached=true") {
		t.Errorf("want exit code 0 and a driver that went on, got %s", got)
	}
	for _, advice := range []string{"bobbin logs " + d.Application, "bobbin kill " + d.Application} {
		if !strings.Contains(got.Stderr, advice) {
			t.Errorf("the client does not say %q: %s", advice, got)
		}
	}
	d.CheckSucceeds(t)
}

// TestDriverGoesOn would catch a driver that ends with its job, or that gets the result before the
// output is complete.
func TestDriverGoesOn(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "2", "-tm", "512m")
	if said := d.Run.Seen().Stdout; said != "" {
		t.Errorf("the driver goes on while the job runs: %q", said)
	}
	d.CheckSucceeds(t)
	if want, said := fmt.Sprintf("the driver goes on: detached=false lines=%d\n", total(t, d.Want)), d.Run.Seen().Stdout; said != want {
		t.Errorf("the driver said %q, want %q", said, want)
	}
}
