package appmaster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// names lists spans with their begins and ends, in s since at, for comparisons.
func names(at time.Time, spans []msg.Span) (all []string) {
	for _, s := range spans {
		if s.Begin.IsZero() {
			continue
		}
		end := "…"
		if !s.End.IsZero() {
			end = s.End.Sub(at).String()
		}
		all = append(all, s.Name+" "+s.Begin.Sub(at).String()+" "+end)
	}
	return all
}

// TestTheStartOfAContainer would catch a later attempt whose start begins with the command of the day before, a span that
// ends before it begins, because clocks differ, no time line at all where YARN cannot be asked, and one that is taken for the last
// word although YARN may tell more.
func TestTheStartOfAContainer(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	seconds := func(n int) time.Time { return at.Add(time.Duration(n) * time.Second) }
	reports := func(granted time.Time, err error) func(context.Context) (Report, error) {
		return func(context.Context) (Report, error) { return Report{Granted: granted}, err }
	}
	client := launch.Began{Command: at.UnixMilli(), Checked: seconds(1).UnixMilli(), Staged: seconds(4).UnixMilli()}
	history := func(context.Context) ([]msg.AttemptDetails, error) {
		return []msg.AttemptDetails{{Attempt: 1, Started: seconds(5)}, {Attempt: 2, Started: seconds(70)}}, nil // nothing of a third one
	}
	for name, c := range map[string]struct {
		attempt int32
		yarn    func(context.Context) (Report, error)
		began   launch.Began
		started time.Time
		known   bool
		want    []string
	}{
		"the first": {1, reports(seconds(8), nil), client, seconds(9), true, []string{
			"command 0s 1s", "upload 1s 4s", "submission 4s 5s", "queue 5s 8s", "container of the master 8s 9s",
		}},
		"YARN does not answer": {1, reports(time.Time{}, errors.New("away")), client, seconds(9), false, []string{
			"command 0s 1s", "upload 1s 4s", "submission 4s 5s", "queue and container of the master 5s 9s",
		}},
		"the client's clock is late": {1, nil, launch.Began{Command: at.UnixMilli(), Checked: seconds(5).UnixMilli(), Staged: seconds(7).UnixMilli()}, seconds(6), true, []string{
			"command 0s 5s", "upload 5s 7s", "submission 7s 7s", "queue and container of the master 5s 6s",
		}},
		"the client tells nothing": {1, nil, launch.Began{}, seconds(6), true, []string{"queue and container of the master 5s 6s"}},
		"the second":               {2, reports(seconds(71), nil), client, seconds(73), true, []string{"queue 1m10s 1m11s", "container of the master 1m11s 1m13s"}},
		"YARN does not tell when the third was asked for": {3, reports(seconds(71), nil), client, seconds(73), false, []string{"container of the master 1m11s 1m13s"}},
	} {
		m := &Master{logger: quiet(), outside: Outside{
			Attempt: records.ApplicationAttemptID{Attempt: c.attempt}, Launch: launch.AppMaster{Began: c.began},
			About: About{Submitted: seconds(5), Started: c.started, YARN: c.yarn}, History: history,
		}}
		spans, known := m.ofContainer(t.Context())
		if diff := cmp.Diff(c.want, names(at, spans)); diff != "" || known != c.known {
			t.Errorf("%s: known %t, want %t (-want +got):\n%s", name, known, c.known, diff)
		}
	}
}

// TestTheStartOfWorkers would catch a worker that has failed and seems to start for ever, and a request that nobody sees
// because no container has come.
func TestTheStartOfWorkers(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000)
	seconds := func(n int) time.Time { return at.Add(time.Duration(n) * time.Second) }
	got := ofWorkers(resourcemanager.Begin{
		ReturnFrom: seconds(0), ReturnUntil: seconds(2), Asked: seconds(2), More: 7,
		Workers: []resourcemanager.WorkerBegin{
			{Worker: "w1", Granted: seconds(3), Launched: seconds(4), Registered: seconds(6)},
			{Worker: "w2", Granted: seconds(3), Launched: seconds(5), Ended: seconds(8), Cause: "disk full"},
			{Worker: "w3", Granted: seconds(3), Registered: seconds(7)},
			{Worker: "w4", Granted: seconds(5), Launched: seconds(6)},
		},
	})
	want := []string{
		"workers of earlier attempts 0s 2s", "queue of the workers 2s 3s", "container of worker 1 3s 4s", "worker 1 4s 6s",
		"worker 2, which failed 3s 8s", "worker 3 3s 7s", "container of worker 4 5s 6s", "worker 4 6s …",
	}
	if diff := cmp.Diff(want, names(at, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last := got[len(got)-2].Detail; !strings.Contains(last, "7 more followed") || !strings.HasSuffix(got[4].Detail, "disk full") {
		t.Errorf("details %q and %q", last, got[4].Detail)
	}
	if diff := cmp.Diff([]string{"queue of the workers 2s …"}, names(at, ofWorkers(resourcemanager.Begin{Asked: seconds(2)}))); diff != "" {
		t.Errorf("without a container (-want +got):\n%s", diff)
	}
}

// TestTheFirstJobOfAnAttempt would catch a time line that shows a job of an earlier attempt, hours ago, in place of the start.
func TestTheFirstJobOfAnAttempt(t *testing.T) {
	t.Parallel()
	started := time.Unix(1_700_000_000, 0)
	at := func(id ids.JobID, after time.Duration) msg.JobOverview {
		return msg.JobOverview{ID: id, Start: started.Add(after)}
	}
	earlier, late, first := at("earlier", -time.Hour), at("late", time.Hour), at("first", 0)
	if got, found := firstSince([]msg.JobOverview{earlier, late, first}, started); !found || got.ID != "first" {
		t.Errorf("the first job is %q, %t", got.ID, found)
	}
	if got, found := firstSince([]msg.JobOverview{earlier}, started); found {
		t.Errorf("the first job is %q of an earlier attempt", got.ID)
	}
}

// TestTokensAreDescribedWithoutSecrets would catch a token that cannot be read, and hides the others.
func TestTokensAreDescribedWithoutSecrets(t *testing.T) {
	t.Parallel()
	if got := describeTokens(nil, time.Hour); got != nil {
		t.Errorf("of no credentials: %v", got)
	}
	c := creds.New()
	c.Tokens["a"] = &creds.Token{Kind: creds.KindHDFSDelegation, Identifier: []byte("nonsense"), Password: []byte("secret"), Service: "nn1"}
	c.Tokens["b"] = credstest.Delegation("nn2:8020", identifier.Delegation{Owner: "alice", Renewer: "rm", Max: time.UnixMilli(1_700_000_000_000)})
	got := describeTokens(c, time.Hour)
	want := []msg.TokenDetails{{Kind: "HDFS_DELEGATION_TOKEN", Service: "nn2:8020", Renewer: "rm", Ends: time.UnixMilli(1_700_000_000_000)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
