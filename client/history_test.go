package client

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestWhyAnAttemptHasEndedIsOneLine would catch a history in which the reasons are lost among YARN's words, or that
// fills the screen.
func TestWhyAnAttemptHasEndedIsOneLine(t *testing.T) {
	_, crashed, _ := strings.Cut(exitDiagnostics, "due to ")
	const killed = "AM Container for appattempt_1_0002_000001 exited with  exitCode: 137\n" +
		"Failing this attempt.Diagnostics: [2026-11-21 10:43:09.464]Container killed on request. Exit code is 137\n" +
		"[2026-11-21 10:43:09.465]Container exited with a non-zero exit code 137. \n[2026-11-21 10:43:09.465]Killed by external signal\n" +
		"For more detailed output, check the application tracking page: http://rm/cluster/app/application_1_0002 Then click on links to logs of each attempt.\n"
	for name, c := range map[string]struct{ diagnostics, want string }{
		"it crashed":            {crashed, "appmaster: no port is free of 8081"},
		"it was killed":         {killed, "exit code 137: Container killed on request. Exit code is 137 Container exited with a non-zero exit code 137. Killed by external signal"},
		"its node was lost":     {"AM Container for appattempt_1_0002_000001 exited with  exitCode: -100\nFailing this attempt.Diagnostics: Container released on a *lost* node", "exit code -100: Container released on a *lost* node"},
		"it was silent":         {"ApplicationMaster for attempt appattempt_1_0002_000001 timed out", "ApplicationMaster for attempt appattempt_1_0002_000001 timed out"},
		"YARN says only a code": {"AM Container for appattempt_1_0002_000001 exited with  exitCode: 1\n", "exit code 1"},
		"YARN says nothing":     {"", ""},
		"YARN says much":        {strings.Repeat("ü", mostReason), strings.Repeat("ü", mostReason/2) + " …"},
	} {
		if got := EndOfAttempt(records.AttemptReport{Diagnostics: c.diagnostics}); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}
