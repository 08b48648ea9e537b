package examples

import (
	"os"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// refusesKerberos reports whether the cluster has Kerberos, where no client gets the token of an unmanaged master. Then
// it checks that the program shell says so, and its test ends.
func refusesKerberos(t *testing.T) bool {
	t.Helper()
	if !suite.Cluster(t).Secure() {
		return false
	}
	if got := runs(t, "shell", "true"); got.Code != 1 || !strings.Contains(got.Stderr, "this cluster has Kerberos") || !strings.Contains(got.Stderr, "use distributedshell") {
		t.Error(got)
	}
	return true
}

// The test would catch an exit code that does not reach the terminal.
func TestTheShellEndsAsItsCommand(t *testing.T) {
	t.Parallel()
	if refusesKerberos(t) {
		return
	}
	for command, want := range map[string]struct {
		code   int
		status records.FinalApplicationStatus
		stdout string
	}{
		`echo "a  b"`:     {code: 0, status: records.FinalSucceeded, stdout: "a  b\n"},
		`echo x; exit 42`: {code: 42, status: records.FinalFailed, stdout: "x\n"},
		`kill -9 $$`:      {code: 137, status: records.FinalFailed},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			got := runs(t, "shell", command)
			if got.Code != want.code {
				t.Fatalf("%s\nwant code %d", got, want.code)
			}
			id := got.Application(t)
			report := ended(t, id)
			if report.State != records.ApplicationFinished || report.FinalStatus != want.status {
				t.Errorf("it ended as %s, %s", report.State, report.FinalStatus)
			}
			logs := logs(t, id)
			if out := written(logs, "stdout"); out != want.stdout {
				t.Errorf("the command has written %q, want %q", out, want.stdout)
			}
			if n := containers(logs); n != 1 { // its master needs none
				t.Errorf("the application had %d containers, want 1", n)
			}
		})
	}
}

// The test would catch a container that continues after the client has ended.
func TestAnInterruptedShellKillsItsApplication(t *testing.T) {
	t.Parallel()
	if refusesKerberos(t) {
		return
	}
	program := suite.User(t, bobbintest.Alice).StartProgram(t, suite.Program(t, "shell"), "sleep 1000")
	program.Says(t, " runs in ")
	program.Signal(t, os.Interrupt)
	got := program.Wait(t)
	if got.Code != 1 {
		t.Error(got)
	}
	id := got.Application(t)
	if report := ended(t, id); report.State != records.ApplicationKilled {
		t.Errorf("it ended as %s", report.State)
	}
}

// The test would catch a list that lacks applications, and a filter without effect.
func TestApplicationsAreListedByWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	running := suite.User(t, bobbintest.Alice).StartProgram(t, suite.Program(t, shell), "sleep 1000")
	running.Says(t, string(records.ApplicationRunning))
	id := running.Application(t)
	for filter, listed := range map[string]bool{
		"":                       true,
		"-states running":        true,
		"-states FINISHED":       false,
		"-queue default":         true,
		"-user alice":            true,
		"-user bob":              false,
		"-states NEW,ACCEPTED":   false,
		"-user bob,alice":        true,
		"-states running,KILLED": true,
	} {
		got := runs(t, "applications", strings.Fields(filter)...)
		if got.Code != 0 || !strings.HasPrefix(got.Stdout, "APPLICATION ") || strings.Contains(got.Stdout, id) != listed {
			t.Errorf("%q lists %s: %t, want %t\n%s", filter, id, !listed, listed, got)
		}
	}
	running.Signal(t, os.Interrupt)
	running.Wait(t)
}
