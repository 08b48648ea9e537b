package uber

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// core decides which of the ordered workers runs in this container.
type core struct {
	container string
	spec      resourcemanager.WorkerResourceSpec
	host      string

	started   int            // workers here so far
	elsewhere int            // workers of this size that the other provider has started so far
	current   ids.ResourceID // whose process has not ended; "": none
	released  bool           // the ResourceManager has given current up
	owed      bool           // a worker is ordered here, and starts when current has ended

	effects []effect // during a step
}

func newCore(container string, spec resourcemanager.WorkerResourceSpec, host string) *core {
	return &core{container: container, spec: spec, host: host}
}

// Step handles one event and returns the effects to perform, in order.
func (c *core) Step(_ time.Time, e event) []effect {
	c.effects = nil
	switch e := e.(type) {
	case ordered:
		rest := c.order(e.orders)
		c.emit(reply{e.question.Answer(rest)})
	case startedElsewhere:
		c.elsewhere += e.workers
	case ended:
		c.ended(e)
	}
	if c.owed && c.current == "" {
		c.start()
	}
	return c.effects
}

// Alarm implements actor.Core: no time passes here.
func (c *core) Alarm() time.Time { return time.Time{} }

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

// order takes the orders for the worker of this container, and returns the others.
func (c *core) order(o resourcemanager.Orders) (rest resourcemanager.Orders) {
	o.Release = slices.DeleteFunc(slices.Clone(o.Release), func(r resourcemanager.Release) bool {
		if r.Worker != c.current {
			return false
		}
		if !c.released {
			c.released = true
			c.emit(stop{c.current})
		}
		return true
	})
	// The end of the process is news anyway.
	o.Check = slices.DeleteFunc(slices.Clone(o.Check), func(id ids.ResourceID) bool { return id == c.current })
	kind := slices.IndexFunc(o.Workers, func(w resourcemanager.WorkerOrder) bool { return w.Spec == c.spec })
	if kind < 0 {
		return o
	}
	o.Workers = slices.Clone(o.Workers)
	wanted := &o.Workers[kind]
	free := (c.current == "" || c.released) && !slices.Contains(o.Avoid, c.host)
	c.owed = free && wanted.Total > c.started+c.elsewhere
	wanted.Total = max(0, wanted.Total-c.started) // the order may have crossed the report of a start
	if c.owed {
		wanted.Total--
	}
	return o
}

func (c *core) start() {
	c.started++
	c.owed, c.released = false, false
	c.current = launch.UberWorker(c.container, c.started)
	c.emit(report{resourcemanager.WorkerStarting{Worker: c.current, Spec: c.spec, Host: c.host}})
	c.emit(start{c.current})
}

func (c *core) ended(e ended) {
	switch {
	case c.released: // the ResourceManager has forgotten it
	case e.unstarted:
		c.emit(report{resourcemanager.WorkerFailed{Worker: e.worker, Cause: e.cause}})
	default:
		c.emit(report{resourcemanager.WorkerCompleted{Worker: e.worker, Cause: e.cause}})
	}
	c.current = ""
}
