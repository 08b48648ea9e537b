package yarnworkers

import (
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// hasLooked tells whether YARN has refused an allocate for what it says. Its sender is the
// attempt then: YARN checks that first (ApplicationMasterService#allocate).
func hasLooked(err error) bool {
	return errors.Is(err, yarnrpc.ErrInvalidResourceRequest) || errors.Is(err, yarnrpc.ErrInvalidBlacklistRequest) ||
		errors.Is(err, yarnrpc.ErrInvalidContainerRelease)
}

// heard takes in that YARN has just known us for the attempt, and does what waited for
// that.
func (c *core) heard() {
	c.answered = c.now
	for _, s := range c.stopQueue {
		c.stop(s)
	}
	c.stopQueue = nil
}

// trust is how long YARN's word holds that we are the attempt, and how long an end
// waits for that word.
func (c *core) trust() time.Duration { return 2 * c.heartbeat }

// confirmed tells whether YARN has said a moment ago that we are still the attempt.
// Nothing that another attempt might suffer from is done without.
func (c *core) confirmed() bool { return c.now.Sub(c.answered) <= c.trust() }

// mayFinish tells whether the end need not wait for stops any more: they are done, or
// have taken too long. YARN takes an unregistration from whoever is registered, and ends
// all containers of an application that has ended by itself, so that neither a node that
// does not answer nor an allocate that fails again and again is a reason to stay.
func (c *core) mayFinish() bool {
	return c.stopping == 0 && len(c.stopQueue) == 0 || !c.now.Before(c.finishBy)
}
