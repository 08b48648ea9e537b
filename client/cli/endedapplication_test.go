package cli

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// finish ends the session as its ApplicationMaster would.
func (s *fakeSession) finish(t *testing.T, status records.FinalApplicationStatus, diagnostics string) records.ApplicationReport {
	t.Helper()
	if err := s.rm.Finish(t.Context(), status, diagnostics, ""); err != nil {
		t.Fatal(err)
	}
	report, err := s.alice.ApplicationReport(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestAnEndedApplicationTellsItsEnd would catch a failed nightly job whose cause only Hadoop's command yarn
// tells.
func TestAnEndedApplicationTellsItsEnd(t *testing.T) {
	s := startFakeSession(t)
	report := s.finish(t, records.FinalFailed, "job words is FAILED: no such input\ngoroutine 7 [running]:\n\tmain.go:9\n")
	id := s.id.String()
	took := report.Finished.Sub(report.Started).Round(time.Millisecond)
	facts := "application  " + id + " (nightly)\n" +
		"state        FINISHED (FAILED), in queue root.default\n" +
		"started      " + report.Started.Local().Format(time.DateTime) + "\n" +
		"ended        " + report.Finished.Local().Format(time.DateTime) + ", after " + took.String() + "\n" +
		"diagnostics  job words is FAILED: no such input\n" +
		"             goroutine 7 [running]:\n" +
		"             \tmain.go:9\n" +
		"logs         bobbin logs " + id + "\n"
	code, stdout, stderr := command(t, s.env, "status", "-id", id)
	if diff := cmp.Diff(facts, stdout); code != ExitOK || stderr != "" || diff != "" {
		t.Errorf("status: exit code %d, stderr %q (-want +got):\n%s", code, stderr, diff)
	}
	// Scripts read jobs from the output of list: everything else goes to standard error.
	code, stdout, stderr = command(t, s.env, "list", "-a", "-id", id)
	if diff := cmp.Diff(id+" has ended, and the list of its jobs is gone:\n"+facts, stderr); code != ExitFailed || stdout != "" || diff != "" {
		t.Errorf("list: exit code %d, stdout %q (-want +got):\n%s", code, stdout, diff)
	}
	for line, want := range map[string]int{"status -o json -id " + id: ExitOK, "list -a -o json -id " + id: ExitFailed} {
		code, stdout, stderr := command(t, s.env, strings.Fields(line)...)
		var told struct {
			Application, State, FinalStatus, Diagnostics string
			Started, Finished                            int64
			Jobs                                         []any
		}
		if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != want {
			t.Fatalf("%s: exit code %d, %v, stdout %q, stderr %q", line, code, err, stdout, stderr)
		}
		if told.Application != id || told.State != "FINISHED" || told.FinalStatus != "FAILED" || told.Diagnostics != report.Diagnostics ||
			told.Started != report.Started.UnixMilli() || told.Finished != report.Finished.UnixMilli() || len(told.Jobs) > 0 {
			t.Errorf("%s: %s", line, stdout)
		}
	}
	if code, _, stderr := command(t, s.env, "cancel", "-id", id, string(runningJob)); code != ExitFailed ||
		stderr != "bobbin: reach "+id+": application does not run: it is FINISHED (FAILED); bobbin status -id "+id+" tells why\n" {
		t.Errorf("cancel: exit code %d, stderr %q", code, stderr)
	}
}

// TestTheFileOfAnEndedSessionIsNamed would catch an error about a session that the user did not name, without
// the file that names it.
func TestTheFileOfAnEndedSessionIsNamed(t *testing.T) {
	s := startFakeSession(t)
	s.write(t, nil)
	s.finish(t, records.FinalSucceeded, "")
	code, stdout, stderr := command(t, s.env, "status")
	if want := s.path + " still names it: bobbin session stop removes that file\n"; code != ExitOK || !strings.Contains(stdout, "FINISHED (SUCCEEDED)") || stderr != want {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if strings.Contains(stdout, "diagnostics") {
		t.Errorf("there are none: %q", stdout)
	}
}

// TestAnEndedSessionIsTidiedUp would catch a session file that makes every later command look for an ended
// session, and a wrong id that passes for an ended session.
func TestAnEndedSessionIsTidiedUp(t *testing.T) {
	s := startFakeSession(t)
	id := s.id.String()
	s.finish(t, records.FinalFailed, "its node was lost")
	for line, named := range map[string]bool{"session stop": true, "session stop -id " + id: false} {
		s.write(t, nil)
		code, _, stderr := command(t, s.env, strings.Fields(line)...)
		want := "session " + id + " has ended already: FINISHED (FAILED). Why: bobbin status -id " + id + "\n"
		if code != ExitOK || stderr != want {
			t.Errorf("%s: exit code %d, stderr %q", line, code, stderr)
		}
		if _, err := os.Stat(s.path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s (the file names it: %v): the file is there: %v", line, named, err)
		}
	}
	forgotten := s.id
	forgotten.ID++
	if err := sessionfile.Write(s.path, sessionfile.Session{Application: forgotten}); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command(t, s.env, "session", "stop", "-id", forgotten.String()); code != ExitFailed || !strings.Contains(stderr, "is not known to YARN") {
		t.Errorf("an id of nothing: exit code %d, stderr %q", code, stderr)
	}
	code, stdout, stderr := command(t, s.env, "session", "stop", "-o", "json")
	if code != ExitOK || stdout != `{"application":"`+forgotten.String()+`","state":"UNKNOWN"}`+"\n" ||
		stderr != "session "+forgotten.String()+" has ended, and YARN has forgotten it\n" {
		t.Errorf("one that YARN has forgotten: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if _, err := os.Stat(s.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("one that YARN has forgotten: the file is there: %v", err)
	}
}

// TestWhoHasNoApplicationIsToldSo would catch an empty list of applications in an error, which users take for a
// fault.
func TestWhoHasNoApplicationIsToldSo(t *testing.T) {
	s := startFakeSession(t)
	s.finish(t, records.FinalSucceeded, "")
	const want = "bobbin: usage: bobbin list needs a running application: name it with -id (user alice has no running application; " +
		"bobbin applications lists those of other users), or start a session with bobbin session start\n"
	if code, _, stderr := command(t, s.env, "list"); code != ExitUsage || stderr != want {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
}
