package exchange

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// crowd fills a server with connections or channels of the job, and gives a function that makes room for one.
func (s quietServer) crowd(of string) (room func()) {
	s.Helper()
	host := func(i int) ids.HostID { return ids.HostID(fmt.Sprint("other", i)) }
	connections := 1
	if of == "connections" {
		connections = s.guests.mostJob
	}
	for i := range connections {
		if err := s.guests.enter("j", host(i)); err != nil {
			s.Fatal(err)
		}
	}
	if of == "connections" {
		return func() { s.guests.leave("j", host(0)) }
	}
	for range maxServedJob {
		if err := s.guests.open("j"); err != nil {
			s.Fatal(err)
		}
	}
	return func() { s.guests.shut("j", false) }
}

// TestAReaderWaitsForABusyServer would catch a job that fails because it has more hosts, or its tasks read more channels, than a worker
// serves at a time, a task that waits for ever, and one that gives up and takes the worker for lost, while others read there.
func TestAReaderWaitsForABusyServer(t *testing.T) {
	for _, of := range []string{"connections", "channels"} {
		for name, after := range map[string]time.Duration{"and there is room": 100 * time.Second, "in vain": time.Hour} {
			t.Run(of+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newQuietServer(t)
					room := s.crowd(of)
					time.AfterFunc(after, room)
					e := s.reader(s.bubble.Dial)
					began := time.Now()
					g := e.Gate(t.Context(), []Producer{{Host: "w", Address: "w", Finished: true}, {Host: "w", Address: "w", Finished: true}})
					n, err := 0, error(nil)
					for ; err == nil; n++ {
						_, err = g.Next(t.Context())
					}
					g.Close()
					took := time.Since(began)
					if after < busyTries*busyPause {
						if n != 2*1024+1 || !errors.Is(err, io.EOF) || took < after || took > after+3*busyPause {
							t.Errorf("%d records arrive after %s: %v", n-1, took, err)
						}
					} else if !errors.Is(err, errBusy) || errors.Is(err, ErrPeerLost) || !strings.Contains(err.Error(), "use ") || took < (busyTries-1)*busyPause || took > busyTries*busyPause {
						t.Errorf("after %s, the task fails with: %v", took, err)
					}
					if e.Reserved() != 0 {
						t.Errorf("%d buffers are reserved at the end", e.Reserved())
					}
					e.Close()
					synctest.Wait()
					if j := s.guests.jobs["j"]; j.refused != 0 || j.channels > maxServedJob || j.hosts["b"] != 0 {
						t.Errorf("of the reader there are %d connections, and %d refused channels", j.hosts["b"], j.refused)
					}
				})
			})
		}
	}
}
