package tokenmanager

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

const (
	// leastPause is the least time from an answer of the provider to the next try,
	// 10 s: each success makes a token that the NameNode has to remember.
	leastPause = 10 * time.Second
	// longestOutage is the longest pause between tries while no token lives, 5 min. It
	// starts with leastPause and doubles: a short outage must not become a long one, nor
	// a long one a burden for the KDC.
	longestOutage = 5 * time.Minute
	// lastDay and hourly are when people are told of the end of tokens that nobody can
	// replace, see core.nextWarning.
	lastDay = 24 * time.Hour
	hourly  = time.Hour
)

// core decides when tokens are obtained anew, and when people have to hear of their end.
// Step is the only way it changes; one goroutine may use a core.
type core struct {
	config  Config
	login   bool // tokens can be obtained
	first   life // of the tokens that there were from the start
	current *creds.Credentials

	ends    time.Time // of the tokens to be replaced next; zero: there are none
	trying  bool      // obtain is not answered yet
	outages int       // failures in a row since no token lives
	usable  bool      // usable was given
	alarm   time.Time // when something is due; zero: never

	// During a step:
	now     time.Time
	effects []effect
}

// newCore makes a core that begins with these tokens, of which the first ends as it says.
func newCore(config Config, login bool, tokens *creds.Credentials, first life) *core {
	return &core{config: config, login: login, first: first, current: tokens, ends: first.ends}
}

// Step takes one event and gives what is to be done about it, in order.
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

// Alarm is actor.Core's.
func (c *core) Alarm() time.Time { return c.alarm }

// wake does what is due, unless the alarm was too early: the clock may have been set
// back.
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

// answered takes new tokens in. Those of file systems that gave none stay as they are,
// and the next try comes in time for them.
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

// pause is the time from a failure to the next try: half of what is left of the tokens'
// life, so that there is always another try before they end, but never longer than the
// configured back-off. Once they have ended it starts short and doubles.
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

// watch tells people, when it is time, that the first tokens end for good.
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

// ratioReached is when tokens would be obtained anew if that were possible.
func (c *core) ratioReached() time.Time {
	span := c.first.ends.Sub(c.first.issued)
	return c.first.issued.Add(time.Duration(float64(span) * c.config.RenewalRatio))
}

func (c *core) firstWarning() time.Time {
	return actor.Earliest(c.ratioReached(), c.first.ends.Add(-lastDay))
}

// nextWarning is the first of these that is to come: the renewal ratio of the tokens'
// life, their last day, the beginning of the last tenth of their life and every hour of
// it, and their end.
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
