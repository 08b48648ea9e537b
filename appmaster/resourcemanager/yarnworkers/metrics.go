package yarnworkers

import (
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// counts are the metrics of a Provider. Only the loop's goroutine counts, except for latency.
type counts struct {
	registry *metrics.Registry
	scope    metrics.Scope

	latency                                 *metrics.Histogram // of allocate calls, in ms
	failures                                *metrics.Counter   // of allocate calls
	allocated, released, started, unstarted *metrics.Counter   // containers
}

func newCounts(registry *metrics.Registry, scope metrics.Scope) counts {
	return counts{
		registry: registry, scope: scope,
		latency:   registry.Histogram(scope, "Yarn.allocateLatency"),
		failures:  registry.Counter(scope, "Yarn.allocateFailures"),
		allocated: registry.Counter(scope, "Yarn.containersAllocated"),
		released:  registry.Counter(scope, "Yarn.containersReleased"),
		started:   registry.Counter(scope, "Yarn.containersStarted"),
		unstarted: registry.Counter(scope, "Yarn.containerStartsFailed"),
	}
}

func (c counts) answered(took time.Duration) {
	c.latency.Update(float64(took) / float64(time.Millisecond))
}

// step counts what an event brings and what its effects do.
func (c counts) step(e event, effects []effect) {
	switch e := e.(type) {
	case allocated:
		if e.err != nil {
			c.failures.Inc()
			break
		}
		c.allocated.Add(int64(len(e.response.Allocated) + len(e.response.Surplus)))
		for _, s := range e.response.Completed {
			c.registry.Counter(c.scope, "Yarn.containersCompleted", metrics.Label{Name: "cause", Value: causeOf(s.ExitStatus)}).Inc()
		}
	case containerStarted:
		switch {
		case e.err == nil:
			c.started.Inc()
		case e.err != errLate: //nolint:errorlint // the shell's own, which it does not wrap; it starts the container again
			c.unstarted.Inc()
		}
	case registered, nodesKnown, ordered, containerStopped, containerChecked, confirmed, finishAsked, finished, woken:
	}
	for _, e := range effects {
		if a, is := e.(allocate); is {
			c.released.Add(int64(len(a.release)))
		}
	}
}

// causeOf is the label of an exit status: YARN's name for it, or one for all codes of the process.
func causeOf(s records.ExitStatus) string {
	switch {
	case s == records.ExitForceKilled:
		return "sigkill"
	case s == records.ExitTerminated:
		return "sigterm"
	case s == records.ExitLost:
		return "lost"
	case s.Name() != "":
		return strings.ToLower(s.Name())
	}
	return "exit_code"
}
