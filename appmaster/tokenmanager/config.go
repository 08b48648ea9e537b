package tokenmanager

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Config is what a Manager is told.
type Config struct {
	// RenewalRatio is security.delegation.tokens.renewal.time-ratio, 0.75: tokens are
	// obtained anew after this part of what is left of their life.
	RenewalRatio float64
	// RetryBackoff is security.delegation.tokens.renewal.retry.backoff, 1 h: the longest
	// pause after a try that has failed. Less is taken where the tokens end soon.
	RetryBackoff time.Duration
	// RenewInterval is dfs.namenode.delegation.token.renew-interval: tokens that nobody may
	// renew end with the first.
	RenewInterval time.Duration
	// Principal is who the provider logs in as, for logs.
	Principal string
}

// Configured gives a Config with what options decide; Principal and RenewInterval are the
// caller's to fill in.
func Configured(c config.Config) Config {
	return Config{
		RenewalRatio: c.Fraction(config.DelegationTokensRenewalRatio),
		RetryBackoff: c.Duration(config.DelegationTokensRetryBackoff),
	}
}

// Validate reports everything that is wrong with a Config.
func (c Config) Validate() error {
	err := config.Check(config.DelegationTokensRenewalRatio.Is(c.RenewalRatio), config.DelegationTokensRetryBackoff.Is(c.RetryBackoff))
	if err != nil {
		return fmt.Errorf("configure token manager: %w", err)
	}
	return nil
}
