package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestTheWaitForLogsIsTold would catch one that nobody is told of, or without end, and one
// that goes on once the logs are there.
func TestTheWaitForLogsIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		ready time.Duration // when YARN has them
		lasts time.Duration
	}{
		"they are there":          {0, 0},
		"they come":               {3 * time.Second, 3 * time.Second},
		"they come too late":      {time.Hour, collectionTime},
		"YARN cannot say by then": {-1, time.Second / 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				away := errors.New("away")
				report := func(_ context.Context, id records.ApplicationID) (records.ApplicationReport, error) {
					r := records.ApplicationReport{ID: id, Logs: records.LogsRunning, Usage: records.ResourceUsage{MemoryMBSeconds: 1}}
					if c.ready >= 0 && time.Since(began) >= c.ready {
						r.Logs = records.LogsSucceeded
					}
					if c.ready < 0 && time.Since(began) > 0 {
						return r, away
					}
					return r, nil
				}
				var out bytes.Buffer
				first, err := report(t.Context(), records.ApplicationID{ClusterTimestamp: 1, ID: 2})
				if err != nil {
					t.Fatal(err)
				}
				err = awaitCollection(t.Context(), progress.New(&out), first, report)
				if c.ready < 0 != errors.Is(err, away) || time.Since(began) != c.lasts {
					t.Errorf("%v after %v, want an end after %v", err, time.Since(began), c.lasts)
				}
				want := ""
				if c.lasts > 0 {
					want = fmt.Sprintf("application_1_0002 waits for YARN to collect its logs since %s: YARN says RUNNING. What is there after 30s is printed\n", began.Local().Format(time.TimeOnly))
				}
				if out.String() != want {
					t.Errorf("printed %q, want %q", out.String(), want)
				}
			})
		})
	}
}
