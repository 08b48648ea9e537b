package jobmaster

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestAJobWhoseClientHasLeftGoesOn would catch a job that waits for ever, with all its containers,
// for a client to read collected records, and a job that does not wait for exactly
// client.heartbeat.timeout.
func TestAJobWhoseClientHasLeftGoesOn(t *testing.T) {
	t.Parallel()
	for name, timeout := range map[string]struct {
		option  string // "": the default
		minutes int
	}{
		"as by default":      {"", 3},
		"as the option says": {"5 min", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leavesJob(t, timeout.option, timeout.minutes)
		})
	}
}

// leavesJob makes a client leave a job that waits for it, and checks that the job continues after
// this number of minutes.
func leavesJob(t *testing.T, option string, minutes int) {
	s, sequence := heldBack(t, option)
	expect := func(line string, want ...string) {
		t.Helper()
		got := slices.DeleteFunc(s.command(line), func(l string) bool { return strings.HasSuffix(l, "heartbeat") })
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", line, diff)
		}
	}
	alive := func(minutes int) { // time passes, and the worker sends heartbeats
		t.Helper()
		for range 2 * minutes {
			expect("wait 29s")
			expect("heartbeat 1")
			expect("wait 1s")
		}
	}

	alive(2)
	s.command("details") // the client reads slowly, but it is there
	alive(minutes - 1)
	expect("wait 29s")
	expect("heartbeat 1")
	at := fmt.Sprintf("%dm0s: ", 2+minutes)
	expect("wait 31s", at+"result top dropped", fmt.Sprintf("%sto 1: acknowledged %d of e1-v1-s0-a0", at, sequence-1))

	// No client has come back: the task does not wait again.
	for {
		lines := s.command(fmt.Sprintf("batch 1 e1-v1-s0-a0 %d 256K", sequence))
		sequence++
		if slices.Contains(lines, "result top dropped") {
			break
		}
		if sequence > 1000 {
			t.Fatal("the result is held for a client that has left")
		}
	}
	expect("page top 1", fmt.Sprintf("page: result page is not held any more: batch 1 was asked for, and batches %d to %d are left", sequence, sequence))
}

// TestAClientIsThereWhileTheJobMasterIsStopped would catch a result that is dropped because the
// JobMaster's own process was stopped for longer than client.heartbeat.timeout, though the client's
// question waits to be read. It would also catch a JobMaster that is always late and holds the
// result for ever.
func TestAClientIsThereWhileTheJobMasterIsStopped(t *testing.T) {
	t.Parallel()
	s, _ := heldBack(t, "")
	heard := func(line string) []string {
		lines := s.command(line)
		s.command("heartbeat 1")
		return lines
	}
	heard("asleep 10m")
	if got := heard("page top 0"); !slices.ContainsFunc(got, func(l string) bool { return strings.HasPrefix(l, "page: epoch 0, ") }) {
		t.Errorf("once the JobMaster goes on it answers %v", got)
	}
	for late := 0; !slices.ContainsFunc(heard("asleep 11s"), func(l string) bool { return strings.HasSuffix(l, "result top dropped") }); late++ {
		if late > 20 {
			t.Fatal("the result is held after four minutes in which no client came")
		}
	}
}

// heldBack gives a job whose task waits for its client to read, and the number of batches held.
func heldBack(t *testing.T, option string) (s *script, sequence int) {
	t.Helper()
	s = &script{t: t, now: testEpoch, peers: make(map[actor.ConnectionID]ids.ResourceID)}
	s.graph.ProtocolVersion = jobgraph.ProtocolVersion
	s.graph.Job, s.graph.Name = "wordcount", "wordcount"
	if option != "" {
		s.graph.Config = map[string]string{config.ClientHeartbeatTimeout.Name(): option}
	}
	s.commands(
		"vertex read 1 splits=n1", "vertex top 1 collect=top", "edge 0 1", "start", "rm registered",
		"register 1 w1 n1", "offer 1 a1", "ready 1 h1", "state 1 e1-v0-s0-a0 RUNNING", "state 1 e1-v1-s0-a0 RUNNING",
	)
	for { // until a batch is not acknowledged
		lines := s.command(fmt.Sprintf("batch 1 e1-v1-s0-a0 %d 256K", sequence))
		sequence++
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "acknowledged") }) {
			return s, sequence
		}
		if sequence > 1000 {
			t.Fatal("the task is never held back")
		}
	}
}
