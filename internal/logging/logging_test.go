package logging

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
)

func content(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRotationKeepsTheNewestFiles would catch a rotation that loses or reorders
// lines, or that never deletes.
func TestRotationKeepsTheNewestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := openFile(dir, "a.log", 10, 3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if _, err := fmt.Fprintf(f, "line %d\n", i); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		got[e.Name()] = content(t, dir, e.Name())
	}
	want := map[string]string{"a.log": "line 5\n", "a.log.1": "line 4\n", "a.log.2": "line 3\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, errClosed) {
		t.Errorf("write after close: %v", err)
	}
}

func TestLinesStayWholeOverRotation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := openFile(dir, "a.out", 20, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := "first line\nsecond li" + "ne of the process\nthird\n"
	for _, chunk := range []string{text[:20], text[20:]} { // cut within the second line
		if n, err := f.Write([]byte(chunk)); err != nil || n != len(chunk) {
			t.Fatalf("wrote %d of %d: %v", n, len(chunk), err)
		}
	}
	all := ""
	for _, name := range []string{"a.out.1", "a.out"} {
		part := content(t, dir, name)
		all += part
	}
	if all != text {
		t.Errorf("got %q, want %q", all, text)
	}
}

// A disk that is full or gone for a moment must not silence a process for good.
func TestALogGoesOnAfterARotationThatFailed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := openFile(dir, "a.log", 10, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("line 0\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := f.Write([]byte("lost\n")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without a directory: %v", err)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("line 1\n")); err != nil {
		t.Errorf("with a directory again: %v", err)
	}
	if got := content(t, dir, "a.log"); got != "line 1\n" {
		t.Errorf("got %q", got)
	}
}

func TestAnExistingLogIsContinued(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, line := range []string{"one\n", "two\n"} {
		f, err := OpenFile(dir, "a.log")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if got := content(t, dir, "a.log"); got != "one\ntwo\n" {
		t.Errorf("got %q", got)
	}
	if _, err := OpenFile(filepath.Join(dir, "missing"), "a.log"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		writes []string
		want   string
	}{
		"a line cut into pieces":     {[]string{"he", "llo\nwor", "ld"}, "hello\nworld"},
		"nothing":                    {nil, ""},
		"fifty lines of more":        {[]string{strings.Repeat("x\n", 60)}, strings.TrimSpace(strings.Repeat("x\n", tailLines))},
		"a line without end":         {[]string{strings.Repeat("a", tailBytes), "b", strings.Repeat("c", tailBytes-2)}, "ab" + strings.Repeat("c", tailBytes-2)},
		"long lines push others out": {[]string{"first\n", strings.Repeat("z", tailBytes-1) + "\n"}, strings.Repeat("z", tailBytes-1)},
	} {
		var tail Tail
		w := tail.Source()
		for _, chunk := range test.writes {
			if n, err := w.Write([]byte(chunk)); err != nil || n != len(chunk) {
				t.Fatalf("%s: wrote %d, %v", name, n, err)
			}
		}
		if got := tail.String(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestTheCrashOutlivesItsStack would catch a report with fifty frames of a stack and without the
// panic's message.
func TestTheCrashOutlivesItsStack(t *testing.T) {
	t.Parallel()
	var tail Tail
	w := tail.Source()
	const beginning = "panic: no such thing [recovered]\n\tpanic: no such word\n\ngoroutine 1 [running]:\nmain.first()\n"
	fmt.Fprint(w, "starting\n"+beginning+strings.Repeat("main.f()\n", 1000))
	if got := tail.Crash(); !strings.HasPrefix(got, beginning) || len(got) > crashBytes {
		t.Errorf("got %q", got)
	}
	if strings.Contains(tail.String(), "no such") {
		t.Error("the stack was too short to show anything")
	}
	var quiet Tail
	fmt.Fprint(quiet.Source(), "don't panic: all is well\n")
	if got := quiet.Crash(); got != "" {
		t.Errorf("a line that mentions a panic is a crash: %q", got)
	}
}

func TestStreamsOfOneProcessDoNotMixLines(t *testing.T) {
	t.Parallel()
	var tail Tail
	var wg sync.WaitGroup
	for _, name := range []string{"out", "err"} {
		w := tail.Source()
		wg.Go(func() {
			for range 20 {
				for _, part := range []string{name, " ", name, "\n"} {
					_, _ = w.Write([]byte(part))
				}
			}
		})
	}
	wg.Wait()
	for line := range strings.SplitSeq(tail.String(), "\n") {
		if line != "out out" && line != "err err" {
			t.Errorf("mixed line %q", line)
		}
	}
}

func TestFieldsStandInOrder(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l, err := newLogger(&out, "info")
	if err != nil {
		t.Fatal(err)
	}
	l.WithFields(logrus.Fields{"err": errors.New("two\nlines"), "zeta": 1, "alpha": 2, "slot": 0, "job": "j", "app": "a"}).Warn("slot freed")
	l.Debug("too fine")
	line := out.String()
	if strings.Count(line, "\n") != 1 {
		t.Errorf("an event is not one line: %q", line)
	}
	at := -1
	for _, field := range []string{"time=", "level=warning", `msg="slot freed"`, "app=a", "job=j", "slot=0", "alpha=2", "zeta=1", `err="two\nlines"`} {
		next := strings.Index(line, field)
		if next <= at {
			t.Errorf("%s is not after the field before it: %q", field, line)
		}
		at = next
	}
	if _, err := newLogger(&out, "loud"); err == nil {
		t.Error("an unknown level was taken")
	}
}

func TestOpenWritesToTheNamedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, closer, err := Open(dir, "taskexecutor", "info")
	if err != nil {
		t.Fatal(err)
	}
	l.Info("started")
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, dir, "taskexecutor.log"); !strings.Contains(got, "msg=started") {
		t.Errorf("got %q", got)
	}
	if _, _, err := Open(dir, "x", "loud"); err == nil {
		t.Error("an unknown level was taken")
	}
}
