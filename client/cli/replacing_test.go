package cli

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// TestScriptsLearnThatAMasterIsReplaced would catch a script that gives up, or cancels and starts anew, an application
// that only changes its ApplicationMaster, and one that cannot tell why the last one ended.
func TestScriptsLearnThatAMasterIsReplaced(t *testing.T) {
	second := make(chan struct{}) // closed when the second attempt has started; it never registers
	fake := startYARN(t, yarnfake.Config{Heartbeat: 5 * time.Millisecond, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
		if c.ID.Attempt.Attempt == 1 {
			return 7
		}
		close(second)
		return forever(ctx, c)
	}})
	alice := yarnAs(t, fake, "alice")
	created, err := alice.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alice.Submit(t.Context(), records.SubmissionContext{ID: created.ID, Name: "nightly", Resource: records.Resource{MemoryMB: 128, VCores: 1}}); err != nil {
		t.Fatal(err)
	}
	<-second
	env, id := environment(t, fake.Conf()), created.ID.String()
	const replacing = "the ApplicationMaster is being replaced: "
	for _, line := range []string{"list -id ID", "cancel -id ID JOB", "stop -id ID JOB", "info -id ID JOB", "session stop -id ID", "status -id ID"} {
		code, stdout, stderr := command(t, env, strings.Fields(strings.NewReplacer("ID", id, "JOB", string(runningJob)).Replace(line))...)
		if code != ExitReplacing || !strings.HasPrefix(stderr, "bobbin: "+replacing+id+" is ACCEPTED, attempt 2") || (stdout != "") != strings.HasPrefix(line, "status") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", line, code, stdout, stderr)
		}
		if strings.HasPrefix(line, "status") && (!strings.Contains(stdout, "\nattempt 1    FAILED, from ") || !strings.Contains(stdout, ": exit code 7: ") || !strings.Contains(stdout, "\nattempt 2    ")) {
			t.Errorf("%s: the attempts are not in\n%s", line, stdout)
		}
	}
	code, stdout, stderr := command(t, env, "status", "-o", "json", "-id", id)
	var told struct {
		State, Error string
		Attempts     []struct {
			Attempt                  int
			State, Container, Reason string
			Started, Finished        int64
		}
	}
	if err := json.Unmarshal([]byte(stdout), &told); err != nil || code != ExitReplacing || !strings.HasPrefix(told.Error, replacing) || told.State != "ACCEPTED" {
		t.Fatalf("exit code %d, %v, stdout %q, stderr %q", code, err, stdout, stderr)
	}
	if a := told.Attempts; len(a) != 2 || a[0].Attempt != 1 || a[0].State != "FAILED" || !strings.HasPrefix(a[0].Reason, "exit code 7: ") || a[0].Finished < a[0].Started || a[0].Container == "" || a[1].Finished != -1 {
		t.Errorf("attempts are %+v", a)
	}
	if err := alice.Kill(t.Context(), created.ID, ""); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := command(t, env, "status", "-id", id); code != ExitOK || stderr != "" || strings.Count(stdout, "\nattempt ") != 2 {
		t.Errorf("after the end: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
