package full

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bobbin-yarn/bobbin/client/terminal/keyboard"
)

// escapeTime is how long the bytes after an ESC may take. Later, it was the key Esc.
const escapeTime = 50 * time.Millisecond

// read reads the terminal until Close, or until it is gone. It waits before it reads, because nothing else ends a read.
func (s *Screen) read(sent chan<- []byte) {
	defer s.Guard()
	defer close(sent)
	ready := []unix.PollFd{{Fd: int32(s.in.Fd()), Events: unix.POLLIN}, {Fd: int32(s.wake.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(ready, -1)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil || ready[1].Revents != 0:
			return
		}
		bytes := make([]byte, 256)
		n, err := s.in.Read(bytes)
		if err != nil {
			return
		}
		select {
		case sent <- bytes[:n]:
		case <-s.stopped:
			return
		}
	}
}

// decode passes the keys on.
func (s *Screen) decode(sent <-chan []byte) {
	defer s.Guard()
	defer close(s.keys)
	var decoder keyboard.Decoder
	escape := time.NewTimer(escapeTime)
	defer escape.Stop()
	for {
		var keys []keyboard.Key
		var over <-chan time.Time
		if decoder.Waits() {
			escape.Reset(escapeTime)
			over = escape.C
		}
		select {
		case bytes, open := <-sent:
			if !open {
				return
			}
			keys = decoder.Keys(bytes)
		case <-over:
			keys = decoder.Flush()
		case <-s.stopped:
			return
		}
		for _, key := range keys {
			select {
			case s.keys <- key:
			case <-s.stopped:
				return
			}
		}
	}
}
