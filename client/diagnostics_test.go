package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// exitDiagnostics are the diagnostics of YARN 3.4 for an ApplicationMaster that could not start.
const exitDiagnostics = `Application application_1_0002 failed 1 times (global limit =2; local limit is =1) due to AM Container for appattempt_1_0002_000001 exited with  exitCode: 1
Failing this attempt.Diagnostics: [2026-11-21 10:43:09.464]Exception from container-launch.
Container id: container_1_0002_01_000001
Exit code: 1

[2026-11-21 10:43:09.465]Container exited with a non-zero exit code 1. Error file: prelaunch.err.
Last 4096 bytes of prelaunch.err :
Last 4096 bytes of jobmanager.stderr :
appmaster: no port is free
 of 8081


[2026-11-21 10:43:09.465]Container exited with a non-zero exit code 1. Error file: prelaunch.err.
Last 4096 bytes of prelaunch.err :
Last 4096 bytes of jobmanager.stderr :
appmaster: no port is free
 of 8081


For more detailed output, check the application tracking page: http://rm/cluster/app/application_1_0002 Then click on links to logs of each attempt.
. Failing the application.`

// TestRootCauseComesFirst would catch twenty lines of YARN before the line that helps.
func TestRootCauseComesFirst(t *testing.T) {
	report := records.ApplicationReport{
		ID: records.ApplicationID{ClusterTimestamp: 1, ID: 2}, State: records.ApplicationFailed, FinalStatus: records.FinalFailed,
	}
	const head = "application has ended: application_1_0002 is FAILED (FAILED): "
	for name, c := range map[string]struct{ diagnostics, want string }{
		"the master's last words": {exitDiagnostics, "appmaster: no port is free\n of 8081\nMore: bobbin logs application_1_0002"},
		"nothing from the master": {
			strings.ReplaceAll(exitDiagnostics, "appmaster: no port is free\n of 8081\n", ""),
			strings.ReplaceAll(exitDiagnostics, "appmaster: no port is free\n of 8081\n", ""),
		},
		"YARN's own words": {"Application was killed by user bob\n", "Application was killed by user bob"},
		"no words at all":  {"", "YARN gives no reason"},
	} {
		t.Run(name, func(t *testing.T) {
			report.Diagnostics = c.diagnostics
			err := Ended(report)
			if diff := cmp.Diff(head+c.want, err.Error()); diff != "" || !errors.Is(err, ErrApplicationEnded) {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
