package yarnworkers

import (
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// hasLooked tells whether YARN has refused the contents of an allocate. Then the sender is the
// current attempt, because YARN checks this first (ApplicationMasterService#allocate).
func hasLooked(err error) bool {
	return errors.Is(err, yarnrpc.ErrInvalidResourceRequest) || errors.Is(err, yarnrpc.ErrInvalidBlacklistRequest) ||
		errors.Is(err, yarnrpc.ErrInvalidContainerRelease)
}

// trust is how long an answer of YARN counts, from the time at which its allocate was sent, and how long the
// end of the application waits for such an answer.
func (c *core) trust() time.Duration { return 2 * c.heartbeat }

// confirmed tells whether YARN has confirmed that this attempt is the current one since its last pause. Without
// this, it starts and stops no container.
//
// A pause is a time in which YARN may have begun another attempt unnoticed: the process was stopped, as its late
// alarm shows, or two heartbeats had no answer. An answer that was read after a pause may come from before it, so
// the time at which the allocate was sent counts. A process that is stopped for less than half a second, or
// while it waits for an answer, does not notice it; then it takes the attempt as the current one for two
// heartbeats at most. A start or stop that has begun by then is not taken back: it repeats dials and lost calls for
// startTimeout or stopTimeout, so a NodeManager may get it 20 s later, also over a pause.
//
// This is no lease: YARN may begin another attempt right after its answer, and the process may be stopped just before a
// call is sent. NodeManagers check only the application. So an old attempt may stop a container of the current
// one, which costs work. Nothing whose lateness could do more harm relies on this.
func (c *core) confirmed() bool {
	return !c.current.Before(c.resumed) && c.now.Before(c.confirmedUntil())
}

// confirmedUntil is until when YARN's last answer counts. A start or stop that waits for other calls to its node until then
// comes back, and waits for the next answer.
func (c *core) confirmedUntil() time.Time { return c.current.Add(c.trust()) }

// sendWaiting sends the starts and stops that have waited for a confirmation.
func (c *core) sendWaiting() {
	if !c.confirmed() {
		return
	}
	for _, id := range c.startQueue {
		k := c.containers[id]
		if k == nil { // released or ended meanwhile
			continue
		}
		k.state = starting
		c.starts = append(c.starts, start{container: k.Container, spec: k.spec, by: c.confirmedUntil()})
	}
	stops := c.stopQueue
	c.startQueue, c.stopQueue = nil, nil
	for _, s := range stops {
		c.stop(s)
	}
}

// confirm looks whether a later attempt leads the application, if YARN has not answered for two heartbeats: it cannot
// tell then that it has begun another attempt. The look is repeated while YARN does not answer.
func (c *core) confirm() {
	if c.confirming || c.finishing != nil || c.now.Before(c.confirmDue()) {
		return
	}
	c.confirming = true
	c.emit(confirm{})
}

// confirmDue is when to look next.
func (c *core) confirmDue() time.Time {
	if due := c.confirmedUntil(); due.After(c.confirmNext) {
		return due
	}
	return c.confirmNext
}

// haveConfirmed ends a master that a later one has replaced. That one may also have ended the application and removed all
// of it.
func (c *core) haveConfirmed(err error) {
	c.confirming, c.confirmNext = false, c.now.Add(c.heartbeat)
	if errors.Is(err, ha.ErrSuperseded) || errors.Is(err, ha.ErrNothing) {
		c.gone = true
		c.emit(fail{fmt.Errorf("YARN has not answered %s: %w", c.attempt, err)})
	}
}

// mayFinish tells whether the end of the application need not wait for stops any more: they are
// done, or have taken too long. YARN accepts an unregistration from the registered attempt, and
// itself ends all containers of an application that has ended. So a node that does not answer, or
// an allocate that keeps failing, is no reason to wait.
func (c *core) mayFinish() bool {
	return c.stopping == 0 && len(c.stopQueue) == 0 || !c.now.Before(c.finishBy)
}
