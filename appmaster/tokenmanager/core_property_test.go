package tokenmanager

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// world is a naive account of a Core that can log in.
type world struct {
	core    *Core
	now     time.Time
	wake    time.Time // zero: not asked
	trying  bool
	settled bool // the last answer said that no file system needs tokens
	usable  bool
	ends    time.Time
	tokens  map[string]string // by service
	tries   int
	log     []recorded
}

type recorded struct {
	now     time.Time
	event   Event
	effects []Effect
}

func newWorld(first life) *world {
	w := &world{now: testEpoch, ends: first.ends, tokens: map[string]string{}}
	c := creds.New()
	if !first.ends.IsZero() {
		c.Tokens["ns1"], c.Tokens["ns9"] = token("ns1", "first"), token("ns9", "first")
		w.tokens["ns1"], w.tokens["ns9"] = "first", "first"
	}
	w.core = newCore(testConfig(), true, c, first)
	return w
}

func (w *world) step(t *rapid.T, event Event) {
	effects := w.core.Step(w.now, event)
	w.log = append(w.log, recorded{w.now, event, effects})
	for _, effect := range effects {
		switch e := effect.(type) {
		case Obtain:
			if w.trying {
				t.Fatal("two tries at the same time")
			}
			w.trying, w.wake = true, time.Time{}
		case Wake:
			w.wake = e.At
		case Install:
			if got, want := show(e.Tokens), showMap(w.tokens); got != want {
				t.Fatalf("tokens are %s, want %s", got, want)
			}
		case Usable:
			if w.usable {
				t.Fatal("usable twice")
			}
			w.usable = true
		case TellFailure:
			if !e.Again.After(w.now) || e.Ended != !w.now.Before(w.ends) {
				t.Fatalf("at %v people are told %s", w.now, describe(e))
			}
		case TellEnd:
			t.Fatalf("%s, though new ones can be had", describe(e))
		}
	}
	w.check(t)
}

func (w *world) check(t *rapid.T) {
	if w.settled {
		return
	}
	if w.trying == !w.wake.IsZero() {
		t.Fatalf("trying: %t, and the next wake is %v", w.trying, w.wake)
	}
	if w.trying {
		return
	}
	if w.wake.After(w.now) && w.ends.After(w.now) && !w.wake.Before(w.ends) && w.wake.Sub(w.now) > leastPause {
		t.Fatalf("at %v the next try is at %v, and the tokens end at %v", w.now, w.wake, w.ends)
	}
}

// answer brings what the provider says, for tokens of these services.
func (w *world) answer(t *rapid.T, err error, services ...string) {
	if !w.trying {
		t.Skip("nothing was asked for")
	}
	w.trying = false
	w.tries++
	o := Obtained{Credentials: creds.New()}
	for _, s := range services {
		w.tokens[s] = fmt.Sprint(w.tries)
		o.Credentials.Tokens[s] = token(s, w.tokens[s])
		o.Ends = w.now.Add(time.Duration(rapid.IntRange(-60, 90_000).Draw(t, "life")) * time.Second)
	}
	w.settled = err == nil && len(services) == 0
	switch {
	case err == nil:
		w.ends = o.Ends
	case len(services) > 0 && o.Ends.Before(w.ends):
		w.ends = o.Ends
	}
	w.step(t, Answered{Obtained: o, Err: err})
	if w.settled {
		w.wake = time.Time{}
		return
	}
	if pause := w.wake.Sub(w.now); pause < leastPause {
		t.Fatalf("the next try comes after %v", pause)
	}
	if pause := w.wake.Sub(w.now); err != nil && !w.ends.After(w.now) && pause > longestOutage {
		t.Fatalf("no token lives, and the next try comes after %v", pause)
	}
	if err == nil {
		life := w.ends.Sub(w.now)
		if want := w.now.Add(max(life*3/4, leastPause)); w.wake.Sub(want).Abs() > time.Second {
			t.Fatalf("tokens that live for %v are obtained anew at %v, want %v", life, w.wake, want)
		}
	}
	if len(services) > 0 && !w.usable {
		t.Fatal("there are tokens, and work waits")
	}
}

// Whatever the provider answers and whenever: there is always a next try, in time and
// not too soon; no token is lost or replaced by an older one; and the same events give
// the same effects.
func TestRenewalUnderAnyAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.SampledFrom([]life{
			{}, {issued: testEpoch, ends: testEpoch.Add(168 * time.Hour)}, {issued: testEpoch.Add(-200 * time.Hour), ends: testEpoch.Add(-time.Hour)},
		}).Draw(t, "first tokens")
		w := newWorld(first)
		w.step(t, Started{})
		if alive := first.ends.After(testEpoch); w.usable != alive {
			t.Fatalf("usable is %t with first tokens that end at %v", w.usable, first.ends)
		}
		t.Repeat(map[string]func(*rapid.T){
			"all answer":   func(t *rapid.T) { w.answer(t, nil, "ns1", "ns2") },
			"all fail":     func(t *rapid.T) { w.answer(t, errAway) },
			"one fails":    func(t *rapid.T) { w.answer(t, errAway, rapid.SampledFrom([]string{"ns1", "ns2"}).Draw(t, "service")) },
			"no tokens":    func(t *rapid.T) { w.answer(t, nil) },
			"time passes":  w.timePasses,
			"stray wake":   func(t *rapid.T) { w.stray(t, Woken{}) },
			"stray answer": func(t *rapid.T) { w.stray(t, Answered{Err: errAway}) },
		})
		again := newWorld(first)
		for i, r := range w.log {
			got := again.core.Step(r.now, r.event)
			if diff := cmp.Diff(r.effects, got, cmpopts.EquateErrors(), cmp.Comparer(sameTokens)); diff != "" {
				t.Fatalf("step %d gives other effects when replayed (-first +again):\n%s", i, diff)
			}
		}
	})
}

var errAway = errors.New("away")

func sameTokens(a, b *creds.Credentials) bool { return show(a) == show(b) }

func showMap(m map[string]string) string {
	var all []string
	for _, service := range slices.Sorted(maps.Keys(m)) {
		all = append(all, service+"="+m[service])
	}
	return strings.Join(all, ",")
}

// timePasses lets it go to the next wake and a little over, or not as far.
func (w *world) timePasses(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(t, "seconds")) * time.Second)
	if rapid.Bool().Draw(t, "to the wake") && w.wake.After(w.now) {
		w.now = w.wake
	}
	if !w.wake.IsZero() && !w.now.Before(w.wake) {
		w.step(t, Woken{})
		if !w.trying {
			t.Fatal("it is time, and nothing is tried")
		}
	}
}

// stray brings an event that must do nothing now.
func (w *world) stray(t *rapid.T, event Event) {
	if _, answer := event.(Answered); answer && w.trying {
		t.Skip("it would be the answer")
	}
	if !w.wake.IsZero() && !w.now.Before(w.wake) {
		t.Skip("it is time")
	}
	w.step(t, event)
	for _, effect := range w.log[len(w.log)-1].effects {
		if _, is := effect.(Wake); !is {
			t.Fatalf("a stray %T has the effect %s", event, describe(effect))
		}
	}
}

// However long tokens live and however late the process comes: people hear of their end
// in time, more than once, not all the time, and once when it has come.
func TestWarningsOfAnyLife(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		issued := testEpoch
		lifetime := time.Duration(rapid.IntRange(1, 30*24*3600).Draw(t, "life")) * time.Second
		ends := issued.Add(lifetime)
		now := issued.Add(time.Duration(rapid.Float64Range(0, 1.5).Draw(t, "late") * float64(lifetime)))
		began := now
		c := newCore(testConfig(), false, creds.New(), life{service: "ns1", issued: issued, ends: ends})
		var warnings []time.Time
		ended := 0
		for event, steps := Event(Started{}), 0; ; steps++ {
			if steps > 100 {
				t.Fatal("it does not come to an end")
			}
			var wake time.Time
			for _, effect := range c.Step(now, event) {
				switch e := effect.(type) {
				case Wake:
					wake = e.At
				case TellEnd:
					if e.Ended != !now.Before(ends) {
						t.Fatalf("at %v people are told %s", now, describe(e))
					}
					if e.Ended {
						ended++
					} else {
						warnings = append(warnings, now)
					}
				case Usable:
				default:
					t.Fatalf("effect %s", describe(e))
				}
			}
			if wake.IsZero() {
				break
			}
			if !wake.After(now) {
				t.Fatalf("at %v it asks to be woken at %v", now, wake)
			}
			now, event = wake, Woken{}
		}
		if ended != 1 || now.Before(ends) {
			t.Fatalf("people are told %d times that the tokens have ended, last at %v", ended, now)
		}
		if began.Before(ends) {
			if len(warnings) == 0 {
				t.Fatal("nobody was warned")
			}
			inTime := ends.Add(-max(lifetime/4, min(lifetime, 24*time.Hour)))
			if first := warnings[0]; first.After(began) && first.After(inTime.Add(time.Second)) {
				t.Fatalf("the first warning comes at %v, want it by %v", first, inTime)
			}
			if most := 4 + int(lifetime/10/time.Hour); len(warnings) > most {
				t.Fatalf("%d warnings, want %d at most", len(warnings), most)
			}
		}
	})
}
