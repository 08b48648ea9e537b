package patience

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestLate would catch a process that counts as stopped because it is busy, or before its alarm.
func TestLate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		wake time.Time
		want time.Duration
	}{
		{time.Time{}, 0},
		{epoch.Add(time.Second), 0},
		{epoch, 0},
		{epoch.Add(-overslept + 1), 0},
		{epoch.Add(-overslept), overslept},
		{epoch.Add(-time.Hour), time.Hour},
	} {
		if got := Late(epoch, test.wake); got != test.want {
			t.Errorf("to be woken at %s, %s late, want %s", test.wake, got, test.want)
		}
	}
}

// TestAProcessThatIsStoppedWaitsOn lets a process step and be stopped at random while nothing is heard from
// a peer. It would catch three faults. A peer is given up although the process did not run for the peer's
// whole allowance; not counted is a stop that the process cannot know of, which is shorter than an interval
// each time. A peer is given up without an interval in which its messages can be read. A peer gets more
// than its allowance, or a process that is always late waits for it for ever.
func TestAProcessThatIsStoppedWaitsOn(t *testing.T) {
	t.Parallel()
	const interval = 10 * time.Second
	rapid.Check(t, func(t *rapid.T) {
		span := func(what string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, what))
		}
		allowance := span("allowance", 5*time.Minute)
		d, now := After(epoch, allowance), epoch
		var there, unknown time.Duration // it ran, or was stopped and cannot know it
		for granted := false; !d.Passed(now); {
			wake := now.Add(interval)
			if d.At().Before(wake) {
				wake = d.At()
			}
			if rapid.Bool().Draw(t, "runs until it is woken") {
				there += wake.Sub(now)
				now = wake
				continue
			}
			ran := span("before it is stopped", wake.Sub(now))
			there += ran
			unknown += wake.Sub(now) - ran
			now = wake.Add(overslept + span("late", time.Hour))
			before, due := d.At(), d.At().Sub(wake)
			d = d.Excuse(now, Late(now, wake), interval)
			switch left := d.At().Sub(now); {
			case d.At().Before(before):
				t.Fatalf("the deadline came nearer, from %s to %s", before, d.At())
			case left > allowance:
				t.Fatalf("%s are left of %s", left, allowance)
			case left > due && (granted || left > interval):
				t.Fatalf("%s are left, and %s were when it was to be woken; given more before: %v", left, due, granted)
			case left < min(interval, allowance) && !granted:
				t.Fatalf("only %s are left for what came meanwhile", left)
			default:
				granted = granted || left > due
			}
		}
		if there+unknown < allowance {
			t.Fatalf("given up after %s and %s in which the process may have been stopped, want %s", there, unknown, allowance)
		}
	})
}

// TestATimeToReadIsKeptForTheStopThatNeedsIt would catch a process that uses up the extension for a short
// stop while enough time was left, and after a long stop then gives up all peers before it reads their
// messages.
func TestATimeToReadIsKeptForTheStopThatNeedsIt(t *testing.T) {
	t.Parallel()
	const interval = 10 * time.Second
	d := After(epoch, 5*time.Minute)
	hiccup := epoch.Add(200 * time.Second)
	d = d.Excuse(hiccup.Add(overslept), overslept, interval)
	stop := d.At().Add(10 * time.Minute)
	d = d.Excuse(stop, Late(stop, d.At()), interval)
	if left := d.At().Sub(stop); left != interval {
		t.Errorf("%s are left to read what came meanwhile, want %s", left, interval)
	}
}

// TestSomeAreNotExcused would catch a stop that shortens the time of a peer that is awaited only from a
// later time on, and a peer that was given up already and is awaited again.
func TestSomeAreNotExcused(t *testing.T) {
	t.Parallel()
	now, late := epoch.Add(time.Hour), 30*time.Second
	for name, d := range map[string]Deadline{
		"waited for later": After(now.Add(time.Hour), time.Minute),
		"given up before":  After(now.Add(-late-time.Minute-1), time.Minute),
		"nobody":           {},
	} {
		if got := d.Excuse(now, late, time.Second); !got.At().Equal(d.At()) {
			t.Errorf("%s: put off from %s to %s", name, d.At(), got.At())
		}
	}
}

// TestAWaitKeepsItsDeadlineUntilItBeginsAgain would catch a wait that loses what it was excused, one that ignores that it may last
// longer now, one that has the deadline of an earlier begin, and one that has a deadline before it begins.
func TestAWaitKeepsItsDeadlineUntilItBeginsAgain(t *testing.T) {
	t.Parallel()
	var w Wait
	const allowance, stop = time.Minute, 40 * time.Second
	if d := w.From(time.Time{}, allowance); !d.IsZero() {
		t.Errorf("the deadline is %s before the wait begins", d.At())
	}
	d := w.From(epoch, allowance)
	*d = d.Excuse(epoch.Add(stop), stop, time.Second)
	if got, want := w.From(epoch, allowance).At(), epoch.Add(allowance+stop); !got.Equal(want) {
		t.Errorf("the deadline is %s after a stop of %s, want %s", got, stop, want)
	}
	const longer = allowance + time.Second
	if got, want := w.From(epoch, longer).At(), epoch.Add(longer+stop); !got.Equal(want) {
		t.Errorf("the deadline of a wait that may last longer is %s, want %s", got, want)
	}
	again := epoch.Add(time.Second)
	if got, want := w.From(again, allowance).At(), again.Add(allowance); !got.Equal(want) {
		t.Errorf("the deadline is %s after another begin, want %s", got, want)
	}
}
