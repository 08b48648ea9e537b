package yarnworkers

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// validate reports everything that is wrong with a Config.
func (c Config) validate() error {
	var missing error
	if c.ResourceManager == nil || c.NodeManagers == nil || c.Launch == nil {
		missing = errors.New("clients and Launch must be set")
	}
	err := errors.Join(missing, config.Check(
		config.YarnHeartbeatInterval.Is(c.Heartbeat),
		config.YarnContainerRequestInterval.Is(c.RequestInterval),
	))
	if err != nil {
		return fmt.Errorf("configure yarn provider: %w", err)
	}
	return nil
}
