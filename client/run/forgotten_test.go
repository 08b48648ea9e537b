package run

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// runningPlace is the cluster of a job that runs, as YARN reports.
type runningPlace struct{ cluster }

func (runningPlace) report(context.Context) (records.ApplicationReport, error) {
	return records.ApplicationReport{State: records.ApplicationRunning}, nil
}

// TestAJobThatIsNotKeptIsNotSaidToRun would catch that a user looks for a running job or checks the firewall,
// although the session has dropped the job or its results.
func TestAJobThatIsNotKeptIsNotSaidToRun(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{"jobmanager.memory.heap.size": "1g"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		status int
		text   string
		want   string
	}{
		{"a job that is forgotten", http.StatusNotFound, msg.ErrJobNotFound.Error(), "has ended, and the ApplicationMaster has dropped its result"},
		{"a result that was let go of", http.StatusGone, msg.ErrResultGone.Error(), "no longer waits for this client"},
		{"a master that is broken", http.StatusInternalServerError, "broken", "runs but cannot be followed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cause := &client.StatusError{Path: "/v1/jobs", Status: test.status, Errors: []string{test.text}}
			err := (&runner{config: options, cluster: runningPlace{}}).lost(t.Context(), &running{name: "job j"}, cause)
			if test.status == http.StatusNotFound && !strings.Contains(err.Error(), "raise jobstore.expiration-time or jobmanager.memory.heap.size") {
				t.Errorf("%v does not say how to keep results longer", err)
			}
			if !errors.Is(err, error(cause)) || !strings.Contains(err.Error(), "job j "+test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %q with its cause", err, test.want)
			}
		})
	}
}
