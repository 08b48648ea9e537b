package production

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// Long lives, in minutes: jobs that read and write all the time while whatever
// lets them do so ends several times over.
const (
	life     = 12 * time.Minute
	patience = 25 * time.Minute // for the client, which waits for the end
)

// lastingFlags are those of a job that is to outlive everything.
func lastingFlags(u *bobbintest.User) []string {
	return slices.Concat(keytabOptions(u), option("yarn.application-attempts", 2), []string{"-s", "1"})
}

// watch looks at a job every few seconds until a moment; it must run, and not be restarted
// meanwhile.
func watch(t *testing.T, d *bobbintest.Dawdler, until time.Time) {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), until)
	defer cancel()
	ticker := time.NewTicker(5 * time.Second)
	defer ticker.Stop()
	before := d.Details(t)
	for {
		now := d.Details(t)
		if now.State != msg.JobRunning || now.Timestamps[msg.JobRestarting] != before.Timestamps[msg.JobRestarting] {
			t.Fatalf("the job is %s: %s", now.State, d.RootCause(t))
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if t.Context().Err() != nil {
				t.Fatal(context.Cause(t.Context()))
			}
			return
		}
	}
}

// tokenEnd is until when the token for HDFS can be renewed that a process began with.
func tokenEnd(t *testing.T, p bobbintest.Process) time.Time {
	t.Helper()
	token := p.Credentials(t).ByKind(creds.KindHDFSDelegation)
	if token == nil {
		t.Fatalf("%s of %s has no token for HDFS", p.Role, p.Container)
	}
	id, err := identifier.DecodeDelegation(token)
	if err != nil {
		t.Fatal(err)
	}
	return id.Max
}

// said counts the lines of a daemon's log that hold a text.
func said(t *testing.T, c *cluster.Cluster, daemon, text string) int {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(c.LogDir(), daemon+".log"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(log), text)
}

// TestAJobOutlivesItsTokens is about all that rolls: the keys of AMRM, NM and container tokens
// every two minutes, tickets of two minutes, and tokens for HDFS of three. It would
// catch whatever is obtained once and kept, in any process: in the master, in
// workers and their hosts, in what YARN was told at submission and gives to another attempt, and
// to the container that comes at the end.
func TestAJobOutlivesItsTokens(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := suite.OwnCluster(t, cluster.ShortLives())
	alice := suite.UserOf(t, c, bobbintest.Alice).WithoutTicket().Patient(patience)
	began := time.Now()
	d := suite.Trickle(t, alice, 2*life, lastingFlags(alice)...)
	end := tokenEnd(t, d.First(t, bobbintest.ApplicationMaster))
	if left := time.Until(end); left > cluster.TokenLife {
		t.Fatalf("the first tokens live for %v", left)
	}

	watch(t, d, end.Add(30*time.Second))
	d.First(t, bobbintest.ApplicationMaster).Kill(t)
	d.AwaitSuccessor(t)
	watch(t, d, began.Add(life-time.Minute))
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)
	watch(t, d, began.Add(life))
	for _, key := range []string{"amrm-tokens", "nm-tokens", "container-tokens"} {
		if n := said(t, c, "resourcemanager", "Rolling master-key for "+key); n < 3 {
			t.Errorf("the key of %s has rolled %d times, want every two minutes", key, n)
		}
	}
	d.CheckSucceeds(t)
}

// TestAJobOutlivesAnOutageOfTheKDC would catch a login or a token that is renewed at the last
// moment, once, and a master that ends for want of a ticket while the old one serves.
func TestAJobOutlivesAnOutageOfTheKDC(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := suite.OwnCluster(t, cluster.ShortTickets())
	alice := suite.UserOf(t, c, bobbintest.Alice).WithoutTicket().Patient(patience)
	began := time.Now()
	d := suite.Trickle(t, alice, 2*life, lastingFlags(alice)...)

	const outage = 2 * time.Minute // around the eighth, when tickets of ten are renewed
	watch(t, d, began.Add(7*time.Minute))
	if err := c.Stop(t.Context(), "kdc"); err != nil {
		t.Fatal(err)
	}
	watch(t, d, time.Now().Add(outage))
	if err := c.Restart(t.Context(), "kdc"); err != nil {
		t.Fatal(err)
	}
	watch(t, d, began.Add(10*time.Minute+30*time.Second)) // beyond the first tickets
	d.First(t, bobbintest.ApplicationMaster).Kill(t)
	d.AwaitSuccessor(t)
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)
	watch(t, d, began.Add(life))
	d.CheckSucceeds(t)
}
