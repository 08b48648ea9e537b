package taskexecutor

import (
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Config describes a TaskExecutor's core.
type Config struct {
	Resource ids.ResourceID // the container
	Node     string         // the node's name as YARN knows it
	PID      int            // for users
	Slots    int
	Memory   memory.Worker // of the container; Process 0: nothing limits it
	VCores   int
	// External are the external resources of the container, and Profile is that of its slots.
	External msg.ExternalResources
	Profile  msg.ResourceProfile
	// Hardware describes the machine, for users.
	Hardware msg.Hardware
	// MetricsPort is where this worker shows its metrics; 0: nowhere.
	MetricsPort int
	// PartitionDisks is the number of disks on which each task host writes its blocking partitions; 0: hosts write none.
	// PartitionAddress is where this worker serves them, host:port. New sets both by Environment.Partitions.
	PartitionDisks   int
	PartitionAddress string
	// Programs maps the SHA-256 (lower-case hex) of the programs that were localized with the
	// container to their files. Other programs are fetched (Environment.Artifacts).
	Programs map[string]string
	// Tokens are the delegation tokens of the launch (creds.Credentials.Marshal); nil: none. Hosts
	// use them for HDFS, and this worker fetches artifacts with them.
	Tokens msg.Secret
	// Address is where the master that has started the worker accepts streams, for Environment.Roles.
	Address string
	// GiveUp is how long a worker that was admitted once looks for the leader of its application after the loss of the
	// ResourceManager. 0: no other leader comes (high-availability.type), and RegistrationTimeout counts.
	GiveUp time.Duration
	// Seed is for the jitter of the looks.
	Seed uint64
	Options
}

// Options are the parts of Config that users set.
type Options struct {
	// RegistrationInitial is cluster.registration.initial-timeout, 100 ms: the
	// first pause between attempts to reach a role. It doubles up to
	// RegistrationMax, cluster.registration.max-timeout, 30 s.
	RegistrationInitial, RegistrationMax time.Duration
	// RegistrationTimeout is taskmanager.registration.timeout, 5 min: after this time without a
	// ResourceManager, the TaskExecutor ends itself. See also Config.GiveUp.
	RegistrationTimeout time.Duration
	// SlotTimeout is taskmanager.slot.timeout, 10 s: a slot that its JobMaster does not accept in
	// this time becomes free again. While the JobMaster is silent, heartbeat.timeout decides
	// instead. While there is neither a JobMaster nor a ResourceManager, the slot is kept.
	SlotTimeout time.Duration
	// FetchRetries is blob.fetch.retries, 1: so often a failed fetch of a program or a cached file is repeated. After
	// that the jobs that wait for it cannot have a host here.
	FetchRetries int
}

// OptionsFrom reads the Options from a configuration.
func OptionsFrom(c config.Config) Options {
	return Options{
		RegistrationInitial: c.Duration(config.RegistrationInitialTimeout),
		RegistrationMax:     c.Duration(config.RegistrationMaxTimeout),
		RegistrationTimeout: c.Duration(config.TaskManagerRegistrationTimeout),
		SlotTimeout:         c.Duration(config.TaskManagerSlotTimeout),
		FetchRetries:        c.Int(config.FetchRetries),
	}
}

// resources are the external resources of each slot. A default slot shares those of the container with
// the other slots, as in Flink.
func (c Config) resources() msg.ExternalResources {
	if c.Profile.IsDefault() {
		return c.External
	}
	return c.Profile.External
}

// Validate reports everything that is wrong with a Config.
func (c Config) Validate() error {
	var faults []error
	if c.Resource == "" {
		faults = append(faults, errors.New("resource id is missing"))
	}
	faults = append(faults, config.Check(
		config.TaskSlots.Is(c.Slots),
		config.RegistrationInitialTimeout.Is(c.RegistrationInitial),
		config.RegistrationMaxTimeout.Is(c.RegistrationMax),
		config.TaskManagerRegistrationTimeout.Is(c.RegistrationTimeout),
		config.TaskManagerSlotTimeout.Is(c.SlotTimeout),
		config.FetchRetries.Is(c.FetchRetries),
	))
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("configure task executor: %w", err)
	}
	return nil
}
