package appmaster

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestExitCodes would catch codes that Flink's users do not know: a shell shows 163 for Flink's 1443.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for status, want := range map[msg.ApplicationStatus]int{
		msg.ApplicationSucceeded: 0, msg.ApplicationCanceled: 0, msg.ApplicationFailed: 163, msg.ApplicationUnknown: 165,
	} {
		if got := exitCode(dispatcher.Outcome{Status: status}); got != want {
			t.Errorf("%s: exit code %d, want %d", status, got, want)
		}
	}
	if exitStartup != 1 || exitFatal != 2 {
		t.Errorf("exit codes %d, %d, want 1, 2", exitStartup, exitFatal)
	}
}
