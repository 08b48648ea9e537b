package security

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// session is a running session, with the input of its jobs.
type session struct {
	owner *bobbintest.User // with a ticket, for any login of the session
	id    string
	lines string // three lines on HDFS, two of them with "to"
	dir   string // the owner's folder for output
}

// sifted is the output of a job of the program several with the word "to".
func sifted() []string { return []string{"to be", "to do"} }

// startSession starts a session with a keytab. Its owner has no ticket.
func startSession(t *testing.T, owner *bobbintest.User, flags ...string) session {
	t.Helper()
	got := owner.WithoutTicket().Run(t, slices.Concat([]string{"session", "start", "-d", "-jm", "256m", "-tm", "448m"}, keytabOptions(owner), flags)...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	s := session{owner: owner, id: got.Application(t), dir: owner.Scratch(t)}
	t.Cleanup(func() { owner.Run(t, append([]string{"kill", s.id}, keytabOptions(owner)...)...) })
	s.lines = s.dir + "/lines"
	owner.Write(t, s.lines, "to be\nor not\nto do\n")
	return s
}

// in returns the flags that select the session.
func (s session) in(command string, more ...string) []string {
	return append([]string{command, "-id", s.id}, more...)
}

// sift runs a job of the program several in the session, as who.
func (s session) sift(t *testing.T, who *bobbintest.User, program, output string, flags ...string) bobbintest.Outcome {
	t.Helper()
	return who.Run(t, s.in("run", slices.Concat([]string{"-t", "yarn-session"}, flags, []string{program, s.lines, s.dir + "/" + output, "to"})...)...)
}

// checkSifted checks that such a job succeeded, and that the owner has the right output.
func (s session) checkSifted(t *testing.T, got bobbintest.Outcome, output string) {
	t.Helper()
	if got.Code != 0 || got.Stdout != "2 lines hold to\n" {
		t.Errorf("the job that writes %s: %s", output, got)
		return
	}
	if diff := cmp.Diff(sifted(), s.owner.Output(t, s.dir+"/"+output+"-1")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", output, diff)
	}
	checkOwner(t, rpctest.HDFS(t, s.owner.Cluster), s.owner, s.dir+"/"+output+"-1")
}

// jobs returns the states of the session's jobs, as `bobbin list` prints them for who.
func (s session) jobs(t *testing.T, who *bobbintest.User, flags ...string) map[string]string {
	t.Helper()
	got := who.Run(t, s.in("list", append([]string{"-a", "-o", "json"}, flags...)...)...)
	var told struct {
		Jobs []struct{ Job, JobStatus string }
	}
	if err := json.Unmarshal([]byte(got.Stdout), &told); err != nil || got.Code != 0 {
		t.Fatalf("%v: %s", err, got)
	}
	states := make(map[string]string)
	for _, job := range told.Jobs {
		states[job.Job] = job.JobStatus
	}
	return states
}

// slow starts a job as who, which runs until it is cancelled, and returns its id.
func (s session) slow(t *testing.T, who *bobbintest.User, flags ...string) (job string) {
	t.Helper()
	before := s.jobs(t, who, flags...)
	program := suite.SlowJob(t, s.owner).Args
	got := who.Run(t, s.in("run", slices.Concat([]string{"-t", "yarn-session", "-d", "-p", "1"}, flags, program)...)...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	wait.Until(t, "the job of "+who.Name+" runs", func() bool {
		for id, state := range s.jobs(t, who, flags...) {
			if _, old := before[id]; !old && state == "RUNNING" {
				job = id
			}
		}
		return job != ""
	})
	return job
}

// checkCancelled checks that who may cancel this job.
func (s session) checkCancelled(t *testing.T, who *bobbintest.User, job string, flags ...string) {
	t.Helper()
	if got := who.Run(t, s.in("cancel", append(flags, job)...)...); got.Code != 0 {
		t.Errorf("%s cancels: %s", who.Name, got)
	}
	wait.Until(t, "the job is canceled", func() bool { return s.jobs(t, who, flags...)[job] == "CANCELED" })
}

// TestASessionIsItsOwnersAndHisFriends starts a session with a keytab. It would catch an owner whose commands need a
// ticket nevertheless, or do not find the session; a user with the right to look who can run programs as the session's
// owner, or end jobs of others; and a user with all rights who cannot use them.
func TestASessionIsItsOwnersAndHisFriends(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	private := func(name string) *bobbintest.User { return suite.User(t, name).With("TMPDIR=" + t.TempDir()) }
	owner, friend, guest := private(bobbintest.Alice), private(bob), private(small)
	s := startSession(t, owner, append(option("yarn.view.acls", friend.Name+","+guest.Name), option("yarn.modify.acls", friend.Name)...)...)
	keyed, keys := owner.WithoutTicket(), keytabOptions(owner)
	content, err := os.ReadFile(suite.Program(t, "several"))
	if err != nil {
		t.Fatal(err)
	}
	name := "riddle-" + ids.Random()
	riddle := filepath.Join(t.TempDir(), name) // with bytes appended, so that no cache has it
	if err := runnable.Write(riddle, append(content, ids.Random()...)); err != nil {
		t.Fatal(err)
	}
	kept := func(u *bobbintest.User) bool {
		return slices.ContainsFunc(u.Staging(t).Cache, func(file string) bool { return strings.HasSuffix(file, "/"+name) })
	}

	if got := s.sift(t, guest, riddle, "guest"); got.Code != 1 || !strings.Contains(got.Stderr, "user "+guest.Name+" may not run programs here") {
		t.Errorf("a job of who may look: %s", got)
	}
	if kept(owner) {
		t.Error("a program of who may look is in the owner's cache")
	}
	s.checkSifted(t, s.sift(t, friend, riddle, "friend"), "friend")
	if !kept(owner) || kept(friend) {
		t.Error("the friend's program is not in the owner's cache, or in his own")
	}
	s.checkSifted(t, s.sift(t, keyed, suite.Program(t, "several"), "owner", keys...), "owner")

	owners, friends := s.slow(t, keyed, keys...), s.slow(t, friend)
	if got := guest.Run(t, s.in("cancel", owners)...); got.Code != 1 || !strings.Contains(got.Stderr, "user "+guest.Name+" may not change this application") {
		t.Errorf("a cancellation by who may look: %s", got)
	}
	checkRESTOfASession(t, s, guest, owners)
	s.checkCancelled(t, friend, owners)
	s.checkCancelled(t, keyed, friends, keys...)
	want := []string{"CANCELED", "CANCELED", "FINISHED", "FINISHED"}
	for _, who := range []*bobbintest.User{owner, friend, guest} {
		states := s.jobs(t, who)
		var got []string
		for _, state := range states {
			got = append(got, state)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the list for %s (-want +got):\n%s", who.Name, diff)
		}
	}

	if got := guest.Run(t, "session", "stop", "-id", s.id); got.Code != 1 || !strings.Contains(got.Stderr, "user "+guest.Name+" may not change this application") {
		t.Errorf("its end by who may look: %s", got)
	}
	if got := friend.Run(t, "session", "stop", "-id", s.id); got.Code != 0 {
		t.Errorf("its end by a friend: %s", got)
	}
	if app := owner.WaitEnded(t, s.id); app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	owner.CheckGone(t, s.id)
}

// checkRESTOfASession sends requests about a running job with the owner's bearer token, and with YARN's token of a user
// who may only look.
func checkRESTOfASession(t *testing.T, s session, guest *bobbintest.User, job string) {
	t.Helper()
	var seen struct{ State string }
	if err := s.owner.Master(t, s.id).Get(t.Context(), "/jobs/"+job, &seen); err != nil || seen.State != "RUNNING" {
		t.Errorf("by REST the job is %q, %v", seen.State, err)
	}
	given := guest.Report(t, s.id)
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/jobs/" + job, http.StatusOK},
		{http.MethodPatch, "/jobs/" + job, http.StatusForbidden},
		{http.MethodDelete, "/cluster", http.StatusForbidden},
	} {
		if got, err := ask(t, addressOf(given), given.ClientToAMToken, c.method, c.path); err != nil || got != c.want {
			t.Errorf("%s's %s %s: status %d, %v, want %d", guest.Name, c.method, c.path, got, err, c.want)
		}
	}
}

// TestAnApplicationRunsItsProgramFromAKeytab would catch a program beside the master that cannot use HDFS on a secure
// cluster, or that gets its master's secrets.
func TestAnApplicationRunsItsProgramFromAKeytab(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	alice.Write(t, dir+"/lines", "to be\nor not\nto do\n")
	alice.Put(t, suite.Program(t, "several"), dir+"/several")
	got := alice.WithoutTicket().With("KRB5_CONFIG").Run(t, slices.Concat([]string{"run-application", "-jm", "256m", "-tm", "448m"}, keytabOptions(alice),
		[]string{"hdfs://" + dir + "/several", dir + "/lines", dir + "/sifted", "to", "be"})...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	id := got.Application(t)
	if app := alice.WaitEnded(t, id); app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" || app.User != alice.Name {
		t.Errorf("YARN says %s of %s (%s): %s", app.State, app.User, app.FinalStatus, app.Diagnostics)
	}
	for output, want := range map[string][]string{"/sifted-1": sifted(), "/sifted-2": {"to be"}} {
		if diff := cmp.Diff(want, alice.Output(t, dir+output)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", output, diff)
		}
		checkOwner(t, rpctest.HDFS(t, alice.Cluster), alice, dir+output)
	}
	alice.CheckGone(t, id)
}

// TestASessionOutlivesItsFirstTokens would catch a session that obtains new tokens only while a job runs, later workers
// that get the first tokens, and a master that refuses all clients after YARN has replaced its first credentials.
func TestASessionOutlivesItsFirstTokens(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	short := cluster.ShortLives()
	short.Users = []string{bob}
	c := clusters.Own(t, short)
	owner := suite.UserOf(t, c, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
	friend := suite.UserOf(t, c, bob).With("TMPDIR=" + t.TempDir())
	owner.KeepTicket(t)
	friend.KeepTicket(t)
	s := startSession(t, owner, append(option("yarn.view.acls", bob), option("yarn.modify.acls", bob)...)...)
	keyed, keys := owner.WithoutTicket(), keytabOptions(owner)
	end := tokenEnd(t, bobbintest.ProcessesIn(t, s.id, bobbintest.ApplicationMaster)[0])
	s.checkSifted(t, s.sift(t, keyed, suite.Program(t, "several"), "before", keys...), "before")
	for round := range 2 {
		until := end.Add(time.Duration(round) * cluster.TokenLife)
		wait.Until(t, "the first tokens, or those after them, have ended", func() bool {
			if app := owner.App(t, s.id); app.State != "RUNNING" {
				t.Fatalf("the session is %s: %s", app.State, app.Diagnostics)
			}
			return time.Now().After(until.Add(30 * time.Second))
		})
		output := "after-" + string(rune('1'+round))
		s.checkSifted(t, s.sift(t, keyed, suite.Program(t, "several"), output, keys...), output)
		s.checkSifted(t, s.sift(t, friend, suite.Program(t, "several"), output+"-friend"), output+"-friend")
	}
	if got := keyed.Run(t, append([]string{"session", "stop", "-id", s.id}, keys...)...); got.Code != 0 {
		t.Error(got)
	}
	if app := owner.WaitEnded(t, s.id); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	owner.CheckGone(t, s.id)
}
