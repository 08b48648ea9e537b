package tokenmanager

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Config configures a Manager.
type Config struct {
	// RenewalRatio is security.delegation.tokens.renewal.time-ratio, 0.75: the Manager obtains new tokens
	// after this part of the remaining life of the current ones.
	RenewalRatio float64
	// RetryBackoff is security.delegation.tokens.renewal.retry.backoff, 1 h: the longest pause after a
	// failed attempt. If the tokens end soon, the pause is shorter.
	RetryBackoff time.Duration
	// RenewInterval is dfs.namenode.delegation.token.renew-interval. A token without a renewer ends after
	// the first interval.
	RenewInterval time.Duration
	// Principal is the principal of the provider's login, for logs.
	Principal string
}

// Configured returns a Config with what options decide. The caller sets Principal and RenewInterval.
func Configured(c config.Config) Config {
	return Config{
		RenewalRatio: c.Fraction(config.DelegationTokensRenewalRatio),
		RetryBackoff: c.Duration(config.DelegationTokensRetryBackoff),
	}
}

// Validate returns an error with everything that is wrong with a Config.
func (c Config) Validate() error {
	err := config.Check(config.DelegationTokensRenewalRatio.Is(c.RenewalRatio), config.DelegationTokensRetryBackoff.Is(c.RetryBackoff))
	if err != nil {
		return fmt.Errorf("configure token manager: %w", err)
	}
	return nil
}
