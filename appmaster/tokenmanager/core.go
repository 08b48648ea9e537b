package tokenmanager

import (
	"time"

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
	// replace, see Core.nextWarning.
	lastDay = 24 * time.Hour
	hourly  = time.Hour
)

// Core decides when tokens are obtained anew, and when people have to hear of their end.
// Step is the only way it changes; one goroutine may use a Core.
type Core struct {
	config  Config
	login   bool // tokens can be obtained
	first   life // of the tokens that there were from the start
	current *creds.Credentials

	ends    time.Time // of the tokens to be replaced next; zero: there are none
	trying  bool      // Obtain is not answered yet
	outages int       // failures in a row since no token lives
	usable  bool      // Usable was given
	wake    time.Time // as last asked for; zero: not asked

	// During a step:
	now     time.Time
	effects []Effect
}

// newCore makes a Core that begins with these tokens, of which the first ends as it says.
func newCore(config Config, login bool, tokens *creds.Credentials, first life) *Core {
	return &Core{config: config, login: login, first: first, current: tokens, ends: first.ends}
}

// Step takes one event and gives what is to be done about it, in order.
func (c *Core) Step(now time.Time, event Event) []Effect {
	c.now, c.effects = now, nil
	switch e := event.(type) {
	case Started:
		if !c.login || now.Before(c.ends) {
			c.use()
		}
		c.due()
	case Answered:
		if c.trying {
			c.trying = false
			c.answered(e.Obtained, e.Err)
		}
	case Woken:
		c.woken()
	}
	return c.effects
}

func (c *Core) emit(e Effect) { c.effects = append(c.effects, e) }

// woken does what is due, unless the timer was too early: the clock may have been set
// back.
func (c *Core) woken() {
	switch {
	case c.wake.IsZero():
	case c.now.Before(c.wake):
		c.wakeAt(c.wake)
	default:
		c.wake = time.Time{}
		c.due()
	}
}

func (c *Core) wakeAt(at time.Time) {
	c.wake = at
	c.emit(Wake{at})
}

func (c *Core) due() {
	if !c.login {
		c.watch()
		return
	}
	c.trying = true
	c.emit(Obtain{})
}

func (c *Core) use() {
	if !c.usable {
		c.usable = true
		c.emit(Usable{})
	}
}

// answered takes new tokens in. Those of file systems that gave none stay as they are,
// and the next try comes in time for them.
func (c *Core) answered(o Obtained, err error) {
	if !o.empty() {
		c.current = replaced(c.current, o.Credentials)
		c.emit(Install{Tokens: c.current, Ends: o.Ends})
	}
	if !o.empty() || err == nil {
		c.use()
	}
	if err == nil {
		c.ends, c.outages = o.Ends, 0
		if !c.ends.IsZero() {
			left := time.Duration(float64(c.ends.Sub(c.now)) * c.config.RenewalRatio)
			c.wakeAt(c.now.Add(max(left, leastPause)))
		}
		return
	}
	if !o.empty() && o.Ends.Before(c.ends) {
		c.ends = o.Ends
	}
	again := c.now.Add(c.pause())
	c.emit(TellFailure{Err: err, Ends: c.ends, Ended: !c.now.Before(c.ends), Again: again})
	c.wakeAt(again)
}

// pause is the time from a failure to the next try: half of what is left of the tokens'
// life, so that there is always another try before they end, but never longer than the
// configured back-off. Once they have ended it starts short and doubles.
func (c *Core) pause() time.Duration {
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
func (c *Core) watch() {
	if c.first.ends.IsZero() {
		return
	}
	if !c.now.Before(c.first.ends) {
		c.emit(TellEnd{Service: c.first.service, Ends: c.first.ends, Ended: true})
		return
	}
	if !c.now.Before(c.firstWarning()) {
		c.emit(TellEnd{Service: c.first.service, Ends: c.first.ends})
	}
	c.wakeAt(c.nextWarning())
}

// ratioReached is when tokens would be obtained anew if that were possible.
func (c *Core) ratioReached() time.Time {
	span := c.first.ends.Sub(c.first.issued)
	return c.first.issued.Add(time.Duration(float64(span) * c.config.RenewalRatio))
}

func (c *Core) firstWarning() time.Time {
	return earliest(c.ratioReached(), c.first.ends.Add(-lastDay))
}

// nextWarning is the first of these that is to come: the renewal ratio of the tokens'
// life, their last day, the beginning of the last tenth of their life and every hour of
// it, and their end.
func (c *Core) nextWarning() time.Time {
	ends := c.first.ends
	lastTenth := ends.Add(-ends.Sub(c.first.issued) / 10)
	next := ends
	if !c.now.Before(lastTenth) {
		next = earliest(next, c.now.Add(hourly))
	}
	for _, at := range []time.Time{c.ratioReached(), ends.Add(-lastDay), lastTenth} {
		if at.After(c.now) {
			next = earliest(next, at)
		}
	}
	return next
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
