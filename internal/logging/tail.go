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

// Tail keeps the last lines of a process's output for the report of its end: at most 50 lines and 8
// KiB. Any goroutine may use it.
type Tail struct {
	mu    sync.Mutex // guards what follows, and the sources' partial lines
	lines []string   // oldest first
	bytes int        // of lines, newlines included
	crash []byte     // the output from the announcement of a crash on
	open  []*source
}

// source is one stream of a process. Its lines do not mix with those of other streams.
type source struct {
	tail    *Tail
	partial []byte // the last tailBytes of the unfinished line
}

// Source returns a writer for one stream of the process. Writes never fail.
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

// announcements are the beginnings of lines by which the Go runtime announces a crash.
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

// Crash returns the Go runtime's last announcement of a crash and what follows it, at most 3 KiB,
// or "". The last lines alone may not have it, because a long stack displaces its own beginning.
func (t *Tail) Crash() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimRight(string(t.crash), "\n")
}

// String returns the lines; unfinished lines are last.
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
