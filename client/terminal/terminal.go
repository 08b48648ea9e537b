// Package terminal fits text to the screen that a person looks at: it knows how wide that is, how many cells of it a
// text takes, and what to do with tables and lines that are wider. What goes to a pipe or a file is left as it is.
// Widths are in cells, of which a letter of Chinese, say, takes two. It keeps no state and starts no goroutine.
package terminal

import (
	"os"

	"golang.org/x/term"
)

// Is tells whether a stream is a person's.
func Is(stream any) bool {
	file, is := stream.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// Columns is how many cells a line of a terminal has; 0: the stream is none, or does not tell.
func Columns(stream any) int {
	file, is := stream.(*os.File)
	if !is {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
