package resourcemanager

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// startPatience is how long all starts may fail before the ResourceManager tells the jobs that no
// worker will come. It is longer than the time in which one bad node fails all its starts while
// workers start on others.
const startPatience = 30 * time.Second

// startFailed records a failed start. Together all kinds decide about the pause, because their containers come from
// one YARN. Each kind decides alone whether it is hopeless: a job whose workers cannot start says nothing about the
// workers of other jobs.
func (c *core) startFailed(k *kind, why StartFailure, cause string) {
	c.startsFailed.add(c.now, why)
	c.failures.record(c.now, cause)
	k.failures.record(c.now, cause)
}

// hopeless says why needed workers of a kind will not come: none is registered, and all started ones have
// failed for startPatience. Otherwise it is "".
func (c *core) hopeless(k *kind) string {
	since := k.failures.since
	if k.slots.Registered() > 0 || !k.failures.paused(c.now) || since.IsZero() || c.now.Sub(since) < startPatience {
		return ""
	}
	of := ""
	if len(c.kinds) > 1 {
		of = fmt.Sprintf("for slots with %s ", k.spec.Profile)
	}
	return fmt.Sprintf("for %s no worker %shas started; the last one failed: %s",
		c.now.Sub(since).Round(time.Second), of, k.failures.cause)
}

// failing tells whether the last workers of a kind have failed to start, or could serve no job. One that starts may
// do so as well.
func (k *kind) failing(now time.Time) bool {
	return k.failures.inRow(now) || now.Sub(k.strayed) < time.Minute
}

// permitted gives how many of the missing workers of a kind may be ordered from the provider now.
func (c *core) permitted(k *kind) int {
	if c.recovering() || c.now.Before(c.startsPause(k)) {
		return max(0, min(k.plan.Workers, k.total-k.starts)) // more may have started than are ordered now
	}
	return k.plan.Workers
}

// startsPause gives the time until which no further start of a kind is ordered, because too many starts have failed,
// or because a worker of the kind can serve no waiting job. If YARN ignores the nodes to avoid, the next
// workers would be useless as well.
func (c *core) startsPause(k *kind) time.Time {
	if until := k.strayed.Add(c.config.StartRetryInterval); until.After(c.failures.until) {
		return until
	}
	return c.failures.until
}

// failureRate pauses starts when too many have failed within a minute.
type failureRate struct {
	limit  float64
	pause  time.Duration
	recent []time.Time // the failures of the last minute, at most one more than the limit
	until  time.Time
	since  time.Time // the first failure in a row, with less than a minute between two; zero: none since the last call of hope
	cause  string    // of the last one
}

func newFailureRate(c Config) failureRate {
	return failureRate{limit: c.MaxStartFailures, pause: c.StartRetryInterval}
}

func (f *failureRate) record(now time.Time, cause string) {
	for len(f.recent) > 0 && now.Sub(f.recent[0]) >= time.Minute {
		f.recent = f.recent[1:]
	}
	if f.since.IsZero() || len(f.recent) == 0 {
		f.since = now
	}
	f.cause = cause
	f.recent = append(f.recent, now)
	if float64(len(f.recent)) > f.limit+1 {
		f.recent = f.recent[1:]
	}
	if float64(len(f.recent)) > f.limit {
		f.until = now.Add(f.pause)
	}
}

// hope ends the row of failures: a worker has registered, or may start on other nodes.
func (f *failureRate) hope() { f.since = time.Time{} }

// inRow tells whether the row of failures may go on.
func (f *failureRate) inRow(now time.Time) bool {
	return !f.since.IsZero() && now.Sub(f.recent[len(f.recent)-1]) < time.Minute
}

func (f *failureRate) paused(now time.Time) bool { return now.Before(f.until) }

// StartFailure is why the start of a worker has failed.
type StartFailure int

// The reasons of failed starts.
const (
	NotStarted   StartFailure = iota // WorkerFailed
	EndedEarly                       // its container has ended before it registered
	LateToStart                      // it has not registered in time
	RejectedWork                     // its registration was rejected
	startFailures
)

// String is the name of the reason in metrics.
func (f StartFailure) String() string {
	return [...]string{"not_started", "ended", "late", "rejected", "unknown"}[min(f, startFailures)]
}

// StartFailures count failed starts, by their reason.
type StartFailures [startFailures]int64

// All is the number of all failed starts.
func (f StartFailures) All() (all int64) {
	for _, n := range f {
		all += n
	}
	return all
}

// failedStarts counts failed starts, for users.
type failedStarts struct {
	counts StartFailures
	rate   metrics.Rate
}

func (f *failedStarts) add(now time.Time, why StartFailure) {
	f.rate.Update(now, f.counts.All())
	f.counts[why]++
	f.rate.Update(now, f.counts.All())
}
