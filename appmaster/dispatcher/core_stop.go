package dispatcher

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
)

// A request for the cluster's end is stored before it is answered and before it has an effect: otherwise the next master
// would go on with the cluster's jobs.

// stop is that request. The zero value is for a cluster that goes on.
type stop struct {
	storing bool
	asking  []actor.Question[error] // they wait until it is stored
}

// shutdownAsked requests the end of the cluster. If the cluster ends already, its outcome is about to be stored.
func (c *core) shutdownAsked(e shutdownAsked) {
	if c.outcome != nil {
		c.emit(reply{e.Question.Answer(nil)})
		return
	}
	c.stop.asking = c.later(c.stop.asking, e.Question, "the stop of the cluster")
	if !c.stop.storing {
		c.stop.storing = true
		c.emit(storeStop{})
	}
}

// stopStored ends the cluster. If the request cannot be stored, this master ends the cluster nevertheless.
func (c *core) stopStored(e stopStored) {
	if c.outcome != nil {
		return
	}
	err := e.Err
	switch {
	case errors.Is(err, ha.ErrNoCredentials): // no later master can start
		err = nil
	case err != nil:
		err = fmt.Errorf("the cluster is ending, but its jobs may run again if the ApplicationMaster is replaced before the end: store the request: %w", err)
	}
	c.answerAll(c.stop.asking, err)
	c.stop.asking = nil
	c.shutDown()
}
