package options

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestTheResourceManagerHearsOfApplicationMasters would catch intervals of heartbeats that have no
// effect, or that are mixed up. It counts the heartbeats that the ResourceManager has answered for
// the only application. The ResourceManager updates this count every 10 s, so the test needs a
// minute.
func TestTheResourceManagerHearsOfApplicationMasters(t *testing.T) {
	cluster.Long(t)
	alice := suite.UserOf(t, clusters.Own(t, cluster.Config{Heartbeat: time.Second}), bobbintest.Alice)
	next := func(before int) (count int, seen time.Time) {
		t.Helper()
		wait.For(t, "the ResourceManager tells how many heartbeats it has answered", func() (bool, error) {
			var err error
			count, err = alice.Cluster.MasterBeats(t.Context())
			return count != before, err
		})
		return count, time.Now()
	}
	// check checks that the time between two heartbeats is between least and most.
	check := func(what string, least, most time.Duration) {
		t.Helper()
		old, _ := next(-1)
		first, begin := next(old)
		last, end := next(first)
		period := end.Sub(begin) / time.Duration(last-first)
		cluster.Figure(t, "%s: a heartbeat each %v", what, period)
		if period < least || period > most {
			t.Errorf("%s: a heartbeat each %v, want %v to %v", what, period, least, most)
		}
	}

	d := suite.Dawdle(t, alice, option("yarn.heartbeat.interval", "300 ms")...)
	check("yarn.heartbeat.interval 300 ms", 200*time.Millisecond, time.Second) // otherwise it is 5 s
	d.CheckSucceeds(t)

	// More workers than the cluster has room for: Bobbin requests some all the time.
	text := alice.Scratch(t)
	alice.Put(t, suite.Generate(t, "-size", "20k", "-files", "1"), text+"/text")
	args := bobbintest.Small("-D", "yarn.heartbeat.container-request-interval=2 s", "-p", "100", suite.Program(t, "dawdle"), "/none", text+"/output", text+"/text")
	run := alice.Start(t, args...)
	id := run.Application(t)
	run.Says(t, ": it needs 100 slots and has ")
	check("yarn.heartbeat.container-request-interval 2 s", 1400*time.Millisecond, 3*time.Second) // otherwise it is 100 ms, or 5 s
	if got := alice.Run(t, "kill", id); got.Code != 0 {                                          // otherwise it takes all the room of the other tests
		t.Fatal(got)
	}
	run.Wait(t)
}
