// Package resourcemanager is the role that gets workers and gives their slots to
// jobs. It owns the list of workers from their start to their end, the
// connections of TaskExecutors, and the requirements that JobMasters declare; a
// WorkerProvider gets it workers from YARN, or from the process that it runs in.
//
// Its core is pure, with the SlotManager inside. ResourceManager is the loop around
// it, and owns three goroutines: the loop, one that hands orders to the provider, and
// the provider's own. The package must never import another role, nor YARN's
// protocols: only yarnworkers speaks them.
package resourcemanager

import (
	"context"
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// JobMasterGateway sends to one JobMaster: JobMasterRegistered,
// NotEnoughResources, TaskExecutorTerminated.
type JobMasterGateway interface {
	// Send queues a message and never blocks. False means that the JobMaster has
	// ended.
	Send(m msg.Message) bool
}

// ResourceManager is the role's running form. Make it with New, and run it once
// with Run; its other methods may be called from any goroutine, before Run too,
// and give actor.ErrStopped after it.
type ResourceManager struct {
	token       ids.ResourceManagerID
	workerSlots int
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
		token:       config.ResourceManager,
		workerSlots: config.Worker.Slots,
		provider:    provider,
		logger:      logger.WithField("role", "resourcemanager"),
		jobMasters:  make(map[ids.JobMasterID]JobMasterGateway),
	}
	r.loop = actor.New[event, effect](core, woken{})
	r.loop.Observe(r.logStep)
	return r, nil
}

// Run runs the role and its provider until Stop is called (nil), ctx ends (its
// cause) or the provider cannot go on (its error: the process has to end without
// touching anything). It waits for all that it started.
func (r *ResourceManager) Run(ctx context.Context) error { return r.loop.Run(ctx, r.start) }

func (r *ResourceManager) runProvider(ctx context.Context) {
	if err := r.provider.Run(ctx, r.report); err != nil && ctx.Err() == nil {
		r.loop.Fail(fmt.Errorf("run worker provider: %w", err))
	}
}

// Stop ends Run and touches nothing outside: workers go on, and the application
// stays registered. See Shutdown for an orderly end.
func (r *ResourceManager) Stop() { r.loop.Stop() }

// Shutdown releases all workers and deregisters the application with how it
// ended and why. Run goes on until Stop. A second call waits for the first one's
// end and gives its error.
func (r *ResourceManager) Shutdown(ctx context.Context, status msg.ApplicationStatus, diagnostics string) error {
	err, asking := actor.Ask(ctx, r.loop, func(q actor.Question[error]) event {
		return shutdownAsked{Status: status, Diagnostics: diagnostics, Question: q}
	})
	if asking != nil {
		return fmt.Errorf("shut down resource manager: %w", asking)
	}
	return err
}

// Status describes the workers, for people.
func (r *ResourceManager) Status(ctx context.Context) (Status, error) {
	return actor.Ask(ctx, r.loop, func(q actor.Question[Status]) event { return statusAsked{q} })
}

// RegisterJobMaster makes a job known. The answer, JobMasterRegistered, comes
// through the gateway.
func (r *ResourceManager) RegisterJobMaster(ctx context.Context, m msg.RegisterJobMaster, gateway JobMasterGateway) error {
	r.mu.Lock()
	r.jobMasters[m.JobMaster] = gateway
	r.mu.Unlock()
	return r.loop.Post(ctx, jobMasterRegistering{Registration: m})
}

// DeclareRequirements sets the total of slots that a job needs.
func (r *ResourceManager) DeclareRequirements(ctx context.Context, m msg.DeclareRequirements) error {
	return r.loop.Post(ctx, requirementsDeclared{Declaration: m})
}

// BlockNodes takes in from which nodes a job wants no slots: the whole list.
func (r *ResourceManager) BlockNodes(ctx context.Context, m msg.BlockNodes) error {
	return r.loop.Post(ctx, nodesBlocked{Message: m})
}

// UpdateTokens has every TaskExecutor use these tokens (creds.Credentials.Marshal) from now
// on, those too that register later.
func (r *ResourceManager) UpdateTokens(ctx context.Context, tokens msg.Secret) error {
	return r.loop.Post(ctx, tokensUpdated{Tokens: tokens})
}

// DisconnectJobMaster says that a JobMaster has ended: its job needs nothing any
// more. Slots that it has not freed stay taken until their workers free them.
func (r *ResourceManager) DisconnectJobMaster(ctx context.Context, job ids.JobID, jobMaster ids.JobMasterID) error {
	return r.loop.Post(ctx, jobMasterGone{Job: job, JobMaster: jobMaster})
}

func (r *ResourceManager) report(ctx context.Context, events ...WorkerEvent) error {
	return r.loop.Post(ctx, workersReported{Events: events})
}
