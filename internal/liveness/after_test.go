package liveness

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
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
		for key, value := range map[string]string{config.HeartbeatInterval.Name(): test.interval, config.HeartbeatFailureThreshold.Name(): test.threshold} {
			if value != "" {
				values[key] = value
			}
		}
		c, err := config.New(config.Layer{Source: "test", Values: values})
		if err != nil {
			t.Fatal(err)
		}
		if got := After(c.Duration(config.HeartbeatInterval), c.Int(config.HeartbeatFailureThreshold)); got != test.want {
			t.Errorf("%v: %s, want %s", values, got, test.want)
		}
	}
}
