// Package ptytest opens terminals, for tests of a program's output on a terminal.
//
// It starts a goroutine for each Watch, and only tests import it.
package ptytest

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Open opens a pair of pseudo-terminal devices, see pts(4): the user's side, and the program's
// side, whose screen has this number of columns. With 0 the width is unknown.
func Open(t testing.TB, columns int) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	fd := int(person.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil && columns > 0 {
		const rows = 24
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: uint16(columns)})
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = person.Close()
		t.Fatalf("open a terminal: %v", err)
	}
	return person, program
}

// Watch opens a terminal of unknown width. shown closes it and returns the text that was written to
// it, with the programs' line ends. All other holders of screen must have closed it before.
func Watch(t testing.TB) (screen *os.File, shown func() string) {
	t.Helper()
	person, screen := Open(t, 0)
	var sent strings.Builder
	ended := make(chan struct{}) // closed when all output has been read
	go func() {                  // ends when the last holder of screen closes it
		defer close(ended)
		_, _ = io.Copy(&sent, person) // EIO at the end
	}()
	t.Cleanup(func() {
		_ = screen.Close()
		<-ended
		_ = person.Close()
	})
	return screen, func() string {
		_ = screen.Close()
		<-ended
		return strings.ReplaceAll(sent.String(), "\r\n", "\n")
	}
}
