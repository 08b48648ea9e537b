package resourcemanager

import (
	"fmt"
	"time"
)

// startPatience is how long all starts may fail before the jobs are told that no
// worker will come. It outlasts a node on which all fail while others start
// theirs.
const startPatience = 30 * time.Second

// hopeless says why workers that are needed will not come, or "": none is there,
// and those that were started have all failed for a while.
func (c *core) hopeless() string {
	since := c.failures.since
	if len(c.connections) > 0 || !c.failures.paused(c.now) || since.IsZero() || c.now.Sub(since) < startPatience {
		return ""
	}
	return fmt.Sprintf("for %s no worker has started; the last one failed: %s",
		c.now.Sub(since).Round(time.Second), c.failures.cause)
}

// permitted gives how many workers may be outstanding at the provider, of those
// that are needed.
func (c *core) permitted(needed int) int {
	if c.now.Before(c.startsPause()) {
		return max(0, min(needed, c.total-c.starts)) // more may have started than are ordered by now
	}
	return needed
}

// startsPause gives the time until which no start is added to those that are ordered: too many
// have failed, or a worker has strayed. Where YARN does not avoid the nodes that it is told to
// avoid, the next ones would stray as well.
func (c *core) startsPause() time.Time {
	if until := c.strayed.Add(c.config.StartRetryInterval); until.After(c.failures.until) {
		return until
	}
	return c.failures.until
}

// failureRate pauses starts when too many have failed within a minute.
type failureRate struct {
	limit  float64
	pause  time.Duration
	recent []time.Time // the last failures within a minute, one more than the limit at most
	until  time.Time
	since  time.Time // the first failure in a row, none a minute after the last; zero: there was hope since
	cause  string    // of the last one
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

// hope takes in that a worker has come up, or that one may: the failures before say nothing
// about those to come.
func (f *failureRate) hope() { f.since = time.Time{} }

func (f *failureRate) paused(now time.Time) bool { return now.Before(f.until) }
