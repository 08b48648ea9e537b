package resourcemanager

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// FuzzTaskExecutorSays sends messages of workers, mainly registrations. It would catch a message
// that crashes the ApplicationMaster, a worker that counts with more slots than it has, and a
// worker that speaks for another.
func FuzzTaskExecutorSays(f *testing.F) {
	register := msg.RegisterTaskExecutor{
		ProtocolVersion: jobgraph.ProtocolVersion, Resource: "w1", Host: "n1", Slots: []msg.SlotStatus{{}, {Index: 1}}, Memory: testMemory, VCores: 2,
	}
	liar := register
	liar.Resource, liar.Slots = "w2", []msg.SlotStatus{{Index: -1}, {Index: 1 << 40}}
	for _, messages := range [][3]msg.Message{
		{register, msg.SlotReport{Slots: []msg.SlotStatus{{Allocation: "a", Job: "j1"}, {Allocation: "a", Job: "j1"}}}, msg.SlotsFreed{Slots: []msg.SlotOffer{{Index: 7}}}},
		{register, msg.SlotRequestsAnswered{Taken: []msg.SlotOffer{{Index: 1, Allocation: "#1"}}}, msg.SlotReport{}},
		{liar, register, msg.Disconnect{}},
		{register, register, msg.SlotRequestsAnswered{Refused: []msg.SlotRefusal{{SlotOffer: msg.SlotOffer{Index: -1}, Reason: "no"}}}},
	} {
		var encoded [3][]byte
		for i, m := range messages {
			data, err := codec.Encode(m)
			if err != nil {
				f.Fatal(err)
			}
			encoded[i] = data
		}
		f.Add(encoded[0], encoded[1], encoded[2])
	}
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		c, err := newCore(testConfig())
		if err != nil {
			t.Fatal(err)
		}
		now := testEpoch
		from := actor.Peer{Connection: 1, Resource: "w1"}
		c.Step(now, jobMasterRegistering{msg.RegisterJobMaster{Job: "j1", JobMaster: "m1"}})
		c.Step(now, requirementsDeclared{msg.DeclareRequirements{Job: "j1", JobMaster: "m1", Needs: []msg.SlotNeed{{Slots: 4}}}})
		c.Step(now, workersReported{Events: []WorkerEvent{WorkerStarting{Worker: "w1", Spec: testConfig().Worker, Host: "n1"}, WorkerStarting{Worker: "w2", Spec: testConfig().Worker, Host: "n2"}}})
		for _, data := range [][]byte{first, second, third} {
			m, err := codec.Decode(data, msg.TaskExecutorToResourceManager)
			if err != nil {
				continue
			}
			now = now.Add(time.Second)
			effects := c.Step(now, taskExecutorSaid{From: from, Message: m})
			if limit := 64 + len(data); len(effects) > limit {
				t.Errorf("%s of %d bytes has %d effects", msg.Kind(m), len(data), len(effects))
			}
			status := c.status()
			for _, w := range status.TaskExecutors {
				if w.SlotsTotal < 0 || w.SlotsTotal > 2 || w.SlotsFree < 0 || w.SlotsFree > w.SlotsTotal {
					t.Errorf("worker %s has %d slots, %d of them free", w.Resource, w.SlotsTotal, w.SlotsFree)
				}
			}
			if w := c.workers["w2"]; w == nil || w.state != starting {
				t.Error("what w1 says changes w2")
			}
		}
		c.Step(now.Add(time.Second), taskExecutorDisconnected{From: from, Cause: "gone"})
		c.Step(now.Add(time.Hour), woken{})
	})
}
