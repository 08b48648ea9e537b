package yarnrpc

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Policy says how often and for how long a Proxy tries. The zero value is one try.
type Policy struct {
	// MaxWait bounds the time from the beginning of a call to its last try. A wait that would
	// end later does not begin, but the first round over several addresses is always finished.
	// 0: one try. Negative: only the call's context is a bound.
	MaxWait time.Duration
	// Limit names the setting behind MaxWait, such as "client.timeout: 30 s". It goes into the
	// error of a call that ran out of time. Such a call may end well before MaxWait, if the
	// next wait would be too long. Empty: the error does not name a setting.
	Limit string
	// BaseDelay is the first wait; 0: 1 s (ipc.client.connect.retry.interval). Each wait is
	// twice the one before, up to MaxDelay, and is then multiplied by a random factor from 0.5
	// to 1.5. If BaseDelay is greater than MaxDelay, for example when MaxDelay is 0, every
	// wait is BaseDelay times that factor.
	BaseDelay, MaxDelay time.Duration
	// MaxFailovers bounds the number of times that a call leaves a failed server or waits
	// because a server asked for it. 0: only MaxWait is a bound. If there are several
	// addresses, all are tried in turn before each wait.
	MaxFailovers int
	// MaxTimeouts replaces MaxFailovers after the first connection that timed out
	// (ipc.client.connect.max.retries.on.timeouts). 0: MaxFailovers.
	MaxTimeouts int
}

// defaultBaseDelay is the BaseDelay of a policy without one, so that no policy tries without a
// wait.
const defaultBaseDelay = time.Second

// delay returns the wait number n, from 0. random is at least 0 and less than 1.
func (p Policy) delay(n int, random float64) time.Duration {
	d := p.BaseDelay
	if d <= 0 {
		d = defaultBaseDelay
	}
	limit := max(d, p.MaxDelay)
	for range n {
		if d = 2 * d; d >= limit {
			d = limit
			break
		}
	}
	return time.Duration(float64(d) * (0.5 + random))
}

// tries follows one call over its tries.
type tries struct {
	policy    Policy
	addresses int
	began     time.Time

	failed    int
	failovers int
	retries   int  // of the same server
	timeouts  bool // a connection timed out
	refusals  int  // by hosts, where another host may not refuse
	renewals  int  // of the credential for a login
	relogins  int  // with new tickets
	logins    int  // the limit of relogins
	waits     int
	late      bool // there is no time for another try
}

// next returns, after a failed try, whether there is another try and after which wait.
func (t *tries) next(v Verdict, now time.Time) (wait time.Duration, again bool) {
	t.failed++
	if t.policy.MaxWait == 0 {
		return 0, false
	}
	switch v.Action {
	case RetrySame:
		t.retries++
		if limit := t.limit(); limit > 0 && t.retries > limit {
			return 0, false
		}
	case FailOver:
		t.failovers++
		if limit := t.limit(); limit > 0 && t.failovers > limit {
			return 0, false
		}
		if t.failovers%t.addresses != 0 {
			return 0, t.failovers < t.addresses || t.inTime(now)
		}
	case Permanent:
		t.refusals++
		return 0, v.OneHost && t.refusals < t.addresses
	case Reauth:
		if v.OneHost {
			return t.relogin(now)
		}
		t.renewals++
		return 0, t.renewals == 1
	}
	wait = t.policy.delay(t.waits, rand.Float64()) // spreads load; need not be secret
	t.waits++
	return wait, t.inTime(now.Add(wait))
}

// loginWait bounds the waits before logins with a new ticket (ipc.Client's
// handleSaslConnectionFailure). Servers take logins at the same moment for a replay.
const loginWait = 5 * time.Second

// relogin is next after a host has refused a ticket. The other hosts are tried before a wait.
func (t *tries) relogin(now time.Time) (wait time.Duration, again bool) {
	t.refusals++
	if t.refusals%t.addresses != 0 {
		return 0, t.refusals < t.addresses || t.inTime(now)
	}
	t.relogins++
	wait = rand.N(loginWait) + time.Millisecond // spreads load; need not be secret
	return wait, t.relogins <= t.logins && t.inTime(now.Add(wait))
}

// limit returns the maximum number of failovers or retries. 0: no limit.
func (t *tries) limit() int {
	if t.timeouts && t.policy.MaxTimeouts > 0 {
		return t.policy.MaxTimeouts
	}
	return t.policy.MaxFailovers
}

func (t *tries) inTime(at time.Time) bool {
	t.late = t.policy.MaxWait >= 0 && at.Sub(t.began) > t.policy.MaxWait
	return !t.late
}

// count returns the number of tries in words.
func (t *tries) count() string {
	if t.failed == 1 {
		return "one try"
	}
	return fmt.Sprintf("%d tries", t.failed)
}

// bound returns Policy.Limit in brackets if that limit has ended the tries, and "" otherwise.
func (t *tries) bound() string {
	if !t.late || t.policy.Limit == "" {
		return ""
	}
	return " (" + t.policy.Limit + ")"
}
