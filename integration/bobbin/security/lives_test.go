package security

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// Lives of minutes: jobs read and write all the time while their credentials end several times.
const life = 12 * time.Minute

// lastingFlags are the flags of a job that must survive all of this.
func lastingFlags(u *bobbintest.User) []string {
	return slices.Concat(keytabOptions(u), option("yarn.application-attempts", 2), []string{"-s", "1"})
}

// watch looks at a job every few seconds until this time. The job must run, and must not restart meanwhile.
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

// tokenEnd returns the time until which the HDFS token with which a process began can be renewed.
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

// said counts the lines of a log that contain all these words.
func said(t *testing.T, log string, words ...string) int {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			n++
		}
	}
	return n
}

// masterLog returns the path of a master's log on its node, because while the KDC is away YARN cannot be asked for it.
func masterLog(t *testing.T, master bobbintest.Process) string {
	t.Helper()
	return filepath.Join(master.Variable(t, "LOG_DIRS"), "jobmanager.log")
}

// node returns the node of a process, or "" after its end.
func node(t *testing.T, p bobbintest.Process) string {
	t.Helper()
	return p.Variable(t, "NM_HOST")
}

// loseMaster makes the node of the job's master fail like a machine that hangs. Its NodeManager dies, the master does
// not answer, and its workers there continue. After another attempt has taken over, the lost master resumes. It must
// see that it was replaced, and end without touching anything.
func loseMaster(t *testing.T, d *bobbintest.Dawdler) {
	t.Helper()
	c := d.User.Cluster
	lost := d.First(t, bobbintest.ApplicationMaster)
	host, log := node(t, lost), masterLog(t, lost)
	began := time.Now()
	if err := c.Kill(t.Context(), fmt.Sprintf("nodemanager%d", slices.Index(c.NodeManagers(), host)+1)); err != nil {
		t.Fatal(err)
	}
	lost.Signal(t, syscall.SIGSTOP)
	d.AwaitSuccessor(t)
	cluster.Figure(t, "the job's tasks run again %v after its master's node was lost", time.Since(began).Round(time.Second))
	d.Run.Says(t, "its ApplicationMaster has not answered since ")
	d.Run.Says(t, "the ApplicationMaster of "+d.Application+" has been replaced: attempt ")

	lost.Signal(t, syscall.SIGCONT)
	wait.Until(t, "the lost master has ended", func() bool {
		_, alive := d.Processes(t, bobbintest.ApplicationMaster)[lost.Container]
		return !alive
	})
	if said(t, log, "process ends", "code=2") != 1 {
		t.Errorf("the log does not say that the lost ApplicationMaster ended because another leads: %s", log)
	}
	if master := d.First(t, bobbintest.ApplicationMaster); node(t, master) == host {
		t.Errorf("%s of the second attempt is on the lost node", master)
	}
	if now := d.User.Master(t, d.Application).Access; now.Attempt != 2 || now.AMStart != d.Master.Access.AMStart {
		t.Errorf("the owner is told to reach attempt %d, want the second", now.Attempt)
	}
}

// TestAJobOutlivesItsTokens is about all credentials with a limited life: the keys of AMRM, NM and container tokens
// roll every two minutes, tickets live for two minutes, and tokens for HDFS for three. It would catch credentials that
// are obtained once and kept, in any process: in the master, in workers and their hosts, and in the launch context that
// YARN got at submission and gives to another attempt, and to the container that starts last. The other attempt is on
// another node, which has to fetch its files from HDFS when the tokens in the launch context ended some time ago.
func TestAJobOutlivesItsTokens(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := clusters.Own(t, cluster.ShortLives())
	alice := suite.UserOf(t, c, bobbintest.Alice).WithoutTicket()
	began := time.Now()
	d := suite.Trickle(t, alice, 2*life, lastingFlags(alice)...)
	end := tokenEnd(t, d.First(t, bobbintest.ApplicationMaster))
	if left := time.Until(end); left > cluster.TokenLife {
		t.Fatalf("the first tokens live for %v", left)
	}

	watch(t, d, end.Add(30*time.Second))
	loseMaster(t, d)
	if given := tokenEnd(t, d.First(t, bobbintest.ApplicationMaster)); !given.Equal(end) {
		t.Errorf("the second attempt begins with a token until %v, want the dead one", given)
	}
	cluster.Figure(t, "the second attempt began %v after the end of the tokens in its launch context",
		time.UnixMilli(d.Master.Access.AMStart).Sub(end).Round(time.Second))
	watch(t, d, began.Add(life-time.Minute))
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)
	watch(t, d, began.Add(life))
	for _, key := range []string{"amrm-tokens", "nm-tokens", "container-tokens"} {
		if n := said(t, filepath.Join(c.LogDir(), "resourcemanager.log"), "Rolling master-key for "+key); n < 3 {
			t.Errorf("the key of %s has rolled %d times, want every two minutes", key, n)
		}
	}
	d.CheckSucceeds(t)
}

// TestAJobOutlivesAnOutageOfTheKDC stops the KDC from before the master replaces its tickets until after their end.
// Meanwhile the master also wants new tokens. The test would catch a master that ends without a ticket although the old
// one or the tokens still work, and tokens that are obtained at the last moment or requested only once.
func TestAJobOutlivesAnOutageOfTheKDC(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	const (
		outageBegins = cluster.TicketLife*8/10 - 15*time.Second // from the master's login
		outageEnds   = cluster.TicketLife + time.Minute
	)
	c := clusters.Own(t, cluster.ShortTickets())
	alice := suite.UserOf(t, c, bobbintest.Alice).WithoutTicket()
	d := suite.Trickle(t, alice, 2*life, lastingFlags(alice)...)
	began := time.UnixMilli(d.Master.Access.AMStart)
	log := masterLog(t, d.First(t, bobbintest.ApplicationMaster))
	failed := func() int {
		return said(t, log, "call failed and will be tried again", "method=getDelegationToken", kerberos.ErrKDC.Error())
	}
	obtained := func() int { return said(t, log, "delegation tokens obtained") }

	watch(t, d, began.Add(outageBegins))
	if failed() != 0 || obtained() != 1 {
		t.Errorf("before the outage %d requests for tokens failed and %d succeeded, want one request", failed(), obtained())
	}
	if err := c.Stop(t.Context(), "kdc"); err != nil {
		t.Fatal(err)
	}
	watch(t, d, began.Add(outageEnds))
	if failed() == 0 || obtained() != 1 {
		t.Errorf("during the outage %d requests for tokens failed, and %d succeeded", failed(), obtained()-1)
	}
	if err := c.Restart(t.Context(), "kdc"); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	wait.Until(t, "new tokens are obtained", func() bool { return obtained() == 2 })
	cluster.Figure(t, "%d requests for tokens failed during the outage; new tokens came %v after it", failed(), time.Since(back).Round(time.Second))
	d.First(t, bobbintest.ApplicationMaster).Kill(t)
	d.AwaitSuccessor(t)
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)
	watch(t, d, began.Add(life))
	d.CheckSucceeds(t)
}
