package dfs

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// connected is a connection whose client exists, and is never used.
func connected() *connection {
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	return &connection{
		addresses: []string{"nn:1"}, patience: time.Minute, dialer: hdfs.NewDialer(hdfs.DialerOptions{}), log: silent,
		closing: make(chan struct{}), client: new(colinmarc.Client),
	}
}

// A file that is created for somebody who has gone would stay open, and its lease
// be renewed, for as long as the process lives.
func TestWhatIsMadeTooLateIsTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		takes  time.Duration
		err    error
		undone bool
	}{
		"in time":                {takes: time.Second},
		"after the caller left":  {takes: 3 * time.Second, undone: true},
		"and failed, even later": {takes: 3 * time.Second, err: answered{errors.New("no")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connected()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				undone := 0
				got, err := doOrUndo(ctx, c, func(*colinmarc.Client, attempt) (int, error) {
					time.Sleep(tc.takes)
					return 7, tc.err
				}, func(_ *colinmarc.Client, value int) { undone += value })
				late := tc.takes > 2*time.Second
				if late != errors.Is(err, context.DeadlineExceeded) || !late && got != 7 {
					t.Errorf("got %d, %v", got, err)
				}
				c.running.Wait()
				if (undone == 7) != tc.undone || undone != 0 != tc.undone {
					t.Errorf("undone: %d", undone)
				}
				c.dialer.Close()
			})
		})
	}
}

func TestCallsAreMadeAgainWhileTheNameNodeIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connected()
		defer c.dialer.Close()
		var again []bool
		got, err := do(t.Context(), c, func(_ *colinmarc.Client, a attempt) (int, error) {
			again = append(again, a.again)
			if len(again) < 3 {
				return 0, io.ErrUnexpectedEOF
			}
			return 7, nil
		})
		if got != 7 || err != nil || len(again) != 3 || again[0] || !again[2] {
			t.Errorf("got %d, %v after tries %v", got, err, again)
		}
		began := time.Now()
		_, err = do(t.Context(), c, func(*colinmarc.Client, attempt) (int, error) { return 0, io.ErrUnexpectedEOF })
		if took := time.Since(began); !errors.Is(err, io.ErrUnexpectedEOF) || took > c.patience || took < c.patience-maxRetryWait {
			t.Errorf("given up after %v: %v", took, err)
		}
	})
}
