// Package ptytest opens terminals, for tests of what a person sees there.
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

// Open makes a pair of pseudo-terminal devices, see pts(4): the person's side, and that of a program, whose screen is so
// many columns wide. With 0 it does not tell how wide it is.
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

// Watch opens a terminal of unknown width. shown ends it, and gives what it was sent, with the line ends that programs
// write. Whoever else has the screen must have closed it.
func Watch(t testing.TB) (screen *os.File, shown func() string) {
	t.Helper()
	person, screen := Open(t, 0)
	var sent strings.Builder
	ended := make(chan struct{}) // closed when all has been read
	go func() {                  // ends with the last one who has the screen
		defer close(ended)
		_, _ = io.Copy(&sent, person) // EIO then
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
