package bobbintest

import (
	"regexp"
	"strings"
	"testing"
)

// LogFile is one log of one container.
type LogFile struct{ Container, Name string }

// logHeader is the line with which `bobbin logs` begins each log.
var logHeader = regexp.MustCompile(`(?m)^==== (\S+) of (\S+) on \S+\n`)

// Logs returns an application's logs, as `bobbin logs` prints them. While the application runs,
// these are the logs on its nodes. After its end, they are the logs that YARN has aggregated
// (WaitLogs), because the nodes then remove theirs.
func (u *User) Logs(t testing.TB, application string) map[LogFile]string {
	t.Helper()
	got := u.Run(t, "logs", application)
	if got.Code != 0 {
		t.Fatal(got)
	}
	logs := make(map[LogFile]string)
	starts := logHeader.FindAllStringSubmatchIndex(got.Stdout, -1)
	for i, at := range starts {
		end := len(got.Stdout)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		file := LogFile{Name: got.Stdout[at[2]:at[3]], Container: got.Stdout[at[4]:at[5]]}
		logs[file] = strings.TrimSuffix(got.Stdout[at[1]:end], "\n")
	}
	return logs
}
