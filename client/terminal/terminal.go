// Package terminal fits text to the screen that a person looks at: it knows how wide that is, how many cells of it a
// text takes, and what to do with tables and lines that are wider. It also keeps others' text from doing anything to the
// screen (Screen). What goes to a pipe or a file is left as it is.
// Widths are in cells, of which a letter of Chinese, say, takes two. It starts no goroutine.
package terminal

import (
	"os"

	"golang.org/x/term"
)

// Is tells whether a stream is a person's.
func Is(stream any) bool {
	file, is := fileOf(stream)
	return is && term.IsTerminal(int(file.Fd()))
}

// Columns is how many cells a line of a terminal has; 0: the stream is none, or does not tell.
func Columns(stream any) int {
	file, is := fileOf(stream)
	if !is {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}

func fileOf(stream any) (file *os.File, is bool) {
	if s, behind := stream.(*screen); behind {
		return s.file, true
	}
	file, is = stream.(*os.File)
	return file, is
}
