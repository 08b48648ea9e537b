// Package terminal fits text to a person's terminal: it knows the width of the terminal, the cells of a text,
// and how to shorten tables and break lines. It also keeps text that comes from others from controlling the
// terminal (Screen). Text for a pipe or a file stays unchanged. Widths are in cells; a Chinese character, for
// example, takes two. It starts no goroutine.
package terminal

import (
	"os"

	"golang.org/x/term"
)

// Is tells whether a stream is a terminal.
func Is(stream any) bool {
	if later, is := stream.(*Later); is {
		return Is(later.out)
	}
	file, is := fileOf(stream)
	return is && term.IsTerminal(int(file.Fd()))
}

// Columns is how many cells a line of a terminal has; 0 if the stream is no terminal, or does not tell.
func Columns(stream any) int {
	if later, is := stream.(*Later); is {
		return Columns(later.out)
	}
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

// Lines is how many lines a terminal has; 0 if the stream is no terminal, or does not tell.
func Lines(stream any) int {
	file, is := fileOf(stream)
	if !is {
		return 0
	}
	_, lines, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return lines
}

func fileOf(stream any) (file *os.File, is bool) {
	if s, behind := stream.(*screen); behind {
		return s.file, true
	}
	file, is = stream.(*os.File)
	return file, is
}
