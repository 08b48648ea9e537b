package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestLogStaysShort would catch a line per block of an upload in a log file.
func TestLogStaysShort(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	for done := range int64(1001) {
		p.Moving("upload bobbin", done, 1000, " MB")
	}
	p.Line("submitted")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 12 { // 0 %, 10 %, … 100 % and the state
		t.Errorf("printed %d lines:\n%s", len(lines), out.String())
	}
	if got, want := lines[len(lines)-2], "upload bobbin: 1000 of 1000 MB"; got != want {
		t.Errorf("last progress = %q, want %q", got, want)
	}
}

// TestTerminalLineIsWrittenOver would catch the rest of a longer line that
// stays on the screen behind a shorter one.
func TestTerminalLineIsWrittenOver(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	p := New(&out)
	p.terminal, p.now = true, func() time.Time { return now }
	p.Moving("tasks", 10, 20, " done")
	p.Moving("tasks", 11, 20, " done") // too soon
	now = now.Add(time.Second)
	p.Moving("tasks", 9, 20, " done")
	p.Line("job FINISHED")
	want := "\rtasks: 10 of 20 done\rtasks: 9 of 20 done \r" + strings.Repeat(" ", 19) + "\rjob FINISHED\n"
	if got := out.String(); got != want {
		t.Errorf("wrote %q, want %q", got, want)
	}
}
