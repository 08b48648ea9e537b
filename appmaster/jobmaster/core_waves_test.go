package jobmaster

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// waves runs a job of independent map tasks on a cluster with slots for only a few of them, in
// virtual time.
type waves struct {
	t       *testing.T
	core    *core
	now     time.Time
	worker  actor.Peer
	work    time.Duration // of each task
	running []timedTask   // in the order of their ends
	most    int           // tasks that ran at the same time
	ended   *ended
	// declared are the numbers of slots that the job declared, in order.
	declared []int
}

type timedTask struct {
	id   ids.ExecutionAttemptID
	ends time.Time
}

// run gives the job's end and how long it took.
func (w *waves) run(tasks, room int, options map[string]string) (msg.JobDetails, time.Duration) {
	w.t.Helper()
	g := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "map", Name: "map", Config: options,
		Vertices: []jobgraph.Vertex{{Name: "read", Parallelism: tasks, Source: true}},
	}
	g.Digest = g.ComputeDigest()
	c, err := Configured(config.Config{}, g)
	if err != nil {
		w.t.Fatal(err)
	}
	c.Job, c.JobMaster = "j1", "m1"
	if w.core, err = newCore(c); err != nil {
		w.t.Fatal(err)
	}
	w.now, w.worker = testEpoch, actor.Peer{Connection: 1, Resource: "w1"}
	w.step(started{})
	w.step(resourceManagerSaid{msg.JobMasterRegistered{}})
	var offers msg.OfferSlots
	for i := range room {
		offers.Offers = append(offers.Offers, msg.SlotOffer{Index: i, Allocation: ids.AllocationID(fmt.Sprint("a", i))})
	}
	w.say(msg.RegisterAtJobMaster{Resource: "w1", Host: "n1"})
	w.say(offers)
	w.say(msg.HostReady{Host: "h1", DataAddress: "n1:1"})
	for w.ended == nil {
		if len(w.running) > 0 && !w.running[0].ends.After(w.core.Alarm()) {
			done := w.running[0]
			w.now, w.running = done.ends, w.running[1:]
			w.say(changed(msg.TaskStateChange{Execution: done.id, State: msg.ExecutionFinished}))
			continue
		}
		w.now = w.core.Alarm()
		w.say(msg.Heartbeat{})
		w.step(woken{})
	}
	return w.ended.Details, w.now.Sub(testEpoch)
}

func (w *waves) say(m msg.Message) { w.step(taskExecutorSaid{From: w.worker, Message: m}) }

func (w *waves) step(event event) {
	for _, effect := range w.core.Step(w.now, event) {
		switch e := effect.(type) {
		case tellResourceManager:
			if declared, is := e.Message.(msg.DeclareRequirements); is {
				w.declared = append(w.declared, declared.Needs[0].Slots)
			}
		case sendTaskExecutor:
			if deployed, is := e.Message.(msg.DeployTasks); is {
				for _, task := range deployed.Tasks {
					w.running = append(w.running, timedTask{task.Execution, w.now.Add(w.work)})
				}
			}
		case ended:
			w.ended = &e
		}
	}
	w.most = max(w.most, len(w.running))
}

// TestIndependentTasksRunInWaves would catch a slot that stays idle for 50 s while a task waits for
// a slot, a slot that is declared again though its task has finished, and a job that fails for lack
// of slots while its tasks finish one after the other.
func TestIndependentTasksRunInWaves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tasks, room int
		work        time.Duration
		options     map[string]string
		want        time.Duration
	}{
		"eight short tasks on room for two take four waves":                {8, 2, 900 * time.Millisecond, nil, 3600 * time.Millisecond},
		"an odd number takes half a wave more":                             {7, 2, 900 * time.Millisecond, nil, 3600 * time.Millisecond},
		"room for all takes one wave":                                      {8, 8, 900 * time.Millisecond, nil, 900 * time.Millisecond},
		"waves together longer than the time for slots fail nothing":       {8, 2, 40 * time.Second, map[string]string{"slot.request.timeout": "60 s"}, 160 * time.Second},
		"a wave longer than the time for slots fails nothing":              {8, 2, 10 * time.Minute, map[string]string{"slot.request.timeout": "60 s"}, 40 * time.Minute},
		"and room for one is enough, whatever the time for an idle slot":   {4, 1, time.Second, map[string]string{"slot.idle.timeout": "10 min"}, 4 * time.Second},
		"nor does a short time for an idle slot take one from who uses it": {4, 1, time.Minute, map[string]string{"slot.idle.timeout": "1 s"}, 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &waves{t: t, work: test.work}
			details, took := w.run(test.tasks, test.room, test.options)
			if details.Status != msg.JobFinished || took != test.want || w.most != test.room {
				t.Errorf("%s after %s with %d tasks at a time, want FINISHED after %s with %d; root %+v",
					details.Status, took, w.most, test.want, test.room, details.Root)
			}
			want := []int{0}
			for slots := range test.tasks {
				want = append([]int{slots + 1}, want...)
			}
			if diff := cmp.Diff(want, w.declared); diff != "" {
				t.Errorf("slots that are declared, one less with each task that ends (-want +got):\n%s", diff)
			}
		})
	}
}
