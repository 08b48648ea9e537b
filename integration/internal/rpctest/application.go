package rpctest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// Unit is the size of the tests' containers: the clusters' smallest one.
func Unit() records.Resource { return records.Resource{MemoryMB: 128, VCores: 1} }

// Shell returns an application whose ApplicationMaster is a shell command. Its output is in the container's log.
func Shell(command string) records.SubmissionContext {
	return records.SubmissionContext{
		Name: "shell", Type: "bobbin-test", Tags: []string{"bobbin", "test"},
		Resource: Unit(), MaxAttempts: 1,
		Container: records.ContainerLaunchContext{Commands: []string{"{ " + command + "; } 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"}},
	}
}

// Submit submits an application with a new id. It kills the application at the end of the test.
func Submit(t testing.TB, client *yarnclient.Client, application records.SubmissionContext) records.ApplicationReport {
	t.Helper()
	created, err := client.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	application.ID = created.ID
	t.Cleanup(func() {
		if err := client.Kill(wait.Context(t), application.ID, "the test has ended"); err != nil {
			t.Errorf("kill %s: %v", application.ID, err)
		}
	})
	report, err := client.Submit(t.Context(), application)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// SubmitUnmanaged submits an application whose ApplicationMaster is the test, to a queue, and waits until it may
// register. tokens, such as one for files, are tokens for the ResourceManager to renew; nil on clusters without
// Kerberos.
func SubmitUnmanaged(t testing.TB, client *yarnclient.Client, queue string, tokens []byte) records.ApplicationReport {
	t.Helper()
	report := Submit(t, client, records.SubmissionContext{
		Name: t.Name(), Type: "bobbin-test", Queue: queue, Unmanaged: true, Resource: Unit(), MaxAttempts: 1,
		Container: records.ContainerLaunchContext{Tokens: tokens},
	})
	return Await(t, client, report.ID, "launched", func(r records.ApplicationReport) bool { return r.AMRMToken != nil })
}

// Await gets an application's report until wanted returns true. If the application ends otherwise, the test fails.
func Await(t testing.TB, client *yarnclient.Client, id records.ApplicationID, what string, is func(records.ApplicationReport) bool) (report records.ApplicationReport) {
	t.Helper()
	wait.For(t, fmt.Sprintf("%s is %s", id, what), func() (done bool, err error) {
		if report, err = client.ApplicationReport(t.Context(), id); err != nil || is(report) {
			return err == nil, err
		}
		if report.State.Terminal() {
			return false, fmt.Errorf("it is %s (%s): %s", report.State, report.FinalStatus, report.Diagnostics)
		}
		return false, nil
	})
	return report
}

// AwaitLaunched waits until an attempt of an application has its container. Before that, the scheduler may not know the
// application.
func AwaitLaunched(t testing.TB, client *yarnclient.Client, id records.ApplicationID, attempt int32) records.ApplicationReport {
	t.Helper()
	return Await(t, client, id, "launched", func(r records.ApplicationReport) bool {
		now, err := client.Attempt(t.Context(), r.Attempt)
		return err == nil && r.Attempt.Attempt == attempt && now.State == records.AttemptLaunched
	})
}

// Ended is a condition for Await: the application has ended in any way.
func Ended(r records.ApplicationReport) bool { return r.State.Terminal() }

// Logs returns the content so far of all files of this name that containers of an application have written, on any node
// of an open cluster. After the application's end YARN may have aggregated and removed it.
func Logs(t testing.TB, c *cluster.Cluster, id records.ApplicationID, name string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.ContainerLogDir("*"), id.String(), "*", name))
	if err != nil {
		t.Fatal(err)
	}
	var content strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // aggregated meanwhile
			t.Fatal(err)
		}
		content.Write(text)
	}
	return content.String()
}

// Processes returns the ids of the processes that run exactly this command, such as "sleep 3210.75".
func Processes(t testing.TB, command string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.ReplaceAll(strings.TrimRight(string(line), "\x00"), "\x00", " ") == command {
			found = append(found, filepath.Base(filepath.Dir(file)))
		}
	}
	return found
}

// Sleep returns a command that runs longer than any test, and that no other test runs. It is for Processes.
func Sleep() string { return fmt.Sprintf("sleep %d.%d", 10_000+os.Getpid(), time.Now().UnixNano()) }
