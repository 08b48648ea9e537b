package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/client/internal/logs"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestTheWaitForLogsIsTold would catch a wait without a message, without an end, or after the logs are there.
func TestTheWaitForLogsIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		ready time.Duration // when YARN has collected the logs
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
					want = fmt.Sprintf("application_1_0002 waits for YARN to collect its logs since %s: log aggregation is RUNNING. After 30s this command prints the logs that are there\n", began.Local().Format(time.TimeOnly))
				}
				if out.String() != want {
					t.Errorf("printed %q, want %q", out.String(), want)
				}
			})
		})
	}
}

// nowhere is a network without servers.
type nowhere struct{}

func (nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("there is no %s: %w", r.URL.Host, http.ErrServerClosed)
}

// TestALogServerThatIsNotAskedIsTold would catch the message that a container has no logs, if the log server
// may have them but cannot be asked because of its address.
func TestALogServerThatIsNotAskedIsTold(t *testing.T) {
	cluster := startFakeSession(t).opened(t)
	for scheme, want := range map[string]error{"": nil, "https": logs.ErrPlain} {
		web := logs.Web{Client: &http.Client{Transport: nowhere{}}, User: "alice", Scheme: scheme, LogServer: "http://history:8188/ws/v1/applicationhistory"}
		wanted := &logFilter{out: io.Discard, container: "container_1_0001_01_000002"}
		if found, err := endedContainer(t.Context(), cluster, web, nil, wanted); found || !errors.Is(err, want) {
			t.Errorf("by %q: found: %t, %v; want %v", scheme, found, err, want)
		}
	}
}

// TestAContainerIsWaitedForWithoutALogServer would catch that the logs of a container that has not started
// cannot be followed if the log server cannot be asked because of its address; and that no message says so.
func TestAContainerIsWaitedForWithoutALogServer(t *testing.T) {
	var told bytes.Buffer
	f := following{cluster: startFakeSession(t).opened(t), stderr: &told, wanted: &logFilter{out: io.Discard, container: "container_1_0001_01_000002"}}
	f.follower.Web = logs.Web{Client: &http.Client{Transport: nowhere{}}, User: "alice", Scheme: "https", LogServer: "http://history:8188/ws/v1/applicationhistory"}
	for range 2 {
		if err := f.await(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if text := told.String(); !strings.Contains(text, logs.ErrPlain.Error()) || strings.Count(text, "waiting for container_1_0001_01_000002\n") != 1 {
		t.Errorf("told: %s", text)
	}
}

// breaksOff is a log server that has two logs of a container, and sends only the first.
type breaksOff struct{ cause error }

func (b breaksOff) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(text string) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
	switch path.Base(r.URL.Path) {
	case "logs":
		return answer(`{"containerLogsInfo":{"containerLogInfo":[{"fileName":"one.log","fileSize":"3"},{"fileName":"two.log","fileSize":"3"}]}}`)
	case "one.log":
		return answer("one")
	}
	return nil, b.cause
}

// TestAContainerThatHasEndedIsNotWaitedFor would catch a wait for an ended container until its application
// ends, because not all its logs could be read.
func TestAContainerThatHasEndedIsNotWaitedFor(t *testing.T) {
	cluster := startFakeSession(t).opened(t)
	for _, cause := range []error{logs.ErrPlain, http.ErrServerClosed} {
		var out, told bytes.Buffer
		f := following{cluster: cluster, stderr: &told, wanted: &logFilter{out: &out, container: "container_1_0001_01_000002"}}
		f.follower.Web = logs.Web{Client: &http.Client{Transport: breaksOff{cause}}, User: "alice", LogServer: "http://history:8188/ws/v1/applicationhistory"}
		if err := f.await(t.Context(), nil); !errors.Is(err, cause) || !strings.Contains(out.String(), "one") || told.Len() > 0 {
			t.Errorf("%v, printed %q, told %q; want that it broke off by %v", err, out.String(), told.String(), cause)
		}
	}
}
