package sessions

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// TestASessionIsReachedWithoutItsResourceManager would catch commands on a running session that fail while YARN is
// away, although they need YARN only for the session's address.
func TestASessionIsReachedWithoutItsResourceManager(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "stops the ResourceManager")
	u := suite.UserOf(t, c, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\nor not\n")
	id := start(t, u, "-D", "resourcemanager.taskmanager-timeout=1h") // its worker stays for the second job
	sift := func(output string) []string {
		return []string{"run", "-p", "1", suite.Program(t, "wordcount"), "--input", dir + "/lines", "--output", dir + output}
	}
	if got := u.Run(t, sift("/before")...); got.Code != 0 {
		t.Fatal(got)
	}
	if err := c.Stop(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	const patience = "client.timeout=10s"
	for _, args := range [][]string{{"status"}, {"status", "-id", id}, {"list", "-a"}} {
		if got := u.Run(t, append(args, "-D", patience)...); got.Code != 0 || !strings.Contains(got.Stdout, id) && args[0] == "status" {
			t.Errorf("%v: %s", args, got)
		}
	}
	if got := u.Run(t, sift("/meanwhile")...); got.Code != 0 {
		t.Errorf("a job: %s", got)
	}
	if got := u.Run(t, "session", "attach", "-d", "-D", patience); got.Code != 0 || !strings.Contains(got.Stderr, "session "+id+" goes on") {
		t.Errorf("attach: %s", got)
	}
	const unknown = "00000000000000000000000000000000" // the session answers that it does not know the job
	if got := u.Run(t, "cancel", "-D", patience, unknown); got.Code != 1 || !strings.Contains(got.Stderr, "job not found") {
		t.Errorf("cancel: %s", got)
	}
	stopped := u.Run(t, "session", "stop", "-o", "json", "-D", patience)
	if stopped.Code != 0 || !strings.Contains(stopped.Stdout, `"state":"ENDING"`) || !strings.Contains(stopped.Stderr, id+" accepted the stop") {
		t.Errorf("stop: %s", stopped)
	}
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	u.WaitEnded(t, id)
}

// TestAnEndedApplicationTellsWhyItFailed would catch a failed nightly job whose reason only Java's tools show.
func TestAnEndedApplicationTellsWhyItFailed(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	const why = "the driver does not feel like it"
	got := submit(t, u, suite.Program(t, "faulty"), "driver-error", "/none", "/none")
	if got.Code != 0 && !strings.Contains(got.Stderr, why) { // the client may have seen it run, or not
		t.Errorf("the command fails and is without %q: %s", why, got)
	}
	id := got.Application(t)
	u.WaitEnded(t, id)
	status := u.Run(t, "status", "-id", id)
	if status.Code != 0 || !strings.Contains(status.Stdout, "FINISHED (FAILED)") || !strings.Contains(status.Stdout, why) {
		t.Errorf("status: %s", status)
	}
	if list := u.Run(t, "list", "-a", "-id", id); list.Code != 1 || list.Stdout != "" || !strings.Contains(list.Stderr, why) {
		t.Errorf("list: %s", list)
	}
	if logs := u.Run(t, "logs", "--file", "driver.stderr", id); logs.Code != 0 || strings.Count(logs.Stdout, why) != 1 {
		t.Errorf("its standard error: %s", logs)
	}
}
