package terminal

import (
	"bytes"
	"io"
	"os"
	"slices"
	"sync"
	"unicode/utf8"
)

// Screen returns a writer for text that partly comes from others: names, errors of servers, logs. On a terminal
// the writer replaces characters that control the terminal, like VisibleLines; a pipe or a file gets the text
// unchanged. A command that controls the terminal itself uses Raw.
func Screen(out io.Writer) io.Writer {
	file, is := out.(*os.File)
	if !is || !Is(file) {
		return out
	}
	return &screen{file: file, out: file}
}

// Raw is the writer behind a Screen, for child processes, and for code that draws on the terminal. It must not
// get others' text.
func Raw(out io.Writer) io.Writer {
	if s, is := out.(*screen); is {
		return s.file
	}
	return out
}

// screen is a Screen that is a terminal. It may be used from any goroutine.
type screen struct {
	file *os.File
	out  io.Writer // the same

	mu   sync.Mutex // guards rest
	rest []byte     // the start of a character or of a line end, which the next Write may complete
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := slices.Concat(s.rest, p)
	whole := len(text) - unfinished(text)
	s.rest = bytes.Clone(text[whole:])
	if _, err := io.WriteString(s.out, VisibleLines(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// unfinished is how many bytes at the end of a text may change their meaning with the bytes that follow.
func unfinished(text []byte) int {
	if bytes.HasSuffix(text, []byte("\r")) {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
