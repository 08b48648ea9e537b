package tokenmanager

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

const (
	// leastPause is the shortest time from an answer of the provider to the next attempt, 10 s, because the
	// NameNode must remember the token of each success.
	leastPause = 10 * time.Second
	// longestOutage is the longest pause between attempts while no token is valid, 5 min. The pause starts
	// with leastPause and doubles, so that a short outage stays short, and a long one does not burden the
	// KDC.
	longestOutage = 5 * time.Minute
	// lastDay and hourly decide when the manager warns of the end of tokens that it cannot replace, see
	// core.nextWarning.
	lastDay = 24 * time.Hour
	hourly  = time.Hour
)

// core decides when to obtain new tokens, and when to warn of their end. Only Step changes it. One
// goroutine may use a core.
type core struct {
	config  Config
	login   bool // the process can obtain tokens
	first   life // of the tokens that the process started with
	current *creds.Credentials

	ends    time.Time // end of the current tokens; zero: there are none
	trying  bool      // obtain was emitted, and is not answered yet
	outages int       // consecutive failures since the last token ended
	usable  bool      // usable was emitted
	alarm   time.Time // when something is due; zero: never

	// During a step:
	now     time.Time
	effects []effect
}

// newCore makes a core that begins with these tokens. first is the life of the token that ends first.
func newCore(config Config, login bool, tokens *creds.Credentials, first life) *core {
	return &core{config: config, login: login, first: first, current: tokens, ends: first.ends}
}

// Step takes one event and returns its effects, in order.
func (c *core) Step(now time.Time, event event) []effect {
	c.now, c.effects = now, nil
	switch e := event.(type) {
	case started:
		if !c.login || now.Before(c.ends) {
			c.use()
		}
		c.due()
	case answered:
		if c.trying {
			c.trying = false
			c.answered(e.Obtained, e.Err)
		}
	case woken:
		c.wake()
	}
	return c.effects
}

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

// Alarm implements actor.Core.
func (c *core) Alarm() time.Time { return c.alarm }

// wake does what is due, unless the alarm was too early, because the clock may have been set back.
func (c *core) wake() {
	if !c.alarm.IsZero() && !c.now.Before(c.alarm) {
		c.alarm = time.Time{}
		c.due()
	}
}

func (c *core) due() {
	if !c.login {
		c.watch()
		return
	}
	c.trying = true
	c.emit(obtain{})
}

func (c *core) use() {
	if !c.usable {
		c.usable = true
		c.emit(usable{})
	}
}

// answered installs new tokens. If a file system gave no token, its old token stays, and the next attempt
// is early enough for that.
func (c *core) answered(o Obtained, err error) {
	if !o.empty() {
		c.current = replaced(c.current, o.Credentials)
		c.emit(install{Tokens: c.current, Ends: o.Ends})
	}
	if !o.empty() || err == nil {
		c.use()
	}
	if err == nil {
		c.ends, c.outages = o.Ends, 0
		if !c.ends.IsZero() {
			left := time.Duration(float64(c.ends.Sub(c.now)) * c.config.RenewalRatio)
			c.alarm = c.now.Add(max(left, leastPause))
		}
		return
	}
	if !o.empty() && o.Ends.Before(c.ends) {
		c.ends = o.Ends
	}
	again := c.now.Add(c.pause())
	c.emit(tellFailure{Err: err, Ends: c.ends, Ended: !c.now.Before(c.ends), Again: again})
	c.alarm = again
}

// pause returns the time from a failure to the next attempt: half of the tokens' remaining life, so that
// there is always another attempt before they end, but never more than the configured back-off. After their
// end the pause starts short and doubles.
func (c *core) pause() time.Duration {
	pause := c.ends.Sub(c.now) / 2
	if pause > 0 {
		pause = max(pause, leastPause)
	} else {
		pause = min(leastPause<<min(c.outages, 10), longestOutage)
		c.outages++
	}
	return min(pause, c.config.RetryBackoff)
}

// watch warns, when it is time, that the first tokens end and cannot be replaced.
func (c *core) watch() {
	if c.first.ends.IsZero() {
		return
	}
	if !c.now.Before(c.first.ends) {
		c.emit(tellEnd{Service: c.first.service, Ends: c.first.ends, Ended: true})
		return
	}
	if !c.now.Before(c.firstWarning()) {
		c.emit(tellEnd{Service: c.first.service, Ends: c.first.ends})
	}
	c.alarm = c.nextWarning()
}

// ratioReached is when new tokens would be obtained if that were possible.
func (c *core) ratioReached() time.Time {
	span := c.first.ends.Sub(c.first.issued)
	return c.first.issued.Add(time.Duration(float64(span) * c.config.RenewalRatio))
}

func (c *core) firstWarning() time.Time {
	return actor.Earliest(c.ratioReached(), c.first.ends.Add(-lastDay))
}

// nextWarning returns the next of these times: the renewal ratio of the tokens' life, the start of their
// last day, the start of the last tenth of their life and each hour from then on, and their end.
func (c *core) nextWarning() time.Time {
	ends := c.first.ends
	lastTenth := ends.Add(-ends.Sub(c.first.issued) / 10)
	next := ends
	if !c.now.Before(lastTenth) {
		next = actor.Earliest(next, c.now.Add(hourly))
	}
	for _, at := range []time.Time{c.ratioReached(), ends.Add(-lastDay), lastTenth} {
		if at.After(c.now) {
			next = actor.Earliest(next, at)
		}
	}
	return next
}
