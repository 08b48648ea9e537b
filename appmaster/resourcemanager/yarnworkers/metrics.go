package yarnworkers

import (
	"errors"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// counts are the metrics of a Provider. Only the loop's goroutine counts, except for latency.
type counts struct {
	registry *metrics.Registry
	scope    metrics.Scope

	latency                      *metrics.Histogram // of allocate calls, in ms
	failures                     *metrics.Counter   // of allocate calls
	waited                       *metrics.Histogram // of containers that became workers: from the order, in ms
	allocated, released, started *metrics.Counter   // containers
	unstarted                    map[startFailure]*metrics.Counter
}

func newCounts(registry *metrics.Registry, scope metrics.Scope) counts {
	c := counts{
		registry: registry, scope: scope,
		latency:   registry.Histogram(scope, "Yarn.allocateLatency"),
		failures:  registry.Counter(scope, "Yarn.allocateFailures"),
		allocated: registry.Counter(scope, "Yarn.containersAllocated"),
		released:  registry.Counter(scope, "Yarn.containersReleased"),
		started:   registry.Counter(scope, "Yarn.containersStarted"),
		waited:    registry.Histogram(scope, "Yarn.containerWaitTime"),
		unstarted: make(map[startFailure]*metrics.Counter),
	}
	for _, cause := range startFailures { // from the start, so that the first failure is an increase
		c.unstarted[cause] = registry.Counter(scope, "Yarn.containerStartsFailed", metrics.Label{Name: "cause", Value: string(cause)})
	}
	return c
}

// startFailure is why a NodeManager has not started a container.
type startFailure string

// The causes of failed starts.
const (
	noAnswer     startFailure = "no_answer"     // the NodeManager cannot be reached, or does not answer in time
	tokenRefused startFailure = "token_refused" // there is no valid token for the NodeManager, or that of the container has expired
	refused      startFailure = "refused"       // the NodeManager answers that it does not start the container
	notAsked     startFailure = "not_asked"     // this process could not describe the worker
)

var startFailures = [...]startFailure{noAnswer, tokenRefused, refused, notAsked} //nolint:gochecknoglobals // a constant table

// startFailureOf is the cause of a failed start.
func startFailureOf(err error) startFailure {
	switch _, unanswered := errors.AsType[*yarnrpc.CallError](err); {
	case errors.Is(err, nmclient.ErrNoToken), errors.Is(err, nmclient.ErrTokenExpired), errors.Is(err, yarnrpc.ErrInvalidToken), errors.Is(err, yarnrpc.ErrSASL):
		return tokenRefused
	case unanswered, errors.Is(err, errNoAnswer):
		return noAnswer
	}
	if _, is := errors.AsType[undescribed](err); is {
		return notAsked
	}
	return refused
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
			c.unstarted[startFailureOf(e.err)].Inc()
		}
	case registered, nodesKnown, ordered, containerStopped, containerChecked, confirmed, finishAsked, finished, woken:
	}
	for _, e := range effects {
		switch e := e.(type) {
		case allocate:
			c.released.Add(int64(len(e.release)))
		case noteWaits:
			for _, waited := range e.waited {
				c.waited.Update(float64(waited) / float64(time.Millisecond))
			}
		case report, startContainers, stopContainer, checkContainer, confirm, finish, reply, tellLargest, fail:
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
