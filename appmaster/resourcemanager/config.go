package resourcemanager

import (
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Config is what a ResourceManager is told. Default gives Flink's values.
type Config struct {
	// ResourceManager is this grant of leadership's fencing token.
	ResourceManager ids.ResourceManagerID
	// IDs is a random prefix for the ids that the core makes (ids.Random).
	IDs string
	// Worker is what every worker looks like.
	Worker WorkerResourceSpec
	// SlotMemoryMB is the share of a worker's memory that a job gets with a slot.
	SlotMemoryMB int
	// MaxSlots is slotmanager.number-of-slots.max; 0: no limit.
	MaxSlots int
	// IdleTimeout is resourcemanager.taskmanager-timeout, 30 s.
	IdleTimeout time.Duration
	// RegistrationTimeout is resourcemanager.taskmanager-registration.timeout,
	// 5 min from the driver's word that a worker starts.
	RegistrationTimeout time.Duration
	// ReconnectTimeout is how long a worker may be without a connection, 2 s:
	// enough to dial again, and short enough that a job is not kept waiting.
	ReconnectTimeout time.Duration
	// MaxStartFailures is resourcemanager.start-worker.max-failure-rate: with
	// more failures within a minute, 10, new starts pause for StartRetryInterval,
	// resourcemanager.start-worker.retry-interval, 3 s. So they do when the driver has
	// brought a worker that serves nobody.
	MaxStartFailures   float64
	StartRetryInterval time.Duration
	// HeartbeatInterval and HeartbeatTimeout are heartbeat.interval, 10 s, and
	// heartbeat.timeout, 50 s.
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
}

// Default gives a Config with the default of every option; ids and sizes are the
// caller's to fill in.
func Default() Config {
	return Config{
		IdleTimeout:         30 * time.Second,
		RegistrationTimeout: 5 * time.Minute,
		ReconnectTimeout:    2 * time.Second,
		MaxStartFailures:    10,
		StartRetryInterval:  3 * time.Second,
		HeartbeatInterval:   10 * time.Second,
		HeartbeatTimeout:    50 * time.Second,
	}
}

// Validate reports everything that is wrong with a Config.
func (c Config) Validate() error {
	var faults []error
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	expect(c.ResourceManager != "", "no fencing token")
	expect(c.IDs != "", "no prefix for ids")
	expect(c.Worker.MemoryMB > 0, "worker memory is %d MB", c.Worker.MemoryMB)
	expect(c.Worker.VCores > 0, "worker vcores are %d", c.Worker.VCores)
	expect(c.MaxSlots >= 0, "slotmanager.number-of-slots.max is %d", c.MaxSlots)
	expect(c.ReconnectTimeout >= 0, "reconnect timeout is %v", c.ReconnectTimeout)
	faults = append(faults, config.Check(
		config.TaskSlots.Is(c.Worker.Slots),
		config.HeartbeatInterval.Is(c.HeartbeatInterval),
		config.HeartbeatTimeout.Is(c.HeartbeatTimeout),
		config.WorkerIdleTimeout.Is(c.IdleTimeout),
		config.WorkerRegistrationTimeout.Is(c.RegistrationTimeout),
		config.StartWorkerMaxFailureRate.Is(c.MaxStartFailures),
		config.StartWorkerRetryInterval.Is(c.StartRetryInterval),
	))
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("configure resource manager: %w", err)
	}
	return nil
}
