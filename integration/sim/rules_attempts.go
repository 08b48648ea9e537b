package sim

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
)

// fewAttempts is the name of a rule that looks after a message, and notes by itself what it finds.
const fewAttempts = "a task has only as many attempts at a time as it may"

// attemptsAreBounded counts the attempts of a task that run at a time, but for those that were told to end.
func attemptsAreBounded(w *watch) {
	t := &trials{deployed: func(one *trial, _ *attempt) {
		going := one.going()
		if len(going) > 1 {
			w.w.facts[Further]++
		}
		if len(going) > w.w.schedule.attemptsAtATime() {
			w.w.watch.note(fewAttempts, fmt.Errorf("%d attempts of a task run, the first one %s", len(going), one.first))
		}
	}}
	t.follow(w)
}

// elsewhere is likewise.
const elsewhere = "a further attempt runs on another node"

// furtherAttemptsRunElsewhere compares the nodes of further attempts with that of the slow one, as long as it runs.
func furtherAttemptsRunElsewhere(w *watch) {
	t := &trials{deployed: func(one *trial, further *attempt) {
		going := one.going()
		if len(going) < 2 || going[0].id != one.first || further == going[0] {
			return
		}
		if slow := going[0].stream.worker.node; further.stream.worker.node == slow {
			w.w.watch.note(elsewhere, fmt.Errorf("%s runs on node %s, as %s does, which is slow", further.id, slow.nm.ID().Host, one.first))
		}
	}}
	t.follow(w)
}

// losersAreCancelled looks for attempts that go on although another one of their task has finished.
func losersAreCancelled(w *watch) {
	t := &trials{finished: func(first bool) {
		if !first {
			w.w.facts[FinishedAgain]++
		}
	}}
	t.follow(w)
	since := make(lasting[*attempt])
	w.turns = append(w.turns, func() error {
		for l, job := range t.all {
			for _, one := range job {
				for _, a := range one.going() {
					counts := one.over && l.master.process.Alive() && !l.master.process.Frozen()
					if lasts := since.note(a, counts, w.w.since()); lasts > 0 {
						return fmt.Errorf("%s runs on, %v after another attempt has finished", a.id, lasts)
					}
				}
			}
		}
		return nil
	})
}

// oneAttemptIsRead looks at what the readers of a task are told. All of them read the same attempt, unless the task runs again.
func oneAttemptIsRead(w *watch) {
	var t trials
	t.follow(w)
	ledgers(w, func(l *ledger, over *wire, m msg.Message) error {
		deployed, is := m.(msg.DeployTasks)
		if !is || l.job == nil {
			return nil
		}
		return l.eachInput(deployed, func(e ids.ExecutionAttemptID, p ids.PartitionID, _ placement.Host) error {
			one := t.of(leadership{over.master, l.job.id}, p.Execution)
			if one == nil {
				return nil // of an earlier master
			}
			if _, may := one.readable[p.Execution]; !may {
				return fmt.Errorf("%s is to read %s, and others read another attempt, or it is cancelled", e, p)
			}
			one.readable = map[ids.ExecutionAttemptID]struct{}{p.Execution: {}}
			return nil
		})
	})
}
