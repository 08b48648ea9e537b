package jobmaster

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// mixed is a job with two regions that need one slot of the first size and two of the second, and the other way
// round. It has one slot of each size: enough of each for some region, and not enough for any region.
func mixed(t *testing.T) *script {
	t.Helper()
	s := &script{t: t, now: testEpoch, peers: make(map[actor.ConnectionID]ids.ResourceID)}
	s.graph.ProtocolVersion = jobgraph.ProtocolVersion
	s.graph.Job, s.graph.Name = "wordcount", "wordcount"
	for _, command := range []string{
		"option heartbeat.interval=2min heartbeat.timeout=1h",
		"vertex a 1 splits=n1 group=g0 heap=100", "vertex b 2 group=g1 heap=800", "edge 0 1",
		"vertex c 2 splits=n1 group=g0 heap=100", "vertex d 1 group=g1 heap=800", "edge 2 3",
		"start", "rm registered",
		"register 1 w1 n1 heap=100", "offer 1 a1", "ready 1 h1",
		"register 2 w2 n2 heap=800", "offer 2 a2", "ready 2 h2",
	} {
		s.command(command)
	}
	return s
}

// does runs commands, and checks that the effects of the last one have a line with this text.
func (s *script) does(text string, commands ...string) {
	s.t.Helper()
	var lines []string
	for _, command := range commands {
		lines = s.command(command)
	}
	if !strings.Contains(strings.Join(lines, "\n"), text) {
		s.t.Errorf("%v: no effect has %q:\n%s", commands, text, strings.Join(lines, "\n"))
	}
}

// TestAJobThatIsStarvedOfSeveralSizesDoesNotWaitForNothing would catch a job that looks at each size alone. It would
// ignore that YARN gives no more slots, and that no slot has come in time. After the slot time-out it would be woken
// over and over until the block of the node ends.
func TestAJobThatIsStarvedOfSeveralSizesDoesNotWaitForNothing(t *testing.T) {
	t.Parallel()
	mixed(t).does("not enough resources for 2 slots of slot sharing group g1", "rm short heap=800 YARN's largest container has 512 MB")
	mixed(t).does("no other node gave slots within 5m0s (slot.request.timeout); tried again true after 0s: disk full",
		"register 3 w3 n3 heap=800", "unavailable 3 disk full", "wait 5m")
	mixed(t).does("no other node gives slots: YARN refuses 1024 MB; tried again true",
		"register 3 w3 n3 heap=800", "unavailable 3 disk full", "rm short heap=800 blocked=yes YARN refuses 1024 MB")
}

// TestAJobAsksAgainWhenItsLastRegionHasLostItsSlots would catch a job that continued with too few slots, and relies
// on the earlier answer when no region can run any more.
func TestAJobAsksAgainWhenItsLastRegionHasLostItsSlots(t *testing.T) {
	t.Parallel()
	s := mixed(t)
	s.does("deploy to h2: e1-v1-s0-a0", "register 3 w3 n3 heap=800", "offer 3 a3", "ready 3 h3")
	s.command("rm short heap=100 workers end before they register")
	s.does("to rm: 2 slots, 1 at least", "lost 3 connection reset", "wait 2s")
}

// TestASlotTimeOutNamesTheGroups would catch a message that leaves open which size is missing.
func TestASlotTimeOutNamesTheGroups(t *testing.T) {
	t.Parallel()
	mixed(t).does("the job has 2 of 4 slots (1 of 2 of slot sharing group g0, 1 of 2 of slot sharing group g1), needs at least 3,", "wait 5m")
}
