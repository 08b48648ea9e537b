package appmaster

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// teller is a YARN that tells of attempts.
type teller struct {
	reports []records.AttemptReport
	asked   int
}

func (y *teller) Attempts(context.Context, records.ApplicationID) ([]records.AttemptReport, error) {
	y.asked++
	return y.reports, nil
}

func (y *teller) Close() error { return nil }

// TestAttemptsAreToldAsYARNKnowsThem would catch a node or a container that no attempt has, a list that misses how this
// attempt began, and a ResourceManager that each viewer of the page can make busy.
func TestAttemptsAreToldAsYARNKnowsThem(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t, "hdfs://nn/staging")
	application := env.container.Attempt.Application
	env.container.Attempt.Attempt = 2
	began := time.UnixMilli(946684800000)
	report := func(attempt int32, state records.AttemptState, host string, port int) records.AttemptReport {
		id := records.ApplicationAttemptID{Application: application, Attempt: attempt}
		return records.AttemptReport{ID: id, Host: host, RPCPort: port, State: state, Started: began}
	}
	first := report(1, records.AttemptFailed, "N/A", -1)
	first.Finished, first.Diagnostics = began.Add(time.Minute), "exit code 1"
	first.MasterContainer = records.ContainerID{Attempt: first.ID, ID: 1}
	yarn := &teller{reports: []records.AttemptReport{report(2, records.AttemptLaunched, "N/A", -1), first}}
	h := &history{env: env, yarn: yarn}
	want := []msg.AttemptDetails{
		{Attempt: 1, Container: first.MasterContainer.String(), State: "FAILED", Started: began, Ended: first.Finished, Diagnostics: "exit code 1"},
		{Attempt: 2, State: "LAUNCHED", Started: began},
	}
	check := func(asked int) {
		t.Helper()
		got, err := h.attempts(t.Context())
		if err != nil || yarn.asked != asked {
			t.Errorf("YARN is asked %d times, want %d; %v", yarn.asked, asked, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
	}
	check(1)
	yarn.reports = []records.AttemptReport{first, report(2, records.AttemptRunning, "node2", 8032)}
	want[1].State, want[1].Node = "RUNNING", "node2"
	check(2)
	check(2)
}
