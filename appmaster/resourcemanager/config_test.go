package resourcemanager

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestOptionsReachTheResourceManager would catch two options that are swapped.
func TestOptionsReachTheResourceManager(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"slotmanager.number-of-slots.min": "3", "slotmanager.min-total-resource.cpu": "4", "slotmanager.min-total-resource.memory": "5g",
		"slotmanager.number-of-slots.max": "30", "slotmanager.max-total-resource.cpu": "40", "slotmanager.max-total-resource.memory": "50g",
		"slotmanager.redundant-taskmanager-num": "2", "taskmanager.load-balance.mode": "SLOTS",
		"resourcemanager.taskmanager-timeout": "6 s", "resourcemanager.taskmanager-registration.timeout": "7 min",
		"resourcemanager.previous-worker.recovery.timeout": "12 s",
		"resourcemanager.start-worker.max-failure-rate":    "8.5", "resourcemanager.start-worker.retry-interval": "9 s",
		"heartbeat.interval": "10 ms", "heartbeat.timeout": "11 s",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Floor:     config.WorkerTotals{Slots: 3, Cores: 4, Memory: 5 * config.Gibibyte},
		Ceiling:   config.WorkerTotals{Slots: 30, Cores: 40, Memory: 50 * config.Gibibyte},
		Redundant: 2, Spread: true,
		IdleTimeout: 6 * time.Second, RegistrationTimeout: 7 * time.Minute, ReconnectTimeout: 2 * time.Second, RecoveryTimeout: 12 * time.Second,
		MaxStartFailures: 8.5, StartRetryInterval: 9 * time.Second,
		HeartbeatInterval: 10 * time.Millisecond, HeartbeatTimeout: 11 * time.Second,
	}
	if diff := cmp.Diff(want, Configured(options)); diff != "" {
		t.Errorf("configured (-want +got):\n%s", diff)
	}
}

// TestModesThatSpreadSlots would catch a mode of taskmanager.load-balance.mode that is read as another one.
func TestModesThatSpreadSlots(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		mode, evenly string
		want         bool
	}{
		{"NONE", "false", false},
		{"SLOTS", "false", true},
		{"TASKS", "false", true},
		{"", "true", true},
		{"NONE", "true", false},
	} {
		values := map[string]string{config.EvenlySpreadOutSlots.Name(): test.evenly}
		if test.mode != "" {
			values[config.LoadBalanceMode.Name()] = test.mode
		}
		c, err := config.New(config.Layer{Source: "test", Values: values})
		if err != nil {
			t.Fatal(err)
		}
		if got := Configured(c).Spread; got != test.want {
			t.Errorf("%v: spread is %v", values, got)
		}
	}
}
