package dispatcher

import (
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// instant is a core whose store takes every change at once.
type instant struct{ *core }

func newInstant(c Config) instant { return instant{newCore(c)} }

// Step returns the effects that are not for the store.
func (i instant) Step(now time.Time, e event) (effects []effect) {
	events := []event{e}
	for len(events) > 0 {
		e, events = events[0], events[1:]
		for _, effect := range i.core.Step(now, e) {
			if answer := taken(effect); answer != nil {
				events = append(events, answer)
			} else {
				effects = append(effects, effect)
			}
		}
	}
	return effects
}

// taken is the answer of a store that keeps nothing; nil for an effect that is not for the store.
func taken(e effect) event {
	switch e := e.(type) {
	case storeJob:
		return changed{Job: e.Submission.Job, Change: storeTheJob}
	case storeCancel:
		return changed{Job: e.Job, Change: storeTheCancellation}
	case storeResult:
		return changed{Job: e.Job, Change: storeTheResult}
	case removeJob:
		return changed{Job: e.Job, Change: removeTheJob}
	case removeResult:
		return changed{Job: e.Job, Change: removeTheResult}
	case loadOverview:
		return overviewLoaded{Job: e.Job, Err: fs.ErrNotExist}
	case storeStop:
		return stopStored{}
	case loadResult:
		return resultLoaded{Job: e.Job, Err: fs.ErrNotExist, Missing: true}
	}
	return nil
}

// changeOf is what a store is asked to do, and about which job.
func changeOf(e effect) (ids.JobID, change) {
	if c, is := taken(e).(changed); is {
		return c.Job, c.Change
	}
	return "", 0
}
