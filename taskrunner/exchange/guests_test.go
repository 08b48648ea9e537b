package exchange

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// newServedTest is a connection of job j to a server without partitions.
func newServedTest(t *testing.T) *servedLink {
	t.Helper()
	s := newServer(ServerConfig{Logger: quietLog(), maxOpenFiles: 1})
	if err := s.guests.enter("j", "b"); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return &servedLink{conn: near, link: newLink[*served](func() {}, maxServed), server: s, job: "j", peer: "b"}
}

// read has a connection read frames to their end.
func (l *servedLink) read(frames ...[]byte) error {
	r := newIntake(bytes.NewReader(bytes.Join(frames, nil)))
	r.checks = false // as with TLS
	return readFrames(r, func(h header) error { return l.handle(h, r) })
}

// TestChannelsEndWithTheirLastFrame would catch channels that a peer keeps by never releasing them, and a connection that ends because
// a credit and a release have crossed the last frame.
func TestChannelsEndWithTheirLastFrame(t *testing.T) {
	l := newServedTest(t)
	end := l.read(open(0, 0))
	c, _ := l.turns.next()
	c.prepare(nil) // it reads nothing
	if _, err := c.produce(&frameWriter{Writer: bufio.NewWriter(io.Discard)}); err != nil {
		t.Fatal(err)
	}
	if n := l.server.guests.jobs["j"].channels; n != 0 || len(l.channels) != 0 {
		t.Errorf("after frameLost %d channels are counted, and %d are there", n, len(l.channels))
	}
	if err := l.read(frame(frameCredit, 0, 1), frame(frameRelease, 0, 0)); err.Error() != end.Error() {
		t.Errorf("late frames end the connection: %v", err)
	}
	if err := l.read(frame(frameCredit, 1, 1)); !errors.Is(err, errNoChannel) {
		t.Errorf("credit for a channel that was never open: %v", err)
	}
}

// TestAJobHasBoundedChannelsAndConnections would catch a job whose code fills the memory of a process that serves all jobs.
func TestAJobHasBoundedChannelsAndConnections(t *testing.T) {
	l := newServedTest(t)
	g := &l.server.guests
	end := l.read()
	var err error
	for err == nil {
		err = g.open("j")
	}
	if n := g.jobs["j"].channels; n != maxServedJob || !errors.Is(err, errBusy) {
		t.Errorf("a job opens %d channels: %v", n, err)
	}
	if err := l.read(open(0, 0), frame(frameCredit, 0, 1)); err.Error() != end.Error() || g.jobs["j"].refused != 2 {
		t.Errorf("a further channel of it ends the connection: %v; %d are refused", err, g.jobs["j"].refused)
	}
	var sent bytes.Buffer
	w := &frameWriter{Writer: bufio.NewWriter(&sent)}
	c, _ := l.turns.next()
	c.prepare(nil)
	if _, err := c.produce(w); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	if h, err := parseHeader(sent.Next(headerSize)); err != nil || h.kind != frameFail || !errors.Is(said(sent.String()), errBusy) {
		t.Errorf("the host is told %+v, %q: %v", h, sent.String(), err)
	}
	if j := g.jobs["j"]; j.refused != 1 || j.channels != maxServedJob || len(l.channels) != 0 {
		t.Errorf("then %d channels are refused, %d are counted, and %d are there", j.refused, j.channels, len(l.channels))
	}
	for errors.Is(err, errBusy) {
		err = g.open("j")
	}
	if n := g.jobs["j"].refused; n != maxRefused || !errors.Is(err, errTooMany) {
		t.Errorf("a job does not read that %d channels are refused: %v", n, err)
	}
	if err := l.read(open(1, 0)); !errors.Is(err, errTooMany) || len(l.channels) != 0 {
		t.Errorf("a further channel of it: %v", err)
	}
	if err := g.enter("k", "b"); err != nil || g.open("k") != nil {
		t.Errorf("another job is refused: %v", err)
	}
	for err = nil; err == nil; {
		err = g.enter("j", "b")
	}
	if n := g.jobs["j"].connections; n != maxReadersHost || !errors.Is(err, errBusy) {
		t.Errorf("a host makes %d connections: %v", n, err)
	}
	crowd := func(job ids.JobID) {
		for i := 0; g.enter(job, ids.HostID(fmt.Sprint(i))) == nil; i++ {
		}
	}
	crowd("j")
	if n := g.jobs["j"].connections; n != 204 { // half of 32 MiB
		t.Errorf("a job makes %d connections", n)
	}
	crowd("k")
	if n := g.jobs["k"].connections; n != 102 {
		t.Errorf("another job makes %d connections", n)
	}
	if g.enter("l", "b") == nil || g.jobs["l"] != nil {
		t.Error("a third job makes a connection, or leaves a trace of one that was refused")
	}
	g.leave("j", "0")
	if err := g.enter("l", "b"); err != nil {
		t.Errorf("after another one has ended: %v", err)
	}
}
