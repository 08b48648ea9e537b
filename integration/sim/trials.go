package sim

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// trials are the attempts of all tasks, as their JobMasters can know them by messages. Its functions may be nil.
type trials struct {
	w   *World
	all map[leadership]map[[2]int]*trial // by vertex and subtask
	// deployed is called for each attempt that a JobMaster has deployed, when all else is known that it has sent at the same time.
	deployed func(*trial, *attempt)
	// finished is called for each attempt that has finished, and says whether it is the first one of its trial.
	finished func(first bool)
}

// trial is the attempts of a task since it was deployed while no attempt of it ran.
type trial struct {
	first    ids.ExecutionAttemptID
	running  []*attempt                          // that have not ended, the oldest first
	readable map[ids.ExecutionAttemptID]struct{} // whose partitions may be read
	over     bool                                // one has finished
}

// attempt is an attempt of a task that has been deployed.
type attempt struct {
	id       ids.ExecutionAttemptID
	host     ids.HostID
	stream   *wire // the end of the JobMaster
	canceled bool
}

// going are the attempts that have not ended and were not told to, the oldest first.
func (t *trial) going() []*attempt {
	return slices.DeleteFunc(slices.Clone(t.running), func(a *attempt) bool { return a.canceled || a.stream.shut || a.stream.closed })
}

// follow lets the trials follow the messages of all JobMasters.
func (t *trials) follow(w *watch) {
	t.w, t.all = w.w, make(map[leadership]map[[2]int]*trial)
	of := func(over *wire) (job map[[2]int]*trial, is bool) {
		id, is := strings.CutPrefix(over.target, jobMasters)
		l := leadership{over.master, ids.JobID(id)}
		if t.all[l] == nil {
			t.all[l] = make(map[[2]int]*trial)
		}
		return t.all[l], is && over.process == over.master.process
	}
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		if job, is := of(over); is {
			t.sent(job, over, m)
		}
		return nil
	})
	w.taken = append(w.taken, func(over *wire, m msg.Message) error {
		if job, is := of(over); is {
			t.received(job, over, m)
		}
		return nil
	})
}

// of gives the trial of the task of an attempt; nil: its JobMaster has not deployed it.
func (t *trials) of(l leadership, e ids.ExecutionAttemptID) *trial { return t.all[l][taskOf(e)] }

func taskOf(e ids.ExecutionAttemptID) [2]int { return [2]int{e.Vertex, e.Subtask} }

// sent notes what a JobMaster sends.
func (t *trials) sent(job map[[2]int]*trial, over *wire, m msg.Message) {
	switch m := m.(type) {
	case msg.DeployTasks:
		for _, d := range m.Tasks {
			t.deploy(job, &attempt{id: d.Execution, host: m.Host, stream: over})
		}
	case msg.CancelTasks:
		for _, e := range m.Executions {
			if one := job[taskOf(e)]; one != nil {
				one.cancel(e)
			}
		}
	case msg.Disconnect:
		leave(job, func(a *attempt) bool { return a.stream == over })
	}
}

func (t *trials) deploy(job map[[2]int]*trial, a *attempt) {
	task := taskOf(a.id)
	one := job[task]
	if one == nil || len(one.going()) == 0 {
		one = &trial{first: a.id, readable: make(map[ids.ExecutionAttemptID]struct{})}
		job[task] = one
	}
	one.running = append(one.running, a)
	one.readable[a.id] = struct{}{}
	if t.deployed != nil {
		t.w.engine.After(0, nil, func() { t.deployed(one, a) })
	}
}

// cancel notes that an attempt is told to end. No task may read what it has written.
func (t *trial) cancel(e ids.ExecutionAttemptID) {
	delete(t.readable, e)
	for _, a := range t.running {
		if a.id == e {
			a.canceled = true
		}
	}
}

// received notes what a JobMaster receives.
func (t *trials) received(job map[[2]int]*trial, over *wire, m msg.Message) {
	switch m := m.(type) {
	case msg.TaskStatesChanged:
		for _, c := range m.Changes {
			if one := job[taskOf(c.Execution)]; one != nil && c.State.Final() {
				t.ended(one, c)
			}
		}
	case msg.HostReady:
		leave(job, func(a *attempt) bool { return a.stream == over && a.host != m.Host })
	case msg.HostLost:
		leave(job, func(a *attempt) bool { return a.stream == over && a.host == m.Host })
	}
}

// ended notes the end of an attempt.
func (t *trials) ended(one *trial, c msg.TaskStateChange) {
	at := slices.IndexFunc(one.running, func(a *attempt) bool { return a.id == c.Execution })
	if at < 0 {
		return
	}
	a := one.running[at]
	one.running = slices.Delete(one.running, at, at+1)
	if c.State != msg.ExecutionFinished {
		delete(one.readable, a.id)
		return
	}
	if t.finished != nil {
		t.finished(!one.over)
	}
	one.over = one.over || !a.canceled
}

// leave notes that attempts have ended with their hosts.
func leave(job map[[2]int]*trial, gone func(*attempt) bool) {
	for _, one := range job {
		one.running = slices.DeleteFunc(one.running, gone)
	}
}
