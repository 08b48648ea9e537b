package failover

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// The failover strategies, by the values of jobmanager.execution.failover-strategy.
const (
	RestartRegion = "region" // the region of the failed task restarts
	RestartAll    = "full"   // all tasks of the job restart, also those that have finished
)

// The restart strategies, by the values of restart-strategy.type.
const (
	None             = "none"
	FixedDelay       = "fixed-delay"
	FailureRate      = "failure-rate"
	ExponentialDelay = "exponential-delay"
)

// Settings are the options restart-strategy.*; Configured gives them their
// defaults.
type Settings struct {
	Type             string
	FixedDelay       FixedDelaySettings
	FailureRate      FailureRateSettings
	ExponentialDelay ExponentialDelaySettings
}

// FixedDelaySettings are restart-strategy.fixed-delay.*.
type FixedDelaySettings struct {
	Attempts int           // .attempts
	Delay    time.Duration // .delay; the first restart of a region has none
}

// FailureRateSettings are restart-strategy.failure-rate.*.
type FailureRateSettings struct {
	MaxFailures int           // .max-failures-per-interval
	Interval    time.Duration // .failure-rate-interval
	Delay       time.Duration // .delay
}

// ExponentialDelaySettings are restart-strategy.exponential-delay.*.
type ExponentialDelaySettings struct {
	Initial        time.Duration // .initial-backoff
	Max            time.Duration // .max-backoff
	Multiplier     float64       // .backoff-multiplier
	ResetThreshold time.Duration // .reset-backoff-threshold
	JitterFactor   float64       // .jitter-factor: part of the delay
	Attempts       int           // .attempts-before-reset-backoff
}

// Configured reads the settings from a configuration.
func Configured(c config.Config) Settings {
	return Settings{
		Type: c.String(config.RestartStrategy),
		FixedDelay: FixedDelaySettings{
			Attempts: c.Int(config.FixedDelayAttempts),
			Delay:    c.Duration(config.FixedDelayDelay),
		},
		FailureRate: FailureRateSettings{
			MaxFailures: c.Int(config.FailureRateMaxFailures),
			Interval:    c.Duration(config.FailureRateInterval),
			Delay:       c.Duration(config.FailureRateDelay),
		},
		ExponentialDelay: ExponentialDelaySettings{
			Initial:        c.Duration(config.ExponentialInitialBackoff),
			Max:            c.Duration(config.ExponentialMaxBackoff),
			Multiplier:     c.Fraction(config.ExponentialMultiplier),
			ResetThreshold: c.Duration(config.ExponentialResetThreshold),
			JitterFactor:   c.Fraction(config.ExponentialJitter),
			Attempts:       c.Int(config.ExponentialMaxAttempts),
		},
	}
}
