package resourcemanager

import (
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// Config describes a ResourceManager. Configured reads it from options.
type Config struct {
	// ResourceManager is the fencing token of this grant of leadership (ids.NewResourceManagerID). Workers of lower
	// epochs may return.
	ResourceManager ids.ResourceManagerID
	// Standby says that the ResourceManager begins in standby: see Lead. Otherwise it leads from its start, and expects
	// no workers of earlier masters.
	Standby bool
	// IDs is a random prefix for the ids that the core makes (ids.Random).
	IDs string
	// Worker describes the workers with default slots.
	Worker WorkerResourceSpec
	// SlotMemory is the share of a worker's memory that a job gets with a default slot.
	SlotMemory memory.Slot
	// Sizes gives the workers for slots of other profiles.
	Sizes memory.Sizes
	// Floor and Ceiling are the limits of slotmanager.* for the registered and the expected workers
	// together: number-of-slots.min and max, min-total-resource and max-total-resource.
	Floor, Ceiling config.WorkerTotals
	// Redundant is slotmanager.redundant-taskmanager-num.
	Redundant int
	// Spread says that taskmanager.load-balance.mode is SLOTS or TASKS.
	Spread bool
	// IdleTimeout is resourcemanager.taskmanager-timeout.
	IdleTimeout time.Duration
	// RegistrationTimeout is resourcemanager.taskmanager-registration.timeout, counted from the
	// WorkerStarting of the provider, and for workers of earlier masters from Lead.
	RegistrationTimeout time.Duration
	// RecoveryTimeout is resourcemanager.previous-worker.recovery.timeout, counted from Lead. In a large cluster the time
	// is longer, because workers look for their new master at a limited rate.
	RecoveryTimeout time.Duration
	// ReconnectTimeout is how long a worker may be without a connection, 2 s: enough to dial again,
	// and short enough that jobs do not wait long.
	ReconnectTimeout time.Duration
	// MaxStartFailures is resourcemanager.start-worker.max-failure-rate. After more failures within
	// a minute, the ResourceManager pauses new starts for StartRetryInterval,
	// resourcemanager.start-worker.retry-interval. It also pauses them after the provider has
	// started a worker that can serve no waiting job.
	MaxStartFailures   float64
	StartRetryInterval time.Duration
	// HeartbeatInterval and HeartbeatTimeout are heartbeat.interval and
	// heartbeat.timeout.
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
}

// Configured gives the part of a Config that options decide; the caller fills in ids and sizes.
func Configured(c config.Config) Config {
	return Config{
		Floor:               config.MinWorkers(c),
		Ceiling:             config.MaxWorkers(c),
		Redundant:           c.Int(config.RedundantWorkers),
		Spread:              config.LoadBalance(c) != config.BalanceNone,
		IdleTimeout:         c.Duration(config.WorkerIdleTimeout),
		RegistrationTimeout: c.Duration(config.WorkerRegistrationTimeout),
		RecoveryTimeout:     c.Duration(config.PreviousWorkerRecovery),
		ReconnectTimeout:    2 * time.Second,
		MaxStartFailures:    c.Fraction(config.StartWorkerMaxFailureRate),
		StartRetryInterval:  c.Duration(config.StartWorkerRetryInterval),
		HeartbeatInterval:   c.Duration(config.HeartbeatInterval),
		HeartbeatTimeout:    c.Duration(config.HeartbeatTimeout),
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
	expect(c.ResourceManager != "", "fencing token is missing")
	expect(c.IDs != "", "prefix for ids is missing")
	expect(c.Worker.MemoryMB > 0, "worker memory is %d MB, and must be above 0", c.Worker.MemoryMB)
	expect(c.Worker.VCores > 0, "worker has %d vcores, and needs at least 1", c.Worker.VCores)
	expect(c.ReconnectTimeout >= 0, "reconnect timeout is %v, and must not be negative", c.ReconnectTimeout)
	faults = append(faults, config.Check(
		config.TaskSlots.Is(c.Worker.Slots),
		config.SlotsMin.Is(c.Floor.Slots), config.SlotsMax.Is(c.Ceiling.Slots),
		config.MinTotalCPU.Is(c.Floor.Cores), config.MaxTotalCPU.Is(c.Ceiling.Cores),
		config.MinTotalMemory.Is(c.Floor.Memory), config.MaxTotalMemory.Is(c.Ceiling.Memory),
		config.RedundantWorkers.Is(c.Redundant),
		config.HeartbeatInterval.Is(c.HeartbeatInterval),
		config.HeartbeatTimeout.Is(c.HeartbeatTimeout),
		config.WorkerIdleTimeout.Is(c.IdleTimeout),
		config.WorkerRegistrationTimeout.Is(c.RegistrationTimeout),
		config.PreviousWorkerRecovery.Is(c.RecoveryTimeout),
		config.StartWorkerMaxFailureRate.Is(c.MaxStartFailures),
		config.StartWorkerRetryInterval.Is(c.StartRetryInterval),
	))
	err := errors.Join(faults...)
	if err == nil {
		err = config.CheckWorkers(c.Worker.totals(), c.Worker.Memory.SizedBy(), c.Floor, c.Ceiling)
	}
	if err != nil {
		return fmt.Errorf("configure resource manager: %w", err)
	}
	return nil
}
