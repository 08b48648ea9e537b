package full

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Suspend stops the process as Ctrl-Z does, with the terminal as it was before, and takes the terminal again when the
// process continues. During another Suspend, and after the end, it does nothing: the process stops once. Where no shell
// would have the process continue, it goes on at once, and draws the screen anew.
func (s *Screen) Suspend() error {
	if !s.suspending.CompareAndSwap(false, true) {
		return nil
	}
	defer s.suspending.Store(false)
	if given, err := s.give(); !given {
		return err
	}
	continued := make(chan os.Signal, 1) // the process may run on for a moment before it stops
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	switch err := s.stop(); {
	case errors.Is(err, errAlone):
		return s.resume()
	case err != nil:
		return fmt.Errorf("suspend: %w", err)
	}
	select {
	case <-continued:
	case <-s.stopped:
		return nil
	}
	return s.resume()
}

// give gives the terminal back until resume. given is false if it cannot, or if it has ended.
func (s *Screen) give() (given bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return false, nil
	}
	err = s.put()
	return err == nil, err
}

// resume takes the terminal, and asks for the picture. The shell may have changed the terminal since.
func (s *Screen) resume() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again()
	return s.take()
}

// continued is the end of a stop by SIGSTOP, before which nothing could be put back. Suspend handles its own.
func (s *Screen) continued() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.before == nil {
		return nil
	}
	s.again()
	return s.take()
}

// watch handles signals until Close.
func (s *Screen) watch(caught signals) {
	defer s.Guard()
	for {
		select {
		case <-s.stopped:
			return
		case <-caught.suspended: // by another process; Ctrl-Z is a key while the terminal is raw
			s.lose(s.Suspend())
		case <-caught.continued:
			s.lose(s.continued())
		case <-caught.resized:
			s.again()
		}
	}
}

// lose has the next Draw return an error, if there is one.
func (s *Screen) lose(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = err
	s.again()
}

// signals are those that a Screen catches. Each has a channel of its own, so that none is lost while another one waits.
type signals struct{ suspended, continued, resized chan os.Signal }

func newSignals() signals {
	catch := func(s os.Signal) chan os.Signal {
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, s)
		return caught
	}
	return signals{suspended: catch(syscall.SIGTSTP), continued: catch(syscall.SIGCONT), resized: catch(unix.SIGWINCH)}
}

func (s signals) stop() {
	signal.Stop(s.suspended)
	signal.Stop(s.continued)
	signal.Stop(s.resized)
}
