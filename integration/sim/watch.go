package sim

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// watch holds the functions by which rules look at a run. A rule is a function that adds its looks to a watch.
// It keeps a model of its own, and never asks the roles what is right.
type watch struct {
	w       *World
	said    []func(over *wire, m msg.Message) error          // by a worker, or to it
	taken   []func(over *wire, m msg.Message) error          // by a worker or a role from the other one
	reads   []func(s *station, from exchange.Producer) error // of finished partitions, by task hosts
	removes []func(k *worker, p served) error                // finished partitions, by TaskExecutors
	admits  []func(over *wire) error                         // of a role that answers the registration of a worker
	tasks   []func(h *host, job ids.JobID, e ids.ExecutionAttemptID) error
	answers []func(p *planner, j *job, m msg.Message) error           // to a program, of its job
	changes []func(op dfsmodel.Operation) error                       // of HDFS, after it has happened
	masters []func(m *master) error                                   // that end by themselves, with an error or without
	refused []refusal                                                 // of calls to HDFS
	acts    []func(m *master, method string, on records.NodeID) error // of masters, as the call is made
	orders  []func(m *master, o resourcemanager.Orders) error         // of masters to their providers of workers
	told    []func(job ids.JobID, end msg.JobStatus) error            // to a client
	turns   []func() error                                            // every lookEvery
	rest    []func() error                                            // at the end, when nothing is left to happen

	// Of the watch of all rules:
	broken *RuleError // the first rule that was broken
	each   []named
}

// named is the watch of one rule.
type named struct {
	name string
	*watch
}

// refusal looks at a call that HDFS refuses. ended is when the token of the process has ended; nil: the process
// has none.
type refusal func(p *engine.Process, op dfsmodel.Operation, ended *time.Time) error

// rules are what must hold in each run.
var rules = []struct { //nolint:gochecknoglobals // a constant table
	name string
	add  func(*watch)
}{
	{"a slot serves one allocation", slotsServeOne},
	{"an attempt of a task runs once", attemptsRunOnce},
	{fewAttempts, attemptsAreBounded},
	{elsewhere, furtherAttemptsRunElsewhere},
	{"attempts end when another one has finished", losersAreCancelled},
	{"one attempt of each task is read", oneAttemptIsRead},
	{"a cancelled task ends, or its host does", cancelledTasksEnd},
	{nothingLeft, nothingIsLeft},
	{"a program is told of its jobs", programsAreTold},
	{"each application succeeds", applicationsSucceed},
	{"outputs are whole", outputsAreWhole},
	{"a job without a result leaves nothing", lostJobsLeaveNothing},
	{"an output is committed once", outputsAreCommittedOnce},
	{"a master removes nothing while its application runs", mastersRemoveNothing},
	{"a master ends only with its attempt", mastersStay},
	{"each container is used or given back", containersAreUsed},
	{"an idle worker ends", idleWorkersEnd},
	{"the ceiling of workers holds", ceilingHolds},
	{"the floor of workers holds", floorHolds},
	{"spare workers are kept while jobs run", sparesAreKept},
	{"a worker ends with its container", endedWorkersEnd},
	{"a later master takes workers over", workersAreTakenOver},
	{"one worker runs beside its master", oneWorkerBeside},
	{"processes get new tokens before the old ones end", tokensComeInTime},
	{"an ended application removes its staged files", stagedFilesAreRemoved},
	{"slots are granted once", slotsAreGrantedOnce},
	{"slots spread over idle workers", slotsSpread},
	{"a full restart restarts all tasks", fullRestartsAll},
	{"a slot has the resources that its group asked for", slotsHaveTheirResources},
	{"an older registration does not replace a newer one", newerStreamsStay},
	{"YARN knows what a master wants", yarnKnowsTheDemand},
	{"a job ends in one state", jobsEndOnce},
	{"a FINISHED job has its outputs", finishedJobsHaveOutputs},
	{"a cached file is there while tasks of its job run", filesAreThere},
	{"a cached file goes with its last job", filesGoWithTheirJobs},
	{"an ended job does not run again", endedJobsRest},
	{"one attempt leads", oneLeads},
	{"an old leader stores nothing", oldLeadersAreFenced},
	{"a task starts when its inputs can be read", inputsCanBeRead},
	{"a task reads the partitions that its JobMaster names", placedPartitionsAreRead},
	{"a released partition is not missed", releasedPartitionsAreNotMissed},
	{"finished partitions outlive a master", finishedPartitionsAreKept},
	{"a worker keeps partitions until they are released", partitionsAreKept},
	{"partitions go with their job", partitionsGoWithTheirJobs},
	{"an unused worker with partitions stays", servingWorkersStay},
	{"an end that was told is kept", endsAreKept},
	{"an end that was told is archived", endsAreArchived},
	{"an archive tells the stored end", archivesTellTheEnd},
	{"an old attempt leaves access.json alone", mastersKeepAccess},
	{"a later attempt does not write an output again", attemptsShareOutputs},
	{"an old attempt changes nothing", oldMastersChangeNothing},
	{"an old attempt soon starts and stops no containers", mastersActInTime},
}

func newWatch(w *World) *watch {
	all := &watch{w: w}
	for _, r := range rules {
		one := &watch{w: w}
		r.add(one)
		all.each = append(all.each, named{r.name, one})
	}
	return all
}

// check notes what a rule has found.
func (w *watch) check(rule named, err error) { w.note(rule.name, err) }

// note keeps the first error; nil is none.
func (w *watch) note(rule string, err error) {
	if w.broken == nil && err != nil {
		w.broken = &RuleError{Rule: rule, Err: err}
	}
}

// hear shows a message to the rules.
func (w *watch) hear(over *wire, m msg.Message) {
	for _, rule := range w.each {
		for _, look := range rule.said {
			w.check(rule, look(over, m))
		}
	}
}

// take shows a message that arrives to the rules.
func (w *watch) take(over *wire, m msg.Message) {
	for _, rule := range w.each {
		for _, look := range rule.taken {
			w.check(rule, look(over, m))
		}
	}
}

// read shows to the rules that a task host asks for a finished partition.
func (w *watch) read(s *station, from exchange.Producer) {
	for _, rule := range w.each {
		for _, look := range rule.reads {
			w.check(rule, look(s, from))
		}
	}
}

// remove shows to the rules that a worker removes a finished partition.
func (w *watch) remove(k *worker, p served) {
	for _, rule := range w.each {
		for _, look := range rule.removes {
			w.check(rule, look(k, p))
		}
	}
}

// admit shows the answer of a role to a registration to the rules.
func (w *watch) admit(over *wire) {
	for _, rule := range w.each {
		for _, look := range rule.admits {
			w.check(rule, look(over))
		}
	}
}

// begin shows the start of a task to the rules.
func (w *watch) begin(h *host, job ids.JobID, e ids.ExecutionAttemptID) {
	for _, rule := range w.each {
		for _, look := range rule.tasks {
			w.check(rule, look(h, job, e))
		}
	}
}

// answer shows what a program is told of its job to the rules.
func (w *watch) answer(p *planner, j *job, m msg.Message) {
	for _, rule := range w.each {
		for _, look := range rule.answers {
			w.check(rule, look(p, j, m))
		}
	}
}

// changed shows a change of HDFS to the rules.
func (w *watch) changed(op dfsmodel.Operation) {
	for _, rule := range w.each {
		for _, look := range rule.changes {
			w.check(rule, look(op))
		}
	}
}

// act shows a call of a master to a NodeManager to the rules.
func (w *watch) act(m *master, method string, on records.NodeID) {
	for _, rule := range w.each {
		for _, look := range rule.acts {
			w.check(rule, look(m, method, on))
		}
	}
}

// order shows orders of a master for workers to the rules.
func (w *watch) order(m *master, o resourcemanager.Orders) {
	for _, rule := range w.each {
		for _, look := range rule.orders {
			w.check(rule, look(m, o))
		}
	}
}

// tell shows what a client learns of the end of a job to the rules.
func (w *watch) tell(job ids.JobID, end msg.JobStatus) {
	for _, rule := range w.each {
		for _, look := range rule.told {
			w.check(rule, look(job, end))
		}
	}
}

// ends shows a master that ends by itself to the rules.
func (w *watch) ends(m *master) {
	for _, rule := range w.each {
		for _, look := range rule.masters {
			w.check(rule, look(m))
		}
	}
}

// refuse shows a call that HDFS refuses to the rules.
func (w *watch) refuse(p *engine.Process, op dfsmodel.Operation, ended *time.Time) {
	for _, rule := range w.each {
		for _, look := range rule.refused {
			w.check(rule, look(p, op, ended))
		}
	}
}

// lookEvery is the time between two looks at the whole cluster.
const lookEvery = 10 * time.Second

// look lets the rules look at the cluster, again and again.
func (w *watch) look() {
	for _, rule := range w.each {
		for _, look := range rule.turns {
			w.check(rule, look())
		}
	}
	w.w.engine.After(lookEvery, nil, w.look)
}

// atRest shows the end to the rules.
func (w *watch) atRest() {
	for _, rule := range w.each {
		for _, look := range rule.rest {
			w.check(rule, look())
		}
	}
}
