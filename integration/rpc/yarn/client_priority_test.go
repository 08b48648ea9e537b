package yarn

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
)

// TestApplicationPriorities would catch a priority that YARN does not get, and one that YARN bounds without the
// client's knowledge.
func TestApplicationPriorities(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	// The scheduler does not know the attempt of an application that has just been ACCEPTED, and answers with a
	// NullPointerException.
	id := rpctest.AwaitLaunched(t, client, rpctest.Submit(t, client, rpctest.Shell("exec sleep 1000")).ID, 1).ID
	rm := func() int {
		t.Helper()
		var answer struct{ Priority int }
		if err := c.RM().Get(t.Context(), "apps/"+id.String()+"/priority", &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Priority
	}
	if got, err := client.UpdatePriority(t.Context(), id, 4); err != nil || got != 4 || rm() != 4 {
		t.Errorf("priority is %d, %v; the ResourceManager says %d", got, err, rm())
	}
	// Too high a priority becomes the highest one.
	if got, err := client.UpdatePriority(t.Context(), id, 99); err != nil || got != 10 || rm() != 10 {
		t.Errorf("priority is %d, %v; the ResourceManager says %d", got, err, rm())
	}
	if report, err := client.ApplicationReport(t.Context(), id); err != nil || report.Priority != 10 {
		t.Errorf("the report says %d, %v", report.Priority, err)
	}
}
