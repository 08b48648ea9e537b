package msg

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWhatAJobWaitsForIsSaid would catch another job's slots that count as the job's own, and a
// message about a requested container when none is requested.
func TestWhatAJobWaitsForIsSaid(t *testing.T) {
	clock := func(at time.Time) string { return at.Format(time.TimeOnly) }
	asked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		supply SlotSupply
		held   int
		want   string
	}{
		"another job holds all": {SlotSupply{Total: 4, Requested: 2, RequestedSince: asked}, 0, "it needs 4 slots and has 0; other jobs hold 4; containers requested from YARN: 2, since 03:04:05"},
		"it has some itself":    {SlotSupply{Total: 4, Free: 1, Requested: 1, RequestedSince: asked}, 3, "it needs 4 slots and has 3; containers requested from YARN: 1, since 03:04:05"},
		"they are coming":       {SlotSupply{Starting: 2}, 0, "it needs 4 slots and has 0; workers starting: 2"},
		"some are coming":       {SlotSupply{Starting: 1, Requested: 1, RequestedSince: asked}, 0, "it needs 4 slots and has 0; containers requested from YARN: 1, since 03:04:05; workers starting: 1"},
		"there may be no more":  {SlotSupply{Total: 2}, 2, "it needs 4 slots and has 2; no containers are requested"},
		"YARN refuses":          {SlotSupply{Requested: 1, RequestedSince: asked, Refused: "too large"}, 0, "it needs 4 slots and has 0; YARN gives no more containers: too large"},
	} {
		if got := c.supply.Explain(SlotDemand{Needed: 4, Held: c.held}, clock); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	supply := SlotSupply{Jobs: []SlotDemand{{Job: "a", Needed: 2, Held: 2}, {Job: "b", Needed: 2}}}
	if d, known := supply.Of("b"); !known || !d.Waits() || supply.Jobs[0].Waits() {
		t.Errorf("of b: %+v, %v", d, known)
	}
	if _, known := supply.Of("c"); known {
		t.Error("a job that needs no slots is known")
	}
}

// TestEachReasonHasItsWord would catch reasons that are told for workers whose slots the job does not lack, a reason of YARN
// for containers that are not requested, a sentence with a number in the place of another one, and a remedy
// that names other applications, or the job itself, although another job of the application holds the slots.
func TestEachReasonHasItsWord(t *testing.T) {
	clock := func(at time.Time) string { return at.Format(time.TimeOnly) }
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	size := ContainerSize{MemoryMB: 1024, VCores: 1}
	asked := func(room Room) WorkerSupply {
		return WorkerSupply{Size: size, Slots: 1, Requested: 2, Since: at, Room: room}
	}
	const requested = "containers of 1024 MB and 1 vcore requested from YARN: 2, since 03:04:05"
	for name, c := range map[string]struct {
		kind   WorkerSupply
		demand SlotDemand
		want   []Why
	}{
		"nothing is in the way": {asked(Room{}), SlotDemand{}, []Why{{Reason: WaitsForYARN, Words: requested}}},
		"a full queue": {
			asked(Room{Reason: QueueFull, Queue: "root.a", Left: ContainerSize{MemoryMB: 512, VCores: 3}}),
			SlotDemand{},
			[]Why{
				{QueueFull, "YARN's queue root.a is full: it has 512 MB and 3 vcores left for the user, and a container needs 1024 MB and 1 vcore", "end other applications of the queue, or name another queue with yarn.application.queue"},
				{Reason: WaitsForYARN, Words: requested},
			},
		},
		"a queue that is full of other jobs' workers": {
			asked(Room{Reason: QueueFull, Queue: "root.a", Left: ContainerSize{MemoryMB: 512, VCores: 3}}),
			SlotDemand{Job: "mine"},
			[]Why{
				{
					QueueFull, "YARN's queue root.a is full: it has 512 MB and 3 vcores left for the user, and a container needs 1024 MB and 1 vcore",
					"cancel another job of this application (large has 4 slots), or end other applications of the queue, or name another queue with yarn.application.queue",
				},
				{Reason: WaitsForYARN, Words: requested},
			},
		},
		"a limit that another job has reached": {
			WorkerSupply{Size: size, Limit: "slotmanager.number-of-slots.max: 2"},
			SlotDemand{Job: "large"},
			[]Why{{LimitReached, "there may be no more workers: slotmanager.number-of-slots.max: 2", "raise the option, or cancel another job (small has 1 slot)"}},
		},
		"a label without nodes": {
			asked(Room{Reason: NoNodeWithLabel, Label: "gpu"}),
			SlotDemand{},
			[]Why{
				{NoNodeWithLabel, "no running node with the label gpu is known", "change yarn.taskmanager.node-label, or have an administrator give the label to nodes"},
				{Reason: WaitsForYARN, Words: requested},
			},
		},
		"only nodes with labels": {
			asked(Room{Reason: NoNode}),
			SlotDemand{},
			[]Why{
				{NoNode, "YARN has no running node without a label", "if all nodes have labels, name one for the workers: yarn.taskmanager.node-label"},
				{Reason: WaitsForYARN, Words: requested},
			},
		},
		"a silent YARN": {
			asked(Room{Reason: YARNSilent, Silent: at.Add(time.Minute)}),
			SlotDemand{},
			[]Why{
				{YARNSilent, "YARN's ResourceManager has not answered since 03:05:05", "the requests are repeated until it answers"},
				{Reason: WaitsForYARN, Words: requested},
			},
		},
		"a refusal in place of the last room": {
			WorkerSupply{Size: size, Requested: 2, Refused: "too large", Room: Room{Reason: QueueFull}},
			SlotDemand{},
			[]Why{{Reason: YARNRefuses, Words: "YARN gives no more containers: too large"}},
		},
		"starts that fail": {
			WorkerSupply{Size: size, Starting: 1, Failures: StartFailures{Since: at, Cause: "disk full", Until: at.Add(10 * time.Second)}, Limit: "two"},
			SlotDemand{},
			[]Why{
				{StartsFail, "workers have failed to start since 03:04:05, and the next one starts at 03:04:15; the last cause: disk full", "see the logs of the containers: bobbin logs"},
				{Reason: WorkersStarting, Words: "workers starting: 1"},
			},
		},
		"the limit": {
			WorkerSupply{Size: size, Limit: "slotmanager.number-of-slots.max: 2", Profile: "1 GB"},
			SlotDemand{},
			[]Why{{LimitReached, "for slots with 1 GB: there may be no more workers: slotmanager.number-of-slots.max: 2", "raise the option, or wait until other jobs end"}},
		},
		"its turn, and nodes": {
			WorkerSupply{},
			SlotDemand{Turn: true, Blocked: true},
			[]Why{
				{Reason: OtherTurn, Words: "another job gets new workers first, because both need slots of several sizes"},
				{NodesAvoided, "the job has set aside all nodes on which its tasks have failed", "it tries them again; `bobbin status` and GET /blocklist list them"},
			},
		},
		"nothing known": {WorkerSupply{Size: size}, SlotDemand{}, []Why{{Reason: NothingAsked, Words: "no containers are requested"}}},
	} {
		supply := SlotSupply{Kinds: []WorkerSupply{{Refused: "of another size"}, c.kind}}
		if c.demand.Job != "" {
			supply.Jobs = []SlotDemand{{Job: "mine"}, {Job: "small", Held: 1}, {Job: "large", Held: 4}}
		}
		c.demand.Lacks = []int{1, 7}
		if got := supply.Reasons(c.demand, clock); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, c.want)
		}
	}
	if got := (SlotSupply{Earlier: 3, Kinds: []WorkerSupply{{}}, Total: 2}).Reasons(SlotDemand{}, clock); len(got) != 2 || got[0].Reason != EarlierWorkers || got[1].Reason != OtherJobs {
		t.Errorf("after another master: %+v", got)
	}
}

// TestWhatAJobWaitsForInEachState would catch a job that is said to wait although its tasks run, or has ended, and one whose
// wait has no begin, so that nobody is told.
func TestWhatAJobWaitsForInEachState(t *testing.T) {
	clock := func(at time.Time) string { return at.Format(time.TimeOnly) }
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	times := map[JobStatus]time.Time{JobInitializing: at, JobRunning: at.Add(time.Second), JobRestarting: at.Add(time.Minute)}
	tasks := func(states ...ExecutionState) (vertices []VertexDetails) {
		for _, state := range states {
			vertices = append(vertices, VertexDetails{Tasks: map[ExecutionState]int{state: 1, ExecutionFailed: 0}})
		}
		return vertices
	}
	const awaits = "workers have to tell what they hold"
	for name, c := range map[string]struct {
		status JobStatus
		demand SlotDemand
		tasks  []VertexDetails
		want   WaitReason
		since  time.Duration
	}{
		awaits:                           {JobRunning, SlotDemand{}, tasks(ExecutionCreated), EarlierWorkers, time.Second},
		"it is being stored":             {JobInitializing, SlotDemand{}, nil, Storing, 0},
		"it lacks slots":                 {JobRunning, SlotDemand{Needed: 2, Since: at.Add(time.Hour)}, tasks(ExecutionScheduled), NothingAsked, time.Hour},
		"hosts start":                    {JobRunning, SlotDemand{Needed: 2, Held: 2}, tasks(ExecutionScheduled, ExecutionDeploying), Preparing, 2 * time.Second},
		"it runs":                        {JobRunning, SlotDemand{Needed: 2, Held: 2}, tasks(ExecutionScheduled, ExecutionRunning), "", 0},
		"it restarts":                    {JobRestarting, SlotDemand{Needed: 2, Held: 2}, tasks(ExecutionFailed), Restarting, time.Minute},
		"it restarts, and there is none": {JobRestarting, SlotDemand{Needed: 2, Since: at}, tasks(ExecutionFailed), NothingAsked, 0},
		"it is being cancelled":          {JobCancelling, SlotDemand{Needed: 2, Since: at}, tasks(ExecutionScheduled), "", 0},
		"it has ended":                   {JobFinished, SlotDemand{}, tasks(ExecutionFinished), "", 0},
	} {
		c.demand.Job = "j"
		supply := SlotSupply{Jobs: []SlotDemand{c.demand}}
		if c.demand.Needed == 0 {
			supply.Jobs = nil
		}
		d := JobDetails{ID: "j", Status: c.status, AwaitsWorkers: name == awaits, Timestamps: times, Vertices: c.tasks, Steps: []Step{{Name: "first worker registered", At: at.Add(2 * time.Second)}}}
		got := WaitOf(&d, supply, clock)
		var reason WaitReason
		since := time.Time{}
		if len(got.Why) > 0 {
			reason, since = got.Why[0].Reason, at.Add(c.since)
		}
		if reason != c.want || !got.Since.Equal(since) || (got.Words == "") != (c.want == "") {
			t.Errorf("%s: %+v, want %s since %s", name, got, c.want, since)
		}
	}
}

// TestARecoveredJobWaitsSinceItsRecovery would catch a job that seems to have been stored for the hours that an earlier
// ApplicationMaster ran it.
func TestARecoveredJobWaitsSinceItsRecovery(t *testing.T) {
	t.Parallel()
	d := JobDetails{
		Status: JobInitializing, Start: after(0), Timestamps: map[JobStatus]time.Time{JobInitializing: after(7200)}, Steps: []Step{{StepRecovered, after(7200)}},
	}
	got := WaitOf(&d, SlotSupply{}, time.Time.String)
	if !got.Since.Equal(after(7200)) || !strings.Contains(got.Words, "recovered") {
		t.Errorf("it waits since %v: %q", got.Since, got.Words)
	}
}
