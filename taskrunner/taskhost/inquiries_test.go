package taskhost_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAHostShowsItself would catch a question that the host loses, and a profile that keeps it from its end.
func TestAHostShowsItself(t *testing.T) {
	t.Parallel()
	w := newWorker(t, "h1", chain([]int{1}, nil), func(m *msg.StartHost) { m.LogDir = t.TempDir() }).ready()
	w.send(msg.Inquire{Number: 7, Inquiry: msg.Inquiry{Topic: msg.AboutGoroutines}})
	if m := receive[msg.Inquired](w); m.Number != 7 || !bytes.HasPrefix(m.Answer.Content, []byte("goroutine ")) {
		t.Errorf("the host says %+v", m)
	}
	request := msg.ProfileRequest{Mode: msg.ProfileAlloc, Duration: time.Hour, Keep: 1}
	for i := range 2 {
		w.send(msg.Inquire{Number: uint64(8 + i), Inquiry: msg.Inquiry{Topic: msg.AboutNewProfile, Profile: request}})
	}
	faults := 0
	for range 2 {
		if m := receive[msg.Inquired](w); errors.Is(m.Answer.Err(), msg.ErrProfiling) {
			faults++
		}
	}
	if faults != 1 {
		t.Errorf("of two profiles at the same time, %d are refused", faults)
	}
	began := time.Now()
	w.stop()
	if time.Since(began) > time.Minute {
		t.Errorf("it ends after %s, with its profile", time.Since(began))
	}
}

// TestAHostInAUsersProcessShowsNothing would catch a host that shows the user's process, or that does not answer.
func TestAHostInAUsersProcessShowsNothing(t *testing.T) {
	t.Parallel()
	w := newWorker(t, "h1", chain([]int{1}, nil)).ready()
	w.send(msg.Inquire{Number: 7, Inquiry: msg.Inquiry{Topic: msg.AboutGoroutines}})
	if m := receive[msg.Inquired](w); !errors.Is(m.Answer.Err(), msg.ErrNotShown) {
		t.Errorf("the host says %+v", m)
	}
	w.stop()
}

// desk is that of hosts with a folder for logs.
func desk(start msg.StartHost) *inquiry.Desk {
	if start.LogDir == "" {
		return nil
	}
	return inquiry.New(string(start.Host), "", start.LogDir)
}
