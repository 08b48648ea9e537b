package jobs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// TestLogs would catch logs that YARN does not collect, because of their place or name, logs that
// Bobbin's reader loses or damages, and a secret in a log, or in the environment or the command
// line of a process.
func TestLogs(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1", "-D", "logging.level=debug")
	var live map[bobbintest.LogFile]string
	wait.Until(t, "its tasks have said that they start", func() bool { // they run a moment before that
		live = alice.Logs(t, d.Application)
		printed := fmt.Sprint(live)
		return strings.Contains(printed, "task 1 of 2 starts") && strings.Contains(printed, "task 2 of 2 starts")
	})
	checkLogs(t, live, d.Job, "status=RUNNING")
	secrets := []string{d.Master.Access.Token, "PRIVATE KEY"}
	for _, p := range bobbintest.Processes(t, d.Application) {
		checkSecrets(t, p, secrets)
	}
	d.CheckSucceeds(t)
	alice.WaitLogs(t, d.Application)

	aggregated := alice.Logs(t, d.Application)
	checkLogs(t, aggregated, d.Job, "status=FINISHED")
	for _, logs := range []map[bobbintest.LogFile]string{live, aggregated} {
		for file, text := range logs {
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("a secret is in %s of %s", file.Name, file.Container)
				}
			}
		}
	}
	if diff := cmp.Diff(yarnLogs(t, alice, d.Application), aggregated); diff != "" {
		t.Errorf("yarn logs and bobbin logs differ (-yarn +bobbin):\n%.3000s", diff)
	}
}

// checkLogs checks that the logs of a job with two workers exist with the right content.
func checkLogs(t *testing.T, logs map[bobbintest.LogFile]string, job, status string) {
	t.Helper()
	lines := make(map[string][]string) // number of files with each name
	for file, text := range logs {
		for _, want := range []string{status, "task executor starts", "task 1 of 2 starts", "task 2 of 2 starts", "task changed its state"} {
			if strings.Contains(text, want) {
				lines[file.Name] = append(lines[file.Name], want)
			}
		}
		slices.Sort(lines[file.Name])
	}
	want := map[string][]string{
		"jobmanager.log":           {status},
		"taskmanager.log":          {"task executor starts", "task executor starts"},
		"taskhost-" + job + ".out": {"task 1 of 2 starts", "task 2 of 2 starts"},
		"taskhost-" + job + ".log": {"task changed its state", "task changed its state"},
	}
	for name, content := range want {
		if diff := cmp.Diff(content, lines[name]); diff != "" {
			t.Errorf("logs %s (-want +got):\n%s\nthere are: %v", name, diff, slices.Collect(maps.Keys(logs)))
		}
	}
}

// checkSecrets searches the data of processes that all users of a node can see, and the data of the
// launch that YARN keeps.
func checkSecrets(t *testing.T, p bobbintest.Process, secrets []string) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(p.PID))
	for _, name := range []string{"environ", "cmdline", "cwd/launch_container.sh"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for entry := range bytes.SplitSeq(text, []byte{0}) {
			if value, ok := bytes.CutPrefix(entry, []byte(launch.Variable+"=")); ok {
				entry = unpacked(t, string(value))
			}
			for _, secret := range secrets {
				if bytes.Contains(entry, []byte(secret)) {
					t.Errorf("a secret is in %s of %s %d", name, p.Role, p.PID)
				}
			}
		}
	}
}

// unpacked returns the content of a process's launch variable.
func unpacked(t *testing.T, value string) []byte {
	t.Helper()
	if master, err := launch.Decode[launch.AppMaster](value); err == nil && master.StagingDir != "" {
		return fmt.Appendf(nil, "%+v", master)
	}
	worker, err := launch.Decode[launch.TaskExecutor](value)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "%+v", worker)
}

// yarnLogs reads the output of `yarn logs`.
func yarnLogs(t *testing.T, u *bobbintest.User, application string) map[bobbintest.LogFile]string {
	t.Helper()
	cmd := u.Java(t, cluster.LogsCLI, "-applicationId", application)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	header := regexp.MustCompile(`(?m)^Container: (\S+) on .*\n(?:.*\n)*?LogType:(\S+)\n(?:.*\n)*?LogLength:(\d+)\nLogContents:\n`)
	logs := make(map[bobbintest.LogFile]string)
	for _, at := range header.FindAllSubmatchIndex(text, -1) {
		length, err := strconv.Atoi(string(text[at[6]:at[7]]))
		if err != nil {
			t.Fatal(err)
		}
		logs[bobbintest.LogFile{Container: string(text[at[2]:at[3]]), Name: string(text[at[4]:at[5]])}] = string(text[at[1] : at[1]+length])
	}
	return logs
}
