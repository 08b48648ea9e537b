package config

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestValuesAreWithinTheirRanges would catch a value with which a process starts and then spins,
// never waits or ends itself, and a refused value that Flink accepts.
func TestValuesAreWithinTheirRanges(t *testing.T) {
	t.Parallel()
	for option, says := range map[string]string{
		"resourcemanager.start-worker.max-failure-rate=0.5":              "",
		"resourcemanager.start-worker.max-failure-rate=0":                "0 is out of range, want more than 0",
		"resourcemanager.start-worker.max-failure-rate=-1":               "-1 is out of range, want more than 0",
		"resourcemanager.start-worker.max-failure-rate=NaN":              `"NaN" is not a number`,
		"resourcemanager.taskmanager-timeout=0":                          "",
		"heartbeat.interval=0 s":                                         "0 s is out of range, want more than 0",
		"heartbeat.timeout=0":                                            "0 is out of range",
		"slot.request.timeout=0":                                         "0 is out of range",
		"slot.idle.timeout=0":                                            "0 is out of range",
		"cluster.registration.initial-timeout=0":                         "0 is out of range",
		"taskmanager.registration.timeout=0":                             "0 is out of range",
		"taskmanager.slot.timeout=0":                                     "0 is out of range",
		"client.timeout=0":                                               "0 is out of range",
		"yarn.heartbeat.interval=0":                                      "0 is out of range",
		"restart-strategy.fixed-delay.attempts=0":                        "",
		"restart-strategy.fixed-delay.attempts=-1":                       "-1 is out of range, want at least 0",
		"restart-strategy.fixed-delay.delay=0":                           "",
		"restart-strategy.exponential-delay.jitter-factor=1":             "",
		"restart-strategy.exponential-delay.jitter-factor=1.1":           "1.1 is out of range, want at least 0 and at most 1",
		"restart-strategy.exponential-delay.backoff-multiplier=0.9":      "0.9 is out of range, want at least 1",
		"taskmanager.memory.managed.fraction=1":                          "",
		"taskmanager.memory.managed.fraction=-0.1":                       "-0.1 is out of range",
		"security.delegation.tokens.renewal.time-ratio=1":                "1 is out of range, want more than 0 and less than 1",
		"taskmanager.numberOfTaskSlots=0":                                "0 is out of range, want at least 1",
		"yarn.file-replication=-2":                                       "-2 is out of range, want at least -1",
		"yarn.application-attempt-failures-validity-interval=2147483648": "is not a whole number",
	} {
		name, value, _ := strings.Cut(option, "=")
		_, err := New(layer("-D", name, value))
		if (err == nil) != (says == "") || err != nil && (!errors.Is(err, ErrInvalid) || !strings.HasPrefix(err.Error(), "-D: option "+name+": ") || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", option, err, says)
		}
	}
}

// TestContradictionsAreAllTold would catch a contradiction that only a container refuses, after the
// upload of the program, and a message that does not name the source of a value.
func TestContradictionsAreAllTold(t *testing.T) {
	t.Parallel()
	if err := Validate(Config{}); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	c := mustNew(t,
		layer("conf/bobbin.yaml", "heartbeat.timeout", "10000", "taskmanager.memory.network.min", "2g"),
		layer("-D", "client.heartbeat.timeout", "30 s", "cluster.registration.initial-timeout", "1 min", "yarn.heartbeat.interval", "90 ms"),
		layer("-s", "taskmanager.numberOfTaskSlots", "4", "taskmanager.memory.network.max", "1g"), layer("-D", "slotmanager.number-of-slots.max", "3"))
	err := Validate(c)
	want := []string{
		"option heartbeat.interval: 10 s (default) is not less than heartbeat.timeout, 10000 (conf/bobbin.yaml), lower heartbeat.interval or raise heartbeat.timeout: invalid configuration",
		"option client.heartbeat.interval: 30 s (default) is not less than client.heartbeat.timeout, 30 s (-D), lower",
		"option yarn.heartbeat.container-request-interval: 100 ms (default) is more than yarn.heartbeat.interval, 90 ms (-D), lower",
		"option cluster.registration.initial-timeout: 1 min (-D) is more than cluster.registration.max-timeout, 30 s (default), lower",
		"option taskmanager.numberOfTaskSlots: 4 (-s) is more than slotmanager.number-of-slots.max, 3 (-D), lower",
		"option taskmanager.memory.network.min: 2g (conf/bobbin.yaml) is more than taskmanager.memory.network.max, 1g (-s), lower",
	}
	if err == nil || !errors.Is(err, ErrInvalid) {
		t.Fatalf("got error %v, want ErrInvalid", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got %d faults, want %d:\n%v", len(lines), len(want), err)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("got  %s\nwant %s", line, want[i])
		}
	}
	if fault, is := errors.AsType[*Fault](err); !is || fault.Remedy != "lower heartbeat.interval or raise heartbeat.timeout" {
		t.Errorf("the first fault is %+v", fault)
	}
}

// TestRelationsAreOfOneKind would catch a row that compares a duration with a number, or an option
// with itself.
func TestRelationsAreOfOneKind(t *testing.T) {
	t.Parallel()
	for _, r := range relations {
		if r.lesser == r.greater || r.lesser.kind() != r.greater.kind() || r.lesser.kind() == "text" {
			t.Errorf("%+v", r)
		}
	}
}

// TestRolesCheckByTheSameTable would catch a role that accepts a value which the client refuses, or
// the reverse.
func TestRolesCheckByTheSameTable(t *testing.T) {
	t.Parallel()
	draw := func(t *rapid.T, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, 4).Draw(t, name)) * time.Second
	}
	rapid.Check(t, func(t *rapid.T) {
		interval, timeout := draw(t, "interval"), draw(t, "timeout")
		rate := rapid.SampledFrom([]float64{-1, 0, 0.5, 1, math.MaxFloat64}).Draw(t, "rate")
		slots := rapid.IntRange(-1, 2).Draw(t, "slots")
		role := Check(HeartbeatInterval.Is(interval), HeartbeatTimeout.Is(timeout), StartWorkerMaxFailureRate.Is(rate), TaskSlots.Is(slots))
		c, client := New(layer("-D", "heartbeat.interval", HeartbeatInterval.Is(interval).text, "heartbeat.timeout", HeartbeatTimeout.Is(timeout).text,
			"resourcemanager.start-worker.max-failure-rate", StartWorkerMaxFailureRate.Is(rate).text, "taskmanager.numberOfTaskSlots", TaskSlots.Is(slots).text))
		if client == nil {
			client = Validate(c)
		}
		if (role == nil) != (client == nil) || role != nil && !errors.Is(role, ErrInvalid) {
			t.Errorf("the role says %v, the client %v", role, client)
		}
	})
	if err := Check(HeartbeatTimeout.Is(time.Second)); err != nil { // options that are not given are not compared
		t.Errorf("one end of a relation alone: %v", err)
	}
}
