package failover

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestOptionsReachTheStrategies would catch an option without an effect, and two options that are swapped.
func TestOptionsReachTheStrategies(t *testing.T) {
	t.Parallel()
	options, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"restart-strategy.type":                                            "failure-rate",
		"restart-strategy.fixed-delay.attempts":                            "4",
		"restart-strategy.fixed-delay.delay":                               "5 s",
		"restart-strategy.failure-rate.max-failures-per-interval":          "6",
		"restart-strategy.failure-rate.failure-rate-interval":              "7 min",
		"restart-strategy.failure-rate.delay":                              "8 s",
		"restart-strategy.exponential-delay.initial-backoff":               "9 s",
		"restart-strategy.exponential-delay.max-backoff":                   "10 min",
		"restart-strategy.exponential-delay.backoff-multiplier":            "1.25",
		"restart-strategy.exponential-delay.reset-backoff-threshold":       "11 min",
		"restart-strategy.exponential-delay.jitter-factor":                 "0.5",
		"restart-strategy.exponential-delay.attempts-before-reset-backoff": "12",
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Type:        FailureRate,
		FixedDelay:  FixedDelaySettings{Attempts: 4, Delay: 5 * time.Second},
		FailureRate: FailureRateSettings{MaxFailures: 6, Interval: 7 * time.Minute, Delay: 8 * time.Second},
		ExponentialDelay: ExponentialDelaySettings{
			Initial: 9 * time.Second, Max: 10 * time.Minute, Multiplier: 1.25,
			ResetThreshold: 11 * time.Minute, JitterFactor: 0.5, Attempts: 12,
		},
	}
	if got := Configured(options); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
