package yarnworkers

import (
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// hasLooked tells whether YARN has refused the contents of an allocate. Then the sender is the
// current attempt, because YARN checks this first (ApplicationMasterService#allocate).
func hasLooked(err error) bool {
	return errors.Is(err, yarnrpc.ErrInvalidResourceRequest) || errors.Is(err, yarnrpc.ErrInvalidBlacklistRequest) ||
		errors.Is(err, yarnrpc.ErrInvalidContainerRelease)
}

// heard handles that YARN has just accepted this attempt as the current one, and sends the stops
// that waited for this.
func (c *core) heard() {
	c.answered = c.now
	for _, s := range c.stopQueue {
		c.stop(s)
	}
	c.stopQueue = nil
}

// trust is how long an answer of YARN proves that this attempt is the current one, and how long the
// end of the application waits for such an answer.
func (c *core) trust() time.Duration { return 2 * c.heartbeat }

// confirmed tells whether YARN has recently confirmed that this attempt is the current one. Without
// this, nothing is done that could harm another attempt.
func (c *core) confirmed() bool { return c.now.Sub(c.answered) <= c.trust() }

// mayFinish tells whether the end of the application need not wait for stops any more: they are
// done, or have taken too long. YARN accepts an unregistration from the registered attempt, and
// itself ends all containers of an application that has ended. So a node that does not answer, or
// an allocate that keeps failing, is no reason to wait.
func (c *core) mayFinish() bool {
	return c.stopping == 0 && len(c.stopQueue) == 0 || !c.now.Before(c.finishBy)
}
