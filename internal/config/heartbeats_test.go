package config

import (
	"testing"
	"time"
)

// TestTheOptionsSayWhenAMachineIsLost would catch another time than heartbeat.rpc-failure-threshold
// times heartbeat.interval, and any time at all if only heartbeat.timeout is to count.
func TestTheOptionsSayWhenAMachineIsLost(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		interval, threshold string
		want                time.Duration // 0: never
	}{
		{"", "", 20 * time.Second},
		{"1s", "", 2 * time.Second},
		{"", "5", 50 * time.Second},
		{"", "0", 0},
		{"", "-1", 0},
	} {
		values := make(map[string]string)
		for key, value := range map[string]string{HeartbeatInterval.Name(): test.interval, HeartbeatFailureThreshold.Name(): test.threshold} {
			if value != "" {
				values[key] = value
			}
		}
		c, err := New(Layer{Source: "test", Values: values})
		if err != nil {
			t.Fatal(err)
		}
		if got := Unreachable(c); got != test.want {
			t.Errorf("%v: %s, want %s", values, got, test.want)
		}
	}
}
