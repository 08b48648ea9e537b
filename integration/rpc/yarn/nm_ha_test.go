package yarn

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/haservice"
)

// A pair of which both are taken for active, or neither, is what one asks to find out.
func TestOfTwoResourceManagersOneIsActive(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Config{NodeManagers: 1, HA: true})
	rms, err := confOf(t, c).ResourceManagers()
	if err != nil {
		t.Fatal(err)
	}
	states := func() map[haservice.State]string {
		ids := map[haservice.State]string{}
		for _, rm := range rms {
			status, err := serviceStatus(t, rm.Admin)
			if err != nil {
				continue // it has been killed
			}
			if status.State == haservice.Standby && !status.Ready {
				t.Errorf("%s could not take over: %s", rm.ID, status.NotReady)
			}
			ids[status.State] = rm.ID
		}
		return ids
	}
	before := states()
	active, standby := before[haservice.Active], before[haservice.Standby]
	if active == "" || standby == "" {
		t.Fatalf("the ResourceManagers are %v", before)
	}
	if name, err := c.ActiveRM(t.Context()); err != nil || name != "resourcemanager"+active[len("rm"):] {
		t.Errorf("%s says that it is active; the harness says %s, %v", active, name, err)
	}
	if err := c.Kill(t.Context(), "resourcemanager"+active[len("rm"):]); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the other one is active", func() bool { return states()[haservice.Active] == standby })
}
