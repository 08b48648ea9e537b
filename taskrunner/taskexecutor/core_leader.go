package taskexecutor

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// leader is what a worker knows of the leader of its application. All links go to its address. After the loss of the
// ResourceManager the worker dials this address again, and it looks for another leader at the same time: either may
// never answer.
//
// A worker stays with the master that has admitted it for as long as that one answers (heartbeat.timeout). If a later one
// leads already, the earlier one finds out and ends. Until then it does no harm: what it stores and commits is refused.
type leader struct {
	address string
	// epoch is the highest known one. Masters of lower epochs are superseded.
	epoch   ids.Epoch
	workers int  // of the application, as the ResourceManager said last; 0: none has admitted this worker yet
	waiting bool // for timerFind
	finding bool // findLeader is not answered
	jitter  *rand.PCG
}

const (
	// findPause is the mean pause between two looks for the leader, in a small application. In a large one it is longer:
	// at most findersPerSecond workers look in each second, because all of them lose the leader at the same time. Half
	// of the pause is jitter.
	findPause        = time.Second
	findersPerSecond = 500
	// unknownPause is the pause of a worker that was never admitted. It does not know how many there are.
	unknownPause = 10 * time.Second
)

// seek looks for the leader after a pause. It has no effect while a look is due already, or if no other leader comes.
func (c *core) seek() {
	l := &c.leader
	if c.config.GiveUp == 0 || l.waiting || l.finding || c.rm.state == linkAdmitted || c.ending != nil {
		return
	}
	pause := unknownPause
	if l.workers > 0 {
		pause = findPause + findPause*time.Duration(l.workers)/findersPerSecond
	}
	l.waiting = true
	c.set(timer{Kind: timerFind}, pause/2+time.Duration(l.jitter.Uint64()%uint64(pause)))
}

func (c *core) find() {
	c.leader.waiting = false
	if c.rm.state == linkAdmitted || c.ending != nil {
		return
	}
	c.leader.finding = true
	c.emit(findLeader{})
}

// leaderFound follows a leader of a later epoch, or one with another address if no ResourceManager has admitted this
// worker.
func (c *core) leaderFound(e leaderFound) {
	l := &c.leader
	l.finding = false
	later := e.Epoch > l.epoch
	moved := e.Epoch == l.epoch && e.Address != l.address && c.rm.state != linkAdmitted
	if c.ending == nil && (later || moved) {
		l.address = e.Address
		c.learn(e.Epoch)
		cause := fmt.Sprintf("attempt %d of the ApplicationMaster leads", e.Epoch)
		for _, j := range c.sortedJobs() { // a link that is being opened goes to the last address
			if s := j.link.state; s == linkOpening || s == linkRegistering {
				c.drop(&j.link, cause)
			}
		}
		c.leave(&c.rm, cause)
		c.rm.failures = 0
		c.open(&c.rm)
	}
	c.seek()
}

// learn notes an epoch. It leaves the roles of earlier masters: what they say is void.
func (c *core) learn(epoch ids.Epoch) {
	if epoch <= c.leader.epoch {
		return
	}
	c.leader.epoch = epoch
	cause := fmt.Sprintf("attempt %d of the ApplicationMaster leads", epoch)
	links := []*link{&c.rm}
	for _, j := range c.sortedJobs() {
		links = append(links, &j.link)
	}
	for _, l := range links {
		if l.state == linkAdmitted && l.epoch < epoch {
			c.drop(l, cause)
		}
	}
}

// refuses drops a link whose role is of an earlier epoch than the highest known one, and tells whether it is so. A
// master that was stopped for long may still answer.
func (c *core) refuses(l *link, epoch ids.Epoch, role string) bool {
	if epoch >= c.leader.epoch {
		return false
	}
	c.drop(l, fmt.Sprintf("%s of attempt %d, and attempt %d leads", role, epoch, c.leader.epoch))
	return true
}

// patience is how long the worker looks for a ResourceManager, and the name of this time.
func (c *core) patience() (limit time.Duration, named string) {
	if c.leader.workers > 0 && c.config.GiveUp > 0 {
		return c.config.GiveUp, "the time in which YARN replaces an ApplicationMaster"
	}
	return c.config.RegistrationTimeout, "taskmanager.registration.timeout"
}

func (c *core) sortedJobs() []*job {
	jobs := make([]*job, 0, len(c.jobs))
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		jobs = append(jobs, c.jobs[id])
	}
	return jobs
}
