package logging

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
)

// Bounds of a Tail.
const (
	tailLines = 50
	tailBytes = 8 << 10

	crashBytes = 3 << 10
)

// Tail keeps the last lines that a process printed, for the report of its end:
// at most 50 lines and 8 KiB. It may be used from any goroutine.
type Tail struct {
	mu    sync.Mutex // guards what follows, and the sources' partial lines
	lines []string   // oldest first
	bytes int        // of lines, newlines included
	crash []byte     // from the announcement on
	open  []*source
}

// source is one stream of a process; its lines don't mix with another's.
type source struct {
	tail    *Tail
	partial []byte // the line that is not at its end yet, its last tailBytes
}

// Source gives a writer for one of the process's streams. Writes never fail.
func (t *Tail) Source() io.Writer {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := &source{tail: t}
	t.open = append(t.open, s)
	return s
}

func (s *source) Write(p []byte) (int, error) {
	s.tail.mu.Lock()
	defer s.tail.mu.Unlock()
	n := len(p)
	for {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			s.extend(p)
			return n, nil
		}
		s.extend(p[:end])
		s.tail.add(string(s.partial))
		s.partial = s.partial[:0]
		p = p[end+1:]
	}
}

func (s *source) extend(p []byte) {
	if len(p) > tailBytes {
		p = p[len(p)-tailBytes:]
	}
	if excess := len(s.partial) + len(p) - tailBytes; excess > 0 {
		s.partial = append(s.partial[:0], s.partial[excess:]...)
	}
	s.partial = append(s.partial, p...)
}

// announcements begin the lines with which the Go runtime announces a crash.
var announcements = []string{"panic: ", "fatal error: ", "runtime: out of memory"}

func (t *Tail) add(line string) {
	if slices.ContainsFunc(announcements, func(a string) bool { return strings.HasPrefix(line, a) }) {
		t.crash = make([]byte, 0, crashBytes)
	}
	if room := crashBytes - len(t.crash); t.crash != nil && room > 0 {
		t.crash = append(append(t.crash, line[:min(len(line), room-1)]...), '\n')
	}
	t.lines = append(t.lines, line)
	t.bytes += len(line) + 1
	drop := 0
	for len(t.lines)-drop > tailLines || t.bytes > tailBytes && len(t.lines)-drop > 1 {
		t.bytes -= len(t.lines[drop]) + 1
		drop++
	}
	t.lines = t.lines[drop:]
}

// Crash gives the line with which the Go runtime last announced a crash and what
// followed it, 3 KiB in all, or "". A long stack pushes its own beginning out of
// the last lines.
func (t *Tail) Crash() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimRight(string(t.crash), "\n")
}

// String gives the lines, the unfinished ones last.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	for _, line := range t.lines {
		text.WriteString(line)
		text.WriteByte('\n')
	}
	for _, s := range t.open {
		text.Write(s.partial)
	}
	kept := strings.TrimRight(text.String(), "\n")
	return kept[max(0, len(kept)-tailBytes):]
}
