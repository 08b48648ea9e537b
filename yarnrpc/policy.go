package yarnrpc

import (
	"math/rand/v2"
	"time"
)

// Policy says how often and for how long a Proxy tries. The zero value is one try.
type Policy struct {
	// MaxWait bounds the time from a call's begin to its last try: a wait that would
	// end later is not begun, but the first round over several addresses is finished.
	// 0: one try; negative: no bound but the call's context.
	MaxWait time.Duration
	// BaseDelay is the first wait; 0: 1 s (ipc.client.connect.retry.interval). Each
	// is twice the one before, up to MaxDelay, and then spread at random from half
	// to one and a half of it. Where BaseDelay is not less than MaxDelay, every wait
	// is BaseDelay, unspread.
	BaseDelay, MaxDelay time.Duration
	// MaxFailovers bounds the changes from a server that failed. 0: no bound but
	// MaxWait. Of several addresses, all are tried in turn before each wait.
	MaxFailovers int
}

// defaultBaseDelay keeps a policy that names no wait from trying without one.
const defaultBaseDelay = time.Second

// delay is the wait number n, from 0. random is at least 0 and less than 1.
func (p Policy) delay(n int, random float64) time.Duration {
	d := p.BaseDelay
	if d <= 0 {
		d = defaultBaseDelay
	}
	if d >= p.MaxDelay {
		return d
	}
	for range n {
		if d = 2 * d; d >= p.MaxDelay {
			d = p.MaxDelay
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
	waits     int
}

// next says, after a try that failed, whether there will be another and after what wait.
func (t *tries) next(action Action, now time.Time) (wait time.Duration, again bool) {
	t.failed++
	if t.policy.MaxWait == 0 {
		return 0, false
	}
	switch action {
	case RetrySame:
	case FailOver:
		t.failovers++
		if t.policy.MaxFailovers > 0 && t.failovers > t.policy.MaxFailovers {
			return 0, false
		}
		if t.failovers%t.addresses != 0 {
			return 0, t.failovers < t.addresses || t.inTime(now)
		}
	case Permanent, Reauth:
		return 0, false
	}
	wait = t.policy.delay(t.waits, rand.Float64()) // spreads load, hides nothing
	t.waits++
	return wait, t.inTime(now.Add(wait))
}

func (t *tries) inTime(at time.Time) bool {
	return t.policy.MaxWait < 0 || at.Sub(t.began) <= t.policy.MaxWait
}
