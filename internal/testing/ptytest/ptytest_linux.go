// Package ptytest opens terminals, for tests of a program's output on a terminal, and for the program that records it.
//
// It starts a goroutine for each Watch, Session and use of On, and only these import it.
package ptytest

import (
	"errors"
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
	const rows = 24
	person, program, err := Pair(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	return person, program
}

// Pair is Open for a program that is no test. The caller closes both sides.
func Pair(columns, lines int) (person, program *os.File, err error) {
	person, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	fd := int(person.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil && columns > 0 {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(lines), Col: uint16(columns)})
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open a terminal: %w", err), person.Close())
	}
	return person, program, nil
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
