package doctor

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// refusingKDC is the address of a KDC that refuses everything, with a wrong clock.
func refusingKDC(t *testing.T, ahead time.Duration) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			var length [4]byte
			if _, err := io.ReadFull(conn, length[:]); err == nil {
				_, err = io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(length[:])))
				refusal := messages.NewKRBError(types.PrincipalName{NameString: []string{"krbtgt", "EXAMPLE.TEST"}}, "EXAMPLE.TEST", errorcode.KDC_ERR_BADOPTION, "")
				refusal.STime, refusal.Susec = time.Now().UTC().Add(ahead), 0
				if b, failed := refusal.Marshal(); err == nil && failed == nil {
					conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)) // the client notices
				}
			}
			conn.Close()
		}
	})
	t.Cleanup(func() {
		listener.Close() // ends the task
		tasks.Wait()
	})
	return listener.Addr().String()
}

// The doctor must report a wrong clock as such, and not as wrong credentials.
func TestClocksThatDiffer(t *testing.T) {
	for name, tc := range map[string]struct {
		ahead  time.Duration
		status Status
		text   string
	}{
		"together":           {0, OK, "answers; its clock and this machine's differ by"},
		"a bit apart":        {-2 * time.Minute, Warning, "is 2m behind this machine's; 5m are allowed"},
		"too late":           {-time.Hour, Failed, "is 1h0m behind this machine's"},
		"too early, by days": {72 * time.Hour, Failed, "is 3 days ahead of this machine's"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.kerberized(refusingKDC(t, tc.ahead+30*time.Second)) // both times round to the same minute
			remedy := ""
			if tc.status != OK {
				remedy = "NTP"
			}
			m.wants(m.examine(), "kdc", tc.status, tc.text, remedy)
		})
	}
}

// One KDC of two is enough to log in.
func TestOneKDCMayBeDown(t *testing.T) {
	m := newMachine(t)
	m.kerberized(refusingKDC(t, 0) + "\nkdc = 127.0.0.1:1")
	got := m.examine()
	m.wants(got, "kdc", Warning, "KDC 127.0.0.1:1 of EXAMPLE.TEST does not answer", "firewall")
	m.wants(got, "login", Failed, "alice@EXAMPLE.TEST cannot log in", "") // it refuses everything
}

// The NameNode sets the time of a file, and some time passes during the write.
func TestTheClockOfFiles(t *testing.T) {
	before := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	after := before.Add(10 * time.Second)
	for given, want := range map[time.Time]string{
		before:                        "",
		after:                         "",
		before.Add(-50 * time.Second): "",
		after.Add(50 * time.Second):   "",
		before.Add(-3 * time.Minute):  "the NameNode's clock and this machine's differ by 3m",
		after.Add(3 * time.Minute):    "the NameNode's clock and this machine's differ by 3m",
	} {
		got := judgeFileClock(given, before, after)
		if (want == "") != (got == nil) || got != nil && got[0].Text != want {
			t.Errorf("%v: got %+v, want %q", given, got, want)
		}
	}
}
