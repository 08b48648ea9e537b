package tokenmanager

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/testing/actortest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// history is what has happened to a core that can log in. The core's duties follow from the history alone,
// by the rules of docs/OPTIONS.md and of the methods below. Nothing here is taken from the core, and the
// numbers are written out.
type history struct {
	core    actortest.Stepper[event, effect]
	now     time.Time
	first   time.Time // end of the first tokens; zero: there are none
	backoff time.Duration
	answers []given
	trying  bool
	wake    time.Time // the expected alarm; zero: never
	log     []recorded
}

// given is an answer of the provider: tokens of these services. Each token names the answer that it came
// with.
type given struct {
	at       time.Time
	services []string
	ends     time.Time
	failed   bool
}

type recorded struct {
	now     time.Time
	event   event
	effects []any
}

// defaults are those of docs/OPTIONS.md.
func defaults() Config {
	return Config{RenewalRatio: 0.75, RetryBackoff: time.Hour, Principal: "alice@EXAMPLE.COM"}
}

func begin(ends time.Time, backoff time.Duration) *history {
	h := &history{now: testEpoch, first: ends, backoff: backoff, trying: true}
	config := defaults()
	config.RetryBackoff = backoff
	c := creds.New()
	if !ends.IsZero() {
		c.Tokens["ns1"], c.Tokens["ns9"] = token("ns1", "first"), token("ns9", "first")
	}
	h.core.Core = newCore(config, true, c, life{service: "ns1", issued: testEpoch.Add(-time.Hour), ends: ends})
	return h
}

// step sends an event and compares the effects.
func (h *history) step(t *rapid.T, event event, want ...any) {
	t.Helper()
	if event == (woken{}) {
		h.core.Rang()
	}
	got := h.core.All(h.now, event)
	h.log = append(h.log, recorded{h.now, event, got})
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateErrors(), cmpopts.EquateApproxTime(time.Millisecond), cmp.Comparer(sameTokens)); diff != "" {
		t.Fatalf("at %v, %T after %d answers (-want +got):\n%s", h.now.Sub(testEpoch), event, len(h.answers), diff)
	}
}

// tokens returns the newest tokens of each service. No answer removes one.
func (h *history) tokens() *creds.Credentials {
	c := creds.New()
	if !h.first.IsZero() {
		c.Tokens["ns1"], c.Tokens["ns9"] = token("ns1", "first"), token("ns9", "first")
	}
	for i, a := range h.answers {
		for _, service := range a.services {
			c.Tokens[service] = token(service, fmt.Sprint("answer ", i))
		}
	}
	return c
}

// ends returns when the first of the tokens to be replaced ends. These are the tokens of the last answer
// without an error, or the first ones, and those that came in part since then.
func (h *history) ends() time.Time {
	ends := h.first
	for _, a := range h.answers {
		if !a.failed || len(a.services) > 0 && a.ends.Before(ends) {
			ends = a.ends
		}
	}
	return ends
}

// usable reports whether work may have begun before the last answer, or with the start.
func (h *history) usable(answers []given) bool {
	return h.first.After(testEpoch) || slices.ContainsFunc(answers, func(a given) bool { return !a.failed || len(a.services) > 0 })
}

// outages returns the number of consecutive failures while no token was valid, with the last one.
func (h *history) outages() int {
	n := 0
	for i, a := range h.answers {
		before := history{first: h.first, answers: h.answers[:i+1]}
		switch {
		case !a.failed:
			n = 0
		case !before.ends().After(a.at):
			n++
		}
	}
	return n
}

// next is when the next try begins after the last answer.
//
//   - After a success, when three quarters of what is left of the tokens' life are over.
//   - After a failure, halfway to their end.
//   - While no token lives, after 10 s, and twice as long after each failure, up to 5 min.
//   - After a failure within the configured back-off, an hour by default.
//   - Never sooner than after 10 s.
func (h *history) next() time.Time {
	last, ends := h.answers[len(h.answers)-1], h.ends()
	left := ends.Sub(h.now)
	var at time.Time
	switch {
	case !last.failed && ends.IsZero():
		return time.Time{} // no file system has tokens
	case !last.failed:
		at = ends.Add(-left / 4)
	case left > 0:
		at = ends.Add(-left / 2)
	default:
		pauses := []int{10, 20, 40, 80, 160, 300}
		at = h.now.Add(time.Duration(pauses[min(h.outages(), len(pauses))-1]) * time.Second)
	}
	if latest := h.now.Add(h.backoff); last.failed && at.After(latest) {
		return latest
	}
	if soonest := h.now.Add(10 * time.Second); at.Before(soonest) {
		return soonest
	}
	return at
}

var errAway = errors.New("away")

func sameTokens(a, b *creds.Credentials) bool { return show(a) == show(b) }

// answer sends an answer of the provider.
func (h *history) answer(t *rapid.T, err error, services ...string) {
	if !h.trying {
		t.Skip("nothing was asked for")
	}
	h.trying = false
	a := given{at: h.now, services: services, failed: err != nil}
	o := Obtained{Credentials: creds.New()}
	if len(services) > 0 {
		a.ends = h.now.Add(time.Duration(rapid.IntRange(-60, 90_000).Draw(t, "life")) * time.Second)
		o.Ends = a.ends
		for _, s := range services {
			o.Credentials.Tokens[s] = token(s, fmt.Sprint("answer ", len(h.answers)))
		}
	}
	before := h.answers
	h.answers = append(slices.Clone(before), a)
	h.wake = h.next()
	var want []any
	if len(services) > 0 {
		want = append(want, install{Tokens: h.tokens(), Ends: a.ends})
	}
	if !h.usable(before) && h.usable(h.answers) {
		want = append(want, usable{})
	}
	if err != nil {
		ends := h.ends()
		want = append(want, tellFailure{Err: err, Ends: ends, Ended: !ends.After(h.now), Again: h.wake})
	}
	if !h.wake.IsZero() {
		want = append(want, actortest.Wake{At: h.wake})
	}
	h.step(t, answered{Obtained: o, Err: err}, want...)
}

// timePasses advances the time to the alarm, or to a time before it.
func (h *history) timePasses(t *rapid.T) {
	h.now = h.now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "seconds")) * time.Second)
	if h.wake.IsZero() {
		return
	}
	if rapid.Bool().Draw(t, "to the wake") && h.wake.After(h.now) {
		h.now = h.wake.Add(time.Millisecond)
	}
	if h.wake.After(h.now) {
		return
	}
	h.wake, h.trying = time.Time{}, true
	h.step(t, woken{}, obtain{})
}

// strayWake is an alarm that comes too early: the core must set it again.
func (h *history) strayWake(t *rapid.T) {
	switch {
	case h.wake.IsZero():
		h.step(t, woken{})
	case h.now.Add(time.Millisecond).Before(h.wake):
		h.step(t, woken{}, actortest.Wake{At: h.wake})
	default:
		t.Skip("it is time")
	}
}

// strayAnswer is an answer without a request: it changes nothing.
func (h *history) strayAnswer(t *rapid.T) {
	if h.trying {
		t.Skip("it would be the answer")
	}
	late := creds.New()
	late.Tokens["ns1"] = token("ns1", "late")
	h.step(t, answered{Obtained: Obtained{Credentials: late, Ends: h.now.Add(time.Hour)}})
}

// Whatever the provider answers and whenever, the core does what the history requires and nothing else. The
// test would catch a token that is lost or replaced by an older one; an attempt that comes too late, too
// often, twice or never; work that begins before its tokens are there, or twice; and a log line with a
// wrong time.
func TestRenewalUnderAnyAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ends := rapid.SampledFrom([]time.Time{{}, testEpoch.Add(168 * time.Hour), testEpoch.Add(time.Minute), testEpoch.Add(-time.Hour)}).Draw(t, "first tokens")
		backoff := rapid.SampledFrom([]time.Duration{time.Hour, time.Hour, time.Minute}).Draw(t, "backoff")
		h := begin(ends, backoff)
		if ends.After(testEpoch) {
			h.step(t, started{}, usable{}, obtain{})
		} else {
			h.step(t, started{}, obtain{})
		}
		t.Repeat(map[string]func(*rapid.T){
			"all answer":   func(t *rapid.T) { h.answer(t, nil, "ns1", "ns2") },
			"all fail":     func(t *rapid.T) { h.answer(t, errAway) },
			"one fails":    func(t *rapid.T) { h.answer(t, errAway, rapid.SampledFrom([]string{"ns1", "ns2"}).Draw(t, "service")) },
			"no tokens":    func(t *rapid.T) { h.answer(t, nil) },
			"time passes":  h.timePasses,
			"stray wake":   h.strayWake,
			"stray answer": h.strayAnswer,
		})
		again := begin(ends, backoff)
		for i, r := range h.log {
			if r.event == (woken{}) {
				again.core.Rang()
			}
			if diff := cmp.Diff(r.effects, again.core.All(r.now, r.event), cmpopts.EquateErrors(), cmp.Comparer(sameTokens)); diff != "" {
				t.Fatalf("step %d gives other effects when replayed (-first +again):\n%s", i, diff)
			}
		}
	})
}

// told returns the times of the warnings that tokens end which the manager cannot replace, if the process
// begins at some time and the alarm comes on time.
func told(t *rapid.T, c *core, began, ends time.Time) (warnings, ended []time.Time) {
	now, event := began, event(started{})
	for steps := 0; ; steps++ {
		if steps > 200 {
			t.Fatal("it does not come to an end")
		}
		for i, effect := range c.Step(now, event) {
			switch e := effect.(type) {
			case tellEnd:
				if e.Service != "ns1" || !e.Ends.Equal(ends) || e.Ended != !ends.After(now) {
					t.Fatalf("at %v people are told %s", now, describe(e))
				}
				if e.Ended {
					ended = append(ended, now)
				} else {
					warnings = append(warnings, now)
				}
			case usable:
				if steps != 0 || i != 0 {
					t.Fatal("usable late, or twice")
				}
			default:
				t.Fatalf("effect %s", describe(e))
			}
		}
		wake := c.Alarm()
		if wake.IsZero() {
			return warnings, ended
		}
		if !wake.After(now) {
			t.Fatalf("at %v it asks to be woken at %v", now, wake)
		}
		now, event = wake, woken{}
	}
}

// For any life of the tokens and any start of the process, the manager warns when three quarters of their
// life are over, a day before their end, when a tenth of their life is left and each hour from then on, and
// once at their end.
func TestWarningsOfAnyLife(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		issued := testEpoch
		lifetime := time.Duration(rapid.IntRange(1, 30*24*3600).Draw(t, "life")) * time.Second
		ends := issued.Add(lifetime)
		began := issued.Add(time.Duration(rapid.IntRange(0, 150).Draw(t, "percent late")) * lifetime / 100)
		warnings, ended := told(t, newCore(defaults(), false, creds.New(), life{service: "ns1", issued: issued, ends: ends}), began, ends)

		if !ends.After(began) {
			if len(warnings) > 0 || !slices.Equal(ended, []time.Time{began}) {
				t.Fatalf("they have ended before it begins: warnings at %v, told at %v", warnings, ended)
			}
			return
		}
		if !slices.Equal(ended, []time.Time{ends}) {
			t.Fatalf("their end is told at %v, want %v", ended, ends)
		}
		threeQuarters, lastDay, lastTenth := issued.Add(lifetime-lifetime/4), ends.Add(-24*time.Hour), ends.Add(-lifetime/10)
		about := func(a, b time.Time) bool { return a.Sub(b).Abs() < time.Millisecond }
		for name, at := range map[string]time.Time{"three quarters": threeQuarters, "the last day": lastDay, "the last tenth": lastTenth} {
			if at.After(began) && !slices.ContainsFunc(warnings, func(w time.Time) bool { return about(w, at) }) {
				t.Fatalf("no warning at %v, %s: %v", at, name, warnings)
			}
		}
		if late := threeQuarters.Before(began) || lastDay.Before(began); late && !slices.Contains(warnings, began) {
			t.Fatalf("no warning at once, at %v: %v", began, warnings)
		}
		previous := time.Time{}
		for _, w := range append(slices.Clone(warnings), ends) {
			inTenth := !w.Before(lastTenth.Add(-time.Millisecond))
			if named := about(w, threeQuarters) || about(w, lastDay) || w.Equal(began) && !(threeQuarters.After(w) && lastDay.After(w)); !named && !inTenth {
				t.Fatalf("a warning at %v, for no reason: %v", w, warnings)
			}
			if from := latest(previous, latest(began, lastTenth)); inTenth && w.Sub(from) > time.Hour+time.Millisecond {
				t.Fatalf("%v without a warning in the last tenth, until %v", w.Sub(from), w)
			}
			previous = w
		}
		hours := int(lifetime / 10 / time.Hour)
		if most := 3 + 1 + hours + 2; len(warnings) > most { // the named ones, at once, each hour, and one after each named one among them
			t.Fatalf("%d warnings, want %d at most", len(warnings), most)
		}
	})
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
