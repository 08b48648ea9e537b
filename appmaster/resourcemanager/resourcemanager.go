// Package resourcemanager is the role that gets workers and gives their slots to jobs. It owns the
// list of workers from their start to their end, the connections of TaskExecutors, and the
// requirements that JobMasters declare. A WorkerProvider gets its workers: from YARN, or as
// goroutines of its own process.
//
// Its core is pure and contains the SlotManager. ResourceManager is the loop around it. It owns
// three goroutines: the loop, one that sends orders to the provider, and one that runs the
// provider. The package must never import another role, nor YARN's protocols: only yarnworkers
// speaks these.
package resourcemanager

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// JobMasterGateway sends to one JobMaster: JobMasterRegistered,
// NotEnoughResources, TaskExecutorTerminated, PreviousWorkersReturned.
type JobMasterGateway interface {
	// Send queues a message and never blocks. False means that the JobMaster has
	// ended.
	Send(m msg.Message) bool
}

// ResourceManager runs the role. Make it with New, and call Run once. The other methods may be
// called from any goroutine, also before Run. After Run they return actor.ErrStopped.
type ResourceManager struct {
	token       ids.ResourceManagerID
	mostSlots   int
	loop        *actor.Loop[event, effect]
	provider    WorkerProvider
	logger      logrus.FieldLogger
	connections actor.Connections // of TaskExecutors

	mu         sync.Mutex // guards jobMasters
	jobMasters map[ids.JobMasterID]JobMasterGateway
}

// New makes a ResourceManager that gets its workers from the provider.
func New(config Config, provider WorkerProvider, logger logrus.FieldLogger) (*ResourceManager, error) {
	core, err := newCore(config)
	if err != nil {
		return nil, err
	}
	r := &ResourceManager{
		token:      config.ResourceManager,
		mostSlots:  max(config.Worker.Slots, config.Sizes.Fit(memory.Slot{}, config.Worker.Slots<<10).Slots),
		provider:   provider,
		logger:     logger.WithField("role", "resourcemanager"),
		jobMasters: make(map[ids.JobMasterID]JobMasterGateway),
	}
	r.loop = actor.New[event, effect](core, woken{})
	r.loop.Observe(r.logStep)
	return r, nil
}

// Run runs the role and its provider. It returns nil after Stop, the cause of ctx when ctx ends, or
// the error of a provider that cannot continue. After that error the process must end and leave
// workers and application as they are. Run waits for all goroutines that it started.
func (r *ResourceManager) Run(ctx context.Context) error { return r.loop.Run(ctx, r.start) }

func (r *ResourceManager) runProvider(ctx context.Context) {
	r.loop.Tell(ctx, woken{}) // orders the floor of workers at the start
	if err := r.provider.Run(ctx, r.report); err != nil && ctx.Err() == nil {
		r.loop.Fail(fmt.Errorf("run worker provider: %w", err))
	}
}

// Lead ends the standby. In standby the ResourceManager runs its provider, which registers the application, and notes the
// workers of earlier masters. It admits no worker, grants no slots and orders nothing. Status and Shutdown work.
func (r *ResourceManager) Lead(ctx context.Context) error { return r.loop.Post(ctx, leading{}) }

// Stop ends Run and changes nothing outside: workers continue, and the application stays
// registered. See Shutdown for an orderly end.
func (r *ResourceManager) Stop() { r.loop.Stop() }

// Shutdown releases all workers and deregisters the application with its final status and
// diagnostics. Run continues until Stop. A second call waits for the end of the first one, and
// returns its error.
func (r *ResourceManager) Shutdown(ctx context.Context, status msg.ApplicationStatus, diagnostics string) error {
	err, asking := actor.Ask(ctx, r.loop, func(q actor.Question[error]) event {
		return shutdownAsked{Status: status, Diagnostics: diagnostics, Question: q}
	})
	if asking != nil {
		return fmt.Errorf("shut down resource manager: %w", asking)
	}
	return err
}

// Status describes the workers, for users.
func (r *ResourceManager) Status(ctx context.Context) (Status, error) {
	return actor.Ask(ctx, r.loop, func(q actor.Question[Status]) event { return statusAsked{q} })
}

// Supply returns the slots that jobs have, and those that they wait for.
func (r *ResourceManager) Supply(ctx context.Context) (msg.SlotSupply, error) {
	return actor.Ask(ctx, r.loop, func(q actor.Question[msg.SlotSupply]) event { return supplyAsked{q} })
}

// TaskExecutor describes one registered worker, with its Jobs. Error: msg.ErrWorkerNotFound.
func (r *ResourceManager) TaskExecutor(ctx context.Context, worker ids.ResourceID) (msg.TaskExecutorDetails, error) {
	d, err := actor.Ask(ctx, r.loop, func(q actor.Question[msg.TaskExecutorDetails]) event {
		return detailsAsked{Worker: worker, Question: q}
	})
	if err == nil && d.Resource == "" {
		err = fmt.Errorf("%w: %.200s", msg.ErrWorkerNotFound, worker)
	}
	return d, err
}

// Granted tells when the first container came for a job that lacked slots; zero: none has come, or the job is one of many
// and ended long ago.
func (r *ResourceManager) Granted(ctx context.Context, job ids.JobID) (time.Time, error) {
	return actor.Ask(ctx, r.loop, func(q actor.Question[time.Time]) event { return grantAsked{Job: job, Question: q} })
}

// Inquire asks a worker's process about itself, or one of its task hosts if host is not "". It answers within
// ten seconds. Errors: msg.ErrWorkerNotFound, msg.ErrWorkerSilent, msg.ErrTooManyInquiries, msg.ErrBadInquiry, and those
// of msg.InquiryAnswer.
func (r *ResourceManager) Inquire(ctx context.Context, worker ids.ResourceID, host ids.HostID, about msg.Inquiry) (msg.InquiryAnswer, error) {
	result, err := actor.Ask(ctx, r.loop, func(q actor.Question[inquiryResult]) event {
		return inquiryAsked{Worker: worker, Host: host, Inquiry: about, Question: q}
	})
	return result.Answer, cmp.Or(err, result.Err, result.Answer.Err())
}

// RegisterJobMaster registers the JobMaster of a job. The answer, JobMasterRegistered, comes
// through the gateway.
func (r *ResourceManager) RegisterJobMaster(ctx context.Context, m msg.RegisterJobMaster, gateway JobMasterGateway) error {
	r.mu.Lock()
	r.jobMasters[m.JobMaster] = gateway
	r.mu.Unlock()
	return r.loop.Post(ctx, jobMasterRegistering{Registration: m})
}

// DeclareRequirements sets the number of slots that a job needs in all.
func (r *ResourceManager) DeclareRequirements(ctx context.Context, m msg.DeclareRequirements) error {
	return r.loop.Post(ctx, requirementsDeclared{Declaration: m})
}

// BlockNodes sets the whole list of nodes from which a job wants no slots.
func (r *ResourceManager) BlockNodes(ctx context.Context, m msg.BlockNodes) error {
	return r.loop.Post(ctx, nodesBlocked{Message: m})
}

// UpdateTokens sends new tokens (creds.Credentials.Marshal) to every TaskExecutor, also to those
// that register later.
func (r *ResourceManager) UpdateTokens(ctx context.Context, tokens msg.Secret) error {
	return r.loop.Post(ctx, tokensUpdated{Tokens: tokens})
}

// DisconnectJobMaster says that a JobMaster has ended: its job needs no more slots. Slots that it
// has not freed stay occupied until their workers free them.
func (r *ResourceManager) DisconnectJobMaster(ctx context.Context, job ids.JobID, jobMaster ids.JobMasterID) error {
	return r.loop.Post(ctx, jobMasterGone{Job: job, JobMaster: jobMaster})
}

func (r *ResourceManager) report(ctx context.Context, events ...WorkerEvent) error {
	return r.loop.Post(ctx, workersReported{Events: events})
}
