package sim

import (
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// watch holds what the rules want to see of a run. A rule is a function that adds its looks to a watch.
// It keeps a model of its own, and never asks the roles what is right.
type watch struct {
	w       *World
	said    []func(worker *worker, m msg.Message) error // by a worker, or to it
	tasks   []func(h *host, job ids.JobID, e ids.ExecutionAttemptID) error
	changes []func(op dfsmodel.Operation) error // of HDFS, after it has happened
	masters []func(m *master) error             // that end by themselves
	turns   []func() error                      // every lookEvery
	rest    []func() error                      // at the end, when nothing is left to happen
	broken  *RuleError                          // the first rule that was broken

	each []named // of the watch of all rules
}

// named is the watch of one rule.
type named struct {
	name string
	*watch
}

// rules are what must hold in each run.
var rules = []struct { //nolint:gochecknoglobals // a constant table
	name string
	add  func(*watch)
}{
	{"a slot serves one allocation", slotsServeOne},
	{"an attempt of a task runs once", attemptsRunOnce},
	{nothingLeft, nothingIsLeft},
	{"each application succeeds", applicationsSucceed},
	{"outputs are whole", outputsAreWhole},
	{"an output is committed once", outputsAreCommittedOnce},
	{"a master removes nothing while its application runs", mastersRemoveNothing},
	{"a master ends only with its attempt", mastersStay},
	{"each container is used or given back", containersAreUsed},
	{"an ended application removes its staged files", stagedFilesAreRemoved},
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

// note keeps the first error; nil is none.
func (w *watch) note(rule string, err error) {
	if w.broken == nil && err != nil {
		w.broken = &RuleError{Rule: rule, Err: err}
	}
}

// hear shows a message to the rules.
func (w *watch) hear(k *worker, m msg.Message) {
	for _, rule := range w.each {
		for _, look := range rule.said {
			w.note(rule.name, look(k, m))
		}
	}
}

// begin shows the start of a task to the rules.
func (w *watch) begin(h *host, job ids.JobID, e ids.ExecutionAttemptID) {
	for _, rule := range w.each {
		for _, look := range rule.tasks {
			w.note(rule.name, look(h, job, e))
		}
	}
}

// changed shows a change of HDFS to the rules.
func (w *watch) changed(op dfsmodel.Operation) {
	for _, rule := range w.each {
		for _, look := range rule.changes {
			w.note(rule.name, look(op))
		}
	}
}

// ends shows a master that ends by itself to the rules.
func (w *watch) ends(m *master) {
	for _, rule := range w.each {
		for _, look := range rule.masters {
			w.note(rule.name, look(m))
		}
	}
}

// lookEvery is the time between two looks at the whole cluster.
const lookEvery = 10 * time.Second

// look lets the rules look at the cluster, again and again.
func (w *watch) look() {
	for _, rule := range w.each {
		for _, look := range rule.turns {
			w.note(rule.name, look())
		}
	}
	w.w.engine.After(lookEvery, nil, w.look)
}

// atRest shows the end to the rules.
func (w *watch) atRest() {
	for _, rule := range w.each {
		for _, look := range rule.rest {
			w.note(rule.name, look())
		}
	}
}
