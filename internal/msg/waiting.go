package msg

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// WaitReason says why a job waits, in a word that programs can compare.
type WaitReason string

// The reasons. Those up to YARNSilent come from YARN's answers about requested containers: see Room.
const (
	QueueFull         WaitReason = "QUEUE_FULL"           // the queue, or the user's share of it, has no room for a container
	NoNodeFree        WaitReason = "NO_NODE_FREE"         // the queue has room, and still no container comes
	NoNodeLargeEnough WaitReason = "NO_NODE_LARGE_ENOUGH" // no node could ever have such a container
	NoNodeWithLabel   WaitReason = "NO_NODE_WITH_LABEL"   // no node has the label of the workers
	NoNode            WaitReason = "NO_NODE"              // no label is asked for, and no node is without one
	NodesAvoided      WaitReason = "NODES_AVOIDED"        // jobs have set aside all nodes that are large enough
	YARNSilent        WaitReason = "YARN_SILENT"          // YARN's ResourceManager does not answer
	WaitsForYARN      WaitReason = "CONTAINERS_ASKED"     // containers are requested, and may come at any time

	YARNRefuses     WaitReason = "YARN_REFUSES"     // YARN has refused the request
	StartsFail      WaitReason = "STARTS_FAIL"      // workers start and end, again and again
	LimitReached    WaitReason = "LIMIT_REACHED"    // an option allows no more workers
	WorkersStarting WaitReason = "WORKERS_STARTING" // containers have come, and their workers have not registered yet
	EarlierWorkers  WaitReason = "EARLIER_WORKERS"  // workers of an earlier ApplicationMaster are to return first
	OtherJobs       WaitReason = "OTHER_JOBS"       // other jobs hold slots
	OtherTurn       WaitReason = "OTHER_TURN"       // another job gets new workers first
	NothingAsked    WaitReason = "NOTHING_ASKED"    // no container is requested, and no other reason is known
	Preparing       WaitReason = "PREPARING"        // the job has its slots, and its task hosts are starting
	Storing         WaitReason = "STORING"          // the job is being stored, or its outputs are being made
	Restarting      WaitReason = "RESTARTING"       // it restarts after a failure
)

// Room is what YARN's answers tell of the room for requested containers. The zero value says that nothing is requested, or
// that nothing is known yet.
type Room struct {
	Reason WaitReason // "" if nothing keeps a container from coming
	Queue  string     // of the application
	Label  string     // of the nodes for workers; "": nodes without a label
	// Left is what YARN has left for the user in the queue: the headroom of its last answer.
	Left ContainerSize
	// Silent is since when YARN has not answered, if Reason is YARNSilent.
	Silent time.Time
}

// ContainerSize is memory and virtual cores.
type ContainerSize struct{ MemoryMB, VCores int }

func (s ContainerSize) String() string {
	if s.VCores == 1 {
		return fmt.Sprintf("%d MB and 1 vcore", s.MemoryMB)
	}
	return fmt.Sprintf("%d MB and %d vcores", s.MemoryMB, s.VCores)
}

// StartFailures are failures of starts of workers in a row: no worker has registered since the first one.
type StartFailures struct {
	Since time.Time // zero: the last start has not failed
	Cause string    // of the last one
	Until time.Time // no worker is ordered before; zero: now
}

// WorkerSupply is the workers of one size that a cluster waits for.
type WorkerSupply struct {
	Profile   string // of their slots; "": default slots
	Size      ContainerSize
	Slots     int // of each worker
	Requested int // containers requested from YARN
	Since     time.Time
	Room      Room
	Starting  int // workers with a container that have not registered
	Refused   string
	Failures  StartFailures
	Limit     string // the option that allows no more such workers, with its value; "" if more are allowed
}

// Why is a reason why a job waits, for people.
type Why struct {
	Reason WaitReason
	Words  string // one sentence, without its capital letter and its full stop
	Remedy string // what a user can do; "": to wait
}

func (w Why) String() string {
	if w.Remedy == "" {
		return w.Words
	}
	return w.Words + " (" + w.Remedy + ")"
}

// Wait is what a job waits for. The zero value is a job that does not wait.
type Wait struct {
	Since time.Time // zero: it does not wait
	Words string
	Why   []Why // the most important reason first
}

// WaitOf says what a job waits for, by its description and by the slots of its cluster. clock formats a time.
func WaitOf(d *JobDetails, supply SlotSupply, clock func(time.Time) string) Wait {
	switch demand, known := supply.Of(d.ID); {
	case d.Status == JobInitializing:
		words := "the job is being accepted: the ApplicationMaster stores it, and makes its outputs"
		if d.recovered() {
			words = "the job is being recovered: the ApplicationMaster opens its outputs"
		}
		return waitFor(d.Timestamps[JobInitializing], Why{Reason: Storing, Words: words, Remedy: "if this takes long, HDFS is slow: see jobmanager.log"})
	case d.Status != JobRunning && d.Status != JobRestarting:
		return Wait{}
	case d.AwaitsWorkers:
		return waitFor(d.Timestamps[JobRunning], Why{
			Reason: EarlierWorkers,
			Words:  "workers of the earlier ApplicationMaster have still to say which partitions they hold", Remedy: "it goes on without them after execution.batch.job-recovery.previous-worker.recovery.timeout",
		})
	case known && demand.Waits():
		return Wait{Since: demand.Since, Words: supply.Explain(demand, clock), Why: supply.Reasons(demand, clock)}
	case d.Status == JobRestarting:
		return waitFor(d.Timestamps[JobRestarting], Why{
			Reason: Restarting,
			Words:  "tasks have failed, and restart", Remedy: "the exceptions of the job say why; restart-strategy.* decides how long a restart waits",
		})
	case known && d.prepares():
		since := d.Timestamps[JobRunning]
		for _, step := range d.Steps {
			since = latest(since, step.At)
		}
		return waitFor(since, Why{
			Reason: Preparing,
			Words:  fmt.Sprintf("it has its %d slots; workers fetch its program and its cached files, and start task hosts", demand.Held), Remedy: "if this takes long, see taskmanager.log",
		})
	}
	return Wait{}
}

// recovered tells whether this master has taken the job over from an earlier one.
func (d *JobDetails) recovered() bool {
	return slices.ContainsFunc(d.Steps, func(s Step) bool { return s.Name == StepRecovered })
}

func waitFor(since time.Time, why Why) Wait {
	return Wait{Since: since, Words: why.Words, Why: []Why{why}}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// prepares tells whether no task of the job has run yet since its start, or since its last restart.
func (d *JobDetails) prepares() bool {
	for _, v := range d.Vertices {
		for state, n := range v.Tasks {
			if n > 0 && state != ExecutionCreated && state != ExecutionScheduled && state != ExecutionDeploying {
				return false
			}
		}
	}
	return len(d.Vertices) > 0
}

// Explain describes in words what a job waits for. clock formats a time.
func (s SlotSupply) Explain(d SlotDemand, clock func(time.Time) string) string {
	parts := []string{fmt.Sprintf("it needs %d slots and has %d", d.Needed, d.Held)}
	if others := s.Others(d); others > 0 {
		parts = append(parts, fmt.Sprintf("other jobs hold %d", others))
	}
	for _, why := range s.Reasons(d, clock) {
		if why.Reason != OtherJobs {
			parts = append(parts, why.String())
		}
	}
	return strings.Join(parts, "; ")
}

// Reasons lists why a job waits for slots, the most important reason first.
func (s SlotSupply) Reasons(d SlotDemand, clock func(time.Time) string) (all []Why) {
	switch {
	case d.Turn:
		all = append(all, Why{Reason: OtherTurn, Words: "another job gets new workers first, because both need slots of several sizes"})
	case s.Earlier > 0:
		all = append(all, Why{
			Reason: EarlierWorkers,
			Words:  fmt.Sprintf("workers of the earlier ApplicationMaster that have not returned yet: %d", s.Earlier),
			Remedy: "new ones are requested after resourcemanager.previous-worker.recovery.timeout",
		})
	}
	if d.Blocked {
		all = append(all, Why{Reason: NodesAvoided, Words: "the job has set aside all nodes on which its tasks have failed", Remedy: "it tries them again; `bobbin status` and GET /blocklist list them"})
	}
	for _, k := range s.lacked(d) {
		all = append(all, k.reasons(clock, s.largestOther(d))...)
	}
	if len(all) == 0 {
		all = append(all, Why{Reason: NothingAsked, Words: "no containers are requested"})
	}
	if others := s.Others(d); others > 0 {
		all = append(all, Why{Reason: OtherJobs, Words: fmt.Sprintf("other jobs hold %d slots", others)})
	}
	return all
}

// largestOther says which other job holds the most slots: "<id> has 4 slots"; "": none is known.
func (s SlotSupply) largestOther(d SlotDemand) string {
	var most SlotDemand
	for _, other := range s.Jobs {
		if other.Job != d.Job && other.Held > most.Held {
			most = other
		}
	}
	switch most.Held {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s has 1 slot", most.Job)
	}
	return fmt.Sprintf("%s has %d slots", most.Job, most.Held)
}

// lacked lists the workers whose slots a job lacks. An ApplicationMaster of an earlier release tells only the sums.
func (s SlotSupply) lacked(d SlotDemand) (kinds []WorkerSupply) {
	if len(s.Kinds) == 0 {
		return []WorkerSupply{{Requested: s.Requested, Since: s.RequestedSince, Starting: s.Starting, Refused: s.Refused}}
	}
	for _, at := range d.Lacks {
		if at >= 0 && at < len(s.Kinds) {
			kinds = append(kinds, s.Kinds[at])
		}
	}
	return kinds
}

// reasons lists why workers of one size do not come. other is the largest other job of the application: see largestOther.
func (k WorkerSupply) reasons(clock func(time.Time) string, other string) (all []Why) {
	add := func(reason WaitReason, remedy, format string, args ...any) {
		words := fmt.Sprintf(format, args...)
		if k.Profile != "" {
			words = "for slots with " + k.Profile + ": " + words
		}
		all = append(all, Why{Reason: reason, Words: words, Remedy: remedy})
	}
	if !k.Failures.Since.IsZero() {
		until := ""
		if !k.Failures.Until.IsZero() {
			until = ", and the next one starts at " + clock(k.Failures.Until)
		}
		add(StartsFail, "see the logs of the containers: bobbin logs", "workers have failed to start since %s%s; the last cause: %s", clock(k.Failures.Since), until, k.Failures.Cause)
	}
	if k.Refused != "" {
		add(YARNRefuses, "", "YARN gives no more containers: %s", k.Refused)
	}
	if k.Requested > 0 && k.Refused == "" {
		k.roomReason(clock, other, add)
		of := ""
		if k.Size != (ContainerSize{}) {
			of = fmt.Sprintf(" of %s", k.Size)
		}
		add(WaitsForYARN, "", "containers%s requested from YARN: %d, since %s", of, k.Requested, clock(k.Since))
	}
	if k.Starting > 0 {
		add(WorkersStarting, "", "workers starting: %d", k.Starting)
	}
	if k.Limit != "" && k.Requested == 0 && k.Starting == 0 {
		remedy := "raise the option, or wait until other jobs end"
		if other != "" {
			remedy = "raise the option, or cancel another job (" + other + ")"
		}
		add(LimitReached, remedy, "there may be no more workers: %s", k.Limit)
	}
	return all
}

// roomReason adds why YARN has no room for a container of the size.
func (k WorkerSupply) roomReason(clock func(time.Time) string, other string, add func(reason WaitReason, remedy, format string, args ...any)) {
	partition := "without a label"
	if k.Room.Label != "" {
		partition = "with the label " + k.Room.Label
	}
	switch k.Room.Reason {
	case QueueFull:
		remedy := "end other applications of the queue, or name another queue with yarn.application.queue"
		if other != "" { // its containers fill the queue, too
			remedy = "cancel another job of this application (" + other + "), or " + remedy
		}
		add(QueueFull, remedy,
			"YARN's queue %s is full: it has %s left for the user, and a container needs %s", k.Room.Queue, k.Room.Left, k.Size)
	case NoNodeFree:
		add(NoNodeFree, "",
			"YARN's queue %s has room (%s), but no node has: other applications use them, or each has too little left for a container of %s", k.Room.Queue, k.Room.Left, k.Size)
	case NoNodeLargeEnough:
		add(NoNodeLargeEnough, "make the workers smaller: taskmanager.memory.process.size, yarn.containers.vcores", "no node %s is large enough for a container of %s", partition, k.Size)
	case NoNodeWithLabel:
		add(NoNodeWithLabel, "change yarn.taskmanager.node-label, or have an administrator give the label to nodes", "no running node %s is known", partition)
	case NoNode:
		add(NoNode, "if all nodes have labels, name one for the workers: yarn.taskmanager.node-label", "YARN has no running node %s", partition)
	case NodesAvoided:
		add(NodesAvoided, "they are tried again after ten minutes; GET /blocklist lists them", "jobs have set aside all nodes that are large enough, because tasks or starts failed there")
	case YARNSilent:
		add(YARNSilent, "the requests are repeated until it answers", "YARN's ResourceManager has not answered since %s", clock(k.Room.Silent))
	default: // nothing keeps a container from coming
	}
}
