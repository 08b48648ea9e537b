package appmaster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// withoutYARN is a Master that nobody can ask YARN for, in its third attempt.
func withoutYARN(last ha.Leadership) *Master {
	attempt := records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1, ID: 1}, Attempt: 3}
	return &Master{
		logger: quiet(), queue: "root.q", last: last,
		tokens: new(tokenmanager.Manager), // without tokens
		outside: Outside{
			Attempt: attempt, Launch: launch.AppMaster{Name: "a"},
			Workers: Workers{Container: records.ContainerID{Attempt: attempt, ID: 1}, Host: "n3"},
			About:   About{Started: time.UnixMilli(9000), TrackingURL: "http://rm/proxy/a/"},
		},
	}
}

// TestAMasterWithoutYARNTellsWhatItKnows would catch a secure application without a keytab whose page has no earlier attempts, no
// queue or no link, a node or a time that belongs to another attempt, and a number of attempts that fills the answer.
func TestAMasterWithoutYARNTellsWhatItKnows(t *testing.T) {
	t.Parallel()
	since := time.UnixMilli(5000)
	m := withoutYARN(ha.Leadership{Leader: ha.Leader{Epoch: 2, Address: "[::1]:4711"}, Since: since})
	own := m.outside.Workers.Container.String()
	want := []msg.AttemptDetails{
		{Attempt: 1, Diagnostics: notKnown},
		{Attempt: 2, Node: "::1", Started: since, Diagnostics: hasLed},
		{Attempt: 3, Container: own, Node: "n3", State: "RUNNING", Started: m.outside.About.Started},
	}
	d, err := m.application(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, d.Attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	if d.Queue != "root.q" || d.TrackingURL != "http://rm/proxy/a/" || d.Name != "a" {
		t.Errorf("the application is %+v", d)
	}
	if spans, known := m.ofContainer(t.Context()); !known || len(spans) != 1 || !spans[0].Begin.IsZero() {
		t.Errorf("the start is %+v, known %t: nobody knows when YARN began with this attempt", spans, known)
	}
	m.outside.Attempt.Attempt = 1_000_000
	list, err := m.attempts(t.Context())
	if err != nil || len(list) != mostEarlier+1 || list[0].Attempt != 1_000_000-mostEarlier {
		t.Errorf("of a million attempts %d are listed, error %v", len(list), err)
	}
}
