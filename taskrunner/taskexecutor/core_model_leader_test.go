package taskexecutor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// modelLeader is the naive account of the leaders of the application.
type modelLeader struct {
	leads ids.Epoch // really, whether the worker knows it or not

	epoch   ids.Epoch // the highest that the worker knows
	address string    // where it dials
	workers int       // of the application; 0: it was never admitted
	seeking bool      // it will look for the leader
	finding bool      // it looks
}

// patience is how long it looks for a ResourceManager: taskmanager.registration.timeout, or once it was admitted, the
// time of its configuration.
func (l *modelLeader) patience() time.Duration {
	if l.workers > 0 {
		return 16 * time.Minute
	}
	return 5 * time.Minute
}

// pause tells whether it may wait this long before a look: 1 s and as much for each 500 workers, or 10 s if it does not
// know how many they are; half of it by chance.
func (l *modelLeader) pause(after time.Duration) bool {
	mean := 10 * time.Second
	if l.workers > 0 {
		mean = time.Second + time.Duration(l.workers)*2*time.Millisecond
	}
	return after >= mean/2 && after < mean*3/2
}

// opens requires that a link to a role is opened, at the address of the leader.
func (w *world) opens(job ids.JobID) { w.must("open to %q at %s", job, w.leader.address) }

// seek notes that the worker looks for the leader, while no ResourceManager has admitted it.
func (w *world) seek() {
	w.leader.seeking = w.leader.seeking || !w.leader.finding && !w.admitted(w.rm.link)
}

// leaderFound handles that somebody leads. The worker goes to a later leader in any case, and to another address if it
// has no ResourceManager.
func (w *world) leaderFound(e leaderFound) {
	w.leader.finding = false
	if e.Epoch > w.leader.epoch || e.Epoch == w.leader.epoch && e.Address != w.leader.address && !w.admitted(w.rm.link) {
		w.leader.address = e.Address
		w.learn(e.Epoch)
		for _, id := range slices.Sorted(maps.Keys(w.links)) {
			if l := w.links[id]; !l.admitted && l.job != "" {
				w.giveUp(id)
			}
		}
		if id := w.rm.link; w.links[id] != nil {
			w.must("close %d", id)
			delete(w.links, id)
			w.gone = append(w.gone, id)
		}
		w.rm = modelRole{}
		w.opens("")
	}
	w.seek()
}

// learn handles that the worker learns of an epoch: it leaves the roles of all earlier ones.
func (w *world) learn(epoch ids.Epoch) {
	if epoch <= w.leader.epoch {
		return
	}
	w.leader.epoch = epoch
	for _, id := range slices.Sorted(maps.Keys(w.links)) {
		if l := w.links[id]; l != nil && l.admitted && l.epoch < epoch {
			w.giveUp(id)
		}
	}
}

// registeredAtResourceManager handles an admission. Then the JobMasters can be reached, and have time to take slots.
func (w *world) registeredAtResourceManager(id linkID, l *modelLink, m msg.TaskExecutorRegistered) {
	epoch := m.ResourceManager.Epoch()
	if l.admitted {
		return
	}
	if epoch < w.leader.epoch { // an earlier master
		w.giveUp(id)
		return
	}
	l.admitted, l.epoch, l.modelWatch = true, epoch, w.beats()
	w.rm.failures, w.leader.workers = 0, max(m.Workers, 1)
	w.must("token of %d is %s", id, m.ResourceManager)
	if l.outdated {
		w.must("to %d: report %s", id, w.report())
	}
	w.learn(epoch)
	for job, j := range w.jobs {
		if !w.admitted(j.link) {
			j.unready = time.Time{}
		}
		if w.links[j.link] == nil && w.needed(job) {
			j.modelRole = modelRole{failures: min(j.failures, 1)}
			w.opens(job)
		}
	}
}

// checkLeader checks that a worker without a ResourceManager looks for the leader, once an attempt has failed.
func (w *world) checkLeader(waits func(timer, string)) {
	switch {
	case w.leader.seeking:
		waits(timer{Kind: timerFind}, "it looks for the leader")
	case w.rm.failures > 0 && !w.admitted(w.rm.link) && !w.leader.finding:
		w.t.Fatal("no ResourceManager was reached, and it does not look for the leader")
	}
}

// master draws the epoch of a master that answers: mostly the one that leads, sometimes one that was stopped for long.
func (w *world) master() ids.Epoch {
	if w.oneOf(4, "an earlier master") > 0 {
		return w.leader.leads
	}
	return ids.Epoch(1 + w.oneOf(int(w.leader.leads), "epoch"))
}

// jobMaster draws the JobMaster of a job: that of the slots, or one of a master that answers.
func (w *world) jobMaster(now ids.JobMasterID) ids.JobMasterID {
	if now.Epoch() == w.leader.leads && w.oneOf(4, "same JobMaster") > 0 {
		return now
	}
	return ids.NewJobMasterID(w.master(), []string{"m", "m", "m", "n"}[w.oneOf(4, "JobMaster")])
}

// leaderChanges lets the next attempt lead, whom the worker may meet or find later.
func (w *world) leaderChanges() {
	if w.leader.leads < 4 {
		w.leader.leads++
	}
}

// found is the answer to a look for the leader: the one that leads, an earlier one if the file system answers late, or
// nothing.
func (w *world) found() event {
	switch w.oneOf(4, "found") {
	case 0:
		return leaderNotFound{"the ApplicationMaster is being replaced"}
	case 1:
		return leaderFound{Epoch: w.master(), Address: []string{"am1", "elsewhere"}[w.oneOf(2, "address")]}
	}
	return leaderFound{Epoch: w.leader.leads, Address: fmt.Sprintf("am%d", w.leader.leads)}
}

// registeredEvent is the admission by a ResourceManager.
func (w *world) registeredEvent(id linkID, epoch ids.Epoch) event {
	return roleSaid{id, msg.TaskExecutorRegistered{
		ResourceManager: ids.NewResourceManagerID(epoch, "r"), Workers: []int{0, 3, 10000}[w.oneOf(3, "workers")],
		HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second,
	}}
}

// resourceManagerSays is a message of a ResourceManager: of the leader, or of an earlier one, before the admission or
// after it.
func (w *world) resourceManagerSays() event {
	l := w.links[w.rm.link]
	if l == nil || !l.open {
		return nil
	}
	switch w.oneOf(8, "ResourceManager") {
	case 0:
		epoch := w.master()
		if l.admitted || epoch >= w.leader.epoch && w.oneOf(16, "reject") > 0 {
			return nil
		}
		return roleSaid{w.rm.link, msg.RegistrationRejected{ResourceManager: ids.NewResourceManagerID(epoch, "r"), Reason: "released"}}
	case 1:
		if l.admitted && w.oneOf(8, "release") > 0 {
			return roleSaid{w.rm.link, msg.Heartbeat{Workers: []int{0, 3, 10000}[w.oneOf(3, "workers")]}}
		}
		return roleSaid{w.rm.link, msg.ReleaseTaskExecutor{Cause: "idle"}}
	default:
		return w.registeredEvent(w.rm.link, w.master())
	}
}
