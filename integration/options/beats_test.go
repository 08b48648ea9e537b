package options

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestTheResourceManagerHearsOfApplicationMasters would catch intervals of heartbeats that are
// taken and do nothing. It counts what the ResourceManager has answered, for the one
// application that there is.
func TestTheResourceManagerHearsOfApplicationMasters(t *testing.T) {
	cluster.Long(t)
	alice := someone(t, bobbintest.Alice)
	const (
		beats = 20
		usual = 5 * time.Second
	)
	measure := func(what string) time.Duration {
		t.Helper()
		count := func() int {
			n, err := alice.Cluster.MasterBeats(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		begin, first := time.Now(), count()
		bobbintest.Until(t, "the ResourceManager has heard of an ApplicationMaster often", func() bool { return count()-first >= beats })
		took := time.Since(begin)
		cluster.Figure(t, "%s: %d heartbeats in %.1f s", what, beats, took.Seconds())
		return took
	}

	d := suite.Dawdle(t, alice, option("yarn.heartbeat.interval", "300 ms")...)
	if took := measure("yarn.heartbeat.interval 300 ms"); took > beats*usual/2 {
		t.Errorf("with nothing to ask for, %d heartbeats took %v", beats, took)
	}
	d.CheckSucceeds(t)

	// More workers than there is room for: some are asked for all the time.
	text := alice.Scratch(t)
	alice.Put(t, suite.Generate(t, "-size", "20k", "-files", "1"), text+"/text")
	args := bobbintest.Small("-D", "yarn.heartbeat.container-request-interval=300 ms", "-p", "100", suite.Program(t, "dawdle"), "/none", text+"/output", text+"/text")
	run := alice.Start(t, args...)
	id := run.Application(t)
	if took := measure("yarn.heartbeat.container-request-interval 300 ms"); took > beats*usual/2 {
		t.Errorf("with containers to come, %d heartbeats took %v", beats, took)
	}
	if got := alice.Run(t, "kill", id); got.Code != 0 { // or it takes all that the other tests need
		t.Fatal(got)
	}
	run.Wait(t)
}
