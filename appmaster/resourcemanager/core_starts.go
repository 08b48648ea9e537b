package resourcemanager

import (
	"fmt"
	"time"
)

// startPatience is how long all starts may fail before the ResourceManager tells the jobs that no
// worker will come. It is longer than the time in which one bad node fails all its starts while
// workers start on others.
const startPatience = 30 * time.Second

// hopeless says why needed workers will not come: none is registered, and all started ones have
// failed for startPatience. Otherwise it is "".
func (c *core) hopeless() string {
	since := c.failures.since
	if len(c.connections) > 0 || !c.failures.paused(c.now) || since.IsZero() || c.now.Sub(since) < startPatience {
		return ""
	}
	return fmt.Sprintf("for %s no worker has started; the last one failed: %s",
		c.now.Sub(since).Round(time.Second), c.failures.cause)
}

// permitted gives how many of the missing workers of a kind may be ordered from the provider now.
func (c *core) permitted(k *kind) int {
	if c.now.Before(c.startsPause()) {
		return max(0, min(k.missing, k.total-k.starts)) // more may have started than are ordered now
	}
	return k.missing
}

// startsPause gives the time until which no further start is ordered, because too many have failed,
// or because a worker can serve no waiting job. If YARN ignores the nodes to avoid, the next
// workers would be useless as well.
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
	recent []time.Time // the failures of the last minute, at most one more than the limit
	until  time.Time
	since  time.Time // the first failure in a row, with less than a minute between two; zero: none since the last call of hope
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

// hope ends the row of failures: a worker has registered, or may start on other nodes.
func (f *failureRate) hope() { f.since = time.Time{} }

func (f *failureRate) paused(now time.Time) bool { return now.Before(f.until) }
