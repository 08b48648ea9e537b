package failover

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func settings(t *testing.T, options map[string]string) Settings {
	t.Helper()
	c, err := config.New(config.Layer{Source: "test", Values: options})
	if err != nil {
		t.Fatal(err)
	}
	return Configured(c)
}

// TestEachChoiceHasItsStrategy: a choice of the option without a case in New would pass for "none", and no job
// would restart.
func TestEachChoiceHasItsStrategy(t *testing.T) {
	t.Parallel()
	for _, choice := range config.Choices(string(config.RestartStrategy)) {
		_, never := New(settings(t, map[string]string{"restart-strategy.type": choice}), 1).(none)
		if never != (choice == None) {
			t.Errorf("restart-strategy.type %s: restarts nothing: %v", choice, never)
		}
	}
}

// TestStrategies requests restarts at given seconds.
func TestStrategies(t *testing.T) {
	t.Parallel()
	const no = time.Duration(-1)
	s := time.Second
	for name, test := range map[string]struct {
		options map[string]string
		at      []int
		want    []time.Duration // delays; no: the job fails
	}{
		"the default allows three restarts, the first of them at once": {
			nil, []int{0, 1, 2, 3}, []time.Duration{0, s, s, no},
		},
		"none allows none": {
			map[string]string{"restart-strategy.type": "none"}, []int{0}, []time.Duration{no},
		},
		"fixed-delay counts attempts": {
			map[string]string{"restart-strategy.fixed-delay.attempts": "2", "restart-strategy.fixed-delay.delay": "10 s"},
			[]int{0, 100, 200},
			[]time.Duration{0, 10 * s, no},
		},
		"failure-rate forgets failures outside its interval": {
			map[string]string{"restart-strategy.type": "failure-rate", "restart-strategy.failure-rate.max-failures-per-interval": "2"},
			[]int{0, 30, 61, 80},
			[]time.Duration{s, s, s, no},
		},
		"failure-rate has an interval and a delay of its own": {
			map[string]string{
				"restart-strategy.type":                               "failure-rate",
				"restart-strategy.failure-rate.failure-rate-interval": "10 s",
				"restart-strategy.failure-rate.delay":                 "2 s",
			},
			[]int{0, 11, 20},
			[]time.Duration{2 * s, 2 * s, no},
		},
		"exponential-delay grows to its limit and starts over after an hour": {
			map[string]string{
				"restart-strategy.type":                                 "exponential-delay",
				"restart-strategy.exponential-delay.max-backoff":        "3 s",
				"restart-strategy.exponential-delay.jitter-factor":      "0",
				"restart-strategy.exponential-delay.backoff-multiplier": "2",
			},
			[]int{0, 10, 20, 30, 3633, 3640},
			[]time.Duration{s, 2 * s, 3 * s, 3 * s, s, 2 * s},
		},
		"exponential-delay may be limited": {
			map[string]string{
				"restart-strategy.type":                                            "exponential-delay",
				"restart-strategy.exponential-delay.jitter-factor":                 "0",
				"restart-strategy.exponential-delay.attempts-before-reset-backoff": "1",
			},
			[]int{0, 10},
			[]time.Duration{s, no},
		},
		"exponential-delay has all its restarts again after a quiet hour": {
			map[string]string{
				"restart-strategy.type":                                            "exponential-delay",
				"restart-strategy.exponential-delay.jitter-factor":                 "0",
				"restart-strategy.exponential-delay.attempts-before-reset-backoff": "1",
			},
			[]int{0, 3601, 3610},
			[]time.Duration{s, s, no},
		},
		"exponential-delay starts over after a time of its own": {
			map[string]string{
				"restart-strategy.type":                                      "exponential-delay",
				"restart-strategy.exponential-delay.jitter-factor":           "0",
				"restart-strategy.exponential-delay.backoff-multiplier":      "2",
				"restart-strategy.exponential-delay.reset-backoff-threshold": "1 min",
			},
			[]int{0, 60, 122},
			[]time.Duration{s, 2 * s, s},
		},
		"exponential-delay merges the failures of one delay": {
			map[string]string{
				"restart-strategy.type":                                            "exponential-delay",
				"restart-strategy.exponential-delay.initial-backoff":               "10 s",
				"restart-strategy.exponential-delay.backoff-multiplier":            "2",
				"restart-strategy.exponential-delay.jitter-factor":                 "0",
				"restart-strategy.exponential-delay.attempts-before-reset-backoff": "2",
			},
			[]int{0, 3, 9, 10, 29, 30},
			[]time.Duration{10 * s, 7 * s, s, 20 * s, s, no},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := NewRestarts(settings(t, test.options), 1)
			var got []time.Duration
			for _, second := range test.at {
				d := r.Decide(start.Add(time.Duration(second)*s), Cause{Kind: TaskFailed}, 0)
				if d.Restart == (d.Exhausted != "") {
					t.Errorf("decision %+v says both or neither", d)
				}
				if !d.Restart {
					d.Delay = no
				}
				got = append(got, d.Delay)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("delays differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJitterStaysInItsBoundsAndRepeats(t *testing.T) {
	t.Parallel()
	options := map[string]string{"restart-strategy.type": "exponential-delay", "restart-strategy.exponential-delay.backoff-multiplier": "1"}
	run := func(seed uint64) (delays []time.Duration) {
		strategy := New(settings(t, options), seed)
		for i := range 100 {
			d, _ := strategy.Restart(start.Add(time.Duration(i) * time.Minute)) // after the last delay
			if d < 900*time.Millisecond || d > 1100*time.Millisecond {
				t.Errorf("delay %s is further than a tenth from 1 s", d)
			}
			delays = append(delays, d)
		}
		return delays
	}
	first := run(7)
	if diff := cmp.Diff(first, run(7)); diff != "" {
		t.Error("the same seed gives other delays")
	}
	if cmp.Equal(first, run(8)) {
		t.Error("another seed gives the same delays")
	}
}

func TestOnlyFailuresOfTheJobUseUpRestarts(t *testing.T) {
	t.Parallel()
	r := NewRestarts(settings(t, map[string]string{"restart-strategy.type": "none"}), 1)
	for range 10 {
		if d := r.Decide(start, Cause{Kind: WorkerLost}, 0); !d.Restart || d.Delay != 0 {
			t.Fatalf("lost worker: got %+v, want a restart at once", d)
		}
	}
	if d := r.Decide(start, Cause{Kind: HostLost}, 0); d.Restart {
		t.Error("lost host: restarted without a restart left")
	}
	if d := r.Decide(start, Cause{Kind: HostStopped}, 1); !d.Restart || d.Delay != 0 {
		t.Errorf("host that its worker stops: got %+v, want a restart at once", d)
	}
	for range 2 * maxLosses {
		if d := r.Decide(start, Cause{Kind: HostFull}, 2); !d.Restart || d.Delay != 0 {
			t.Fatalf("host of a worker that is full: got %+v, want a restart at once", d)
		}
	}
	if d := r.Decide(start, Cause{Kind: HostUnavailable}, WholeJob); d.Restart {
		t.Error("worker that can have no host: restarted without a restart left")
	}
	unlimited := NewRestarts(settings(t, nil), 1)
	if d := unlimited.Decide(start, Cause{Kind: TaskFailed, Failure: msg.Failure{Permanent: true}}, 0); d.Restart || d.Exhausted != "" {
		t.Errorf("permanent failure: got %+v", d)
	}
}

// TestAJobThatLosesItsWorkersEnds would catch a job that exceeds the memory of its containers, gets
// new ones, and repeats this for ever.
func TestAJobThatLosesItsWorkersEnds(t *testing.T) {
	t.Parallel()
	r := NewRestarts(settings(t, nil), 1)
	lost := Cause{Kind: WorkerLost}
	now := start
	for i := range maxLosses {
		now = now.Add(59 * time.Minute)
		if d := r.Decide(now, lost, 7); !d.Restart {
			t.Fatalf("loss %d of a worker: got %+v, want a restart", i+1, d)
		}
	}
	if d := r.Decide(now, lost, 7); d.Restart || d.Exhausted != "all 10 restarts for lost workers are used up" {
		t.Errorf("loss %d: got %+v, want the end of the job", maxLosses+1, d)
	}
	if d := r.Decide(now, lost, 8); !d.Restart {
		t.Errorf("another region: got %+v, want a restart", d)
	}
	if d := r.Decide(now, Cause{Kind: TaskFailed}, 7); !d.Restart {
		t.Errorf("failure of a task: got %+v, want a restart by the strategy", d)
	}
	if d := r.Decide(now.Add(time.Hour), lost, 7); !d.Restart {
		t.Errorf("an hour after the last loss: got %+v, want a restart", d)
	}
}

func TestEachRegionRestartsAtOnceTheFirstTime(t *testing.T) {
	t.Parallel()
	r := NewRestarts(settings(t, nil), 1)
	for i, want := range []struct {
		region int
		delay  time.Duration
	}{{0, 0}, {1, 0}, {0, time.Second}} {
		if d := r.Decide(start, Cause{Kind: TaskFailed}, want.region); d.Delay != want.delay {
			t.Errorf("failure %d, of region %d: delay %s, want %s", i, want.region, d.Delay, want.delay)
		}
	}
}

// TestRootCause would catch a broken connection that hides why it broke.
func TestRootCause(t *testing.T) {
	t.Parallel()
	cause := func(text string, peer ids.HostID, after time.Duration) Cause {
		return Cause{Time: start.Add(after), Failure: msg.Failure{Message: text, PeerLost: peer}}
	}
	blame, second := cause("reset", "h1", 0), cause("reset too", "h2", time.Millisecond)
	panicked, later := cause("boom", "", 500*time.Millisecond), cause("later", "", 600*time.Millisecond)
	for name, test := range map[string]struct {
		causes  []Cause
		after   time.Duration
		want    string // "" while it is unknown
		suspect ids.HostID
	}{
		"a failure that blames nobody is the cause at once": {[]Cause{panicked}, 0, "boom", ""},
		"one that blames a peer has to wait":                {[]Cause{blame, second}, 999 * time.Millisecond, "", "h1"},
		"after a second the first of them is believed":      {[]Cause{blame, second}, time.Second, "reset", "h1"},
		"a cause that comes meanwhile wins":                 {[]Cause{blame, panicked, later}, 0, "boom", ""},
		"what follows the cause does not matter":            {[]Cause{panicked, blame, later}, 2 * time.Second, "boom", ""},
		"nothing has happened":                              {nil, time.Hour, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var i Incident
			for _, c := range test.causes {
				i.Add(c)
			}
			root, known := i.Root(start.Add(test.after))
			if root.Failure.Message != test.want || known != (test.want != "") {
				t.Errorf("root cause %q (%t), want %q", root.Failure.Message, known, test.want)
			}
			if got, since := i.Suspect(); got != test.suspect || got != "" && !since.Equal(start) {
				t.Errorf("suspect %q since %s, want %q since %s", got, since, test.suspect, start)
			}
		})
	}
}
