package appmaster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/archive"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Component connects the roles of a cluster: ResourceManager, Dispatcher, and a JobMaster for each job
// (Flink's DispatcherResourceManagerComponent). The ApplicationMaster runs a Component over YARN, the
// minicluster runs one over goroutines. Make it with NewComponent and run it once with Run.
type Component struct {
	ResourceManager *resourcemanager.ResourceManager
	Dispatcher      *dispatcher.Dispatcher
	// Mux passes the streams of TaskExecutors to their roles.
	Mux *rolerpc.Mux

	config  config.Config
	outputs *outputs
	one     launch.WorkerSize // of default slots
	limits  func() launch.Limits
	entropy ids.Source
	store   ha.JobStore // nil: nothing outlives the cluster
	recover func(context.Context, *dispatcher.Submission) error
	ended   func(dispatcher.Submission)
	epoch   ids.Epoch
	logger  logrus.FieldLogger
}

// ComponentConfig describes a cluster.
type ComponentConfig struct {
	// Epoch is that of the grants of leadership.
	Epoch ids.Epoch
	// Standby makes a ResourceManager that orders and grants nothing until its Lead.
	Standby bool
	Config  config.Config
	Worker  resourcemanager.WorkerResourceSpec
	Mode    dispatcher.Mode
	// JobMemory is the part of this process' memory that all jobs together may take, in bytes: see
	// dispatcher.Config. 0: no bound, for a process that belongs to its user.
	JobMemory int64
	// Files is the file system that jobs write to. If a job ends without a result, the Component removes
	// its unfinished output there before it reports the end. If Files is nil, the output stays. The output of
	// jobs that end with their cluster stays until DiscardOutputs.
	Files filesystem.FileSystem
	// Largest gives YARN's largest container, or zero while that is not known. It must not block. nil: workers are
	// not YARN's.
	Largest func() records.Resource
	// Store is what outlives the cluster's leader. nil: nothing does.
	Store ha.Store
	// Confirm looks whether this process leads, as ha.Election does. nil: it does.
	Confirm func(context.Context) error
	// Entropy makes ids, fencing tokens and seeds.
	Entropy ids.Source
	// JobRecovered is called for a job of an earlier leader, before it runs. If it fails, so does the job. It may be nil.
	JobRecovered func(context.Context, *dispatcher.Submission) error
	// JobEnded is called once for each job that the Dispatcher has accepted, when nothing of the job runs
	// any more. It must not block. It may be nil.
	JobEnded func(dispatcher.Submission)
	// Archive archives jobs for history servers. nil: nothing does.
	Archive *archive.Archive
}

// jobMasterTarget is the prefix of the names of streams to JobMasters.
const jobMasterTarget = "jobmaster/"

// NewComponent makes and connects the roles. Workers come from the provider.
func NewComponent(c ComponentConfig, provider resourcemanager.WorkerProvider, logger logrus.FieldLogger) (*Component, error) {
	rm, err := newResourceManager(c, provider, logger)
	if err != nil {
		return nil, err
	}
	return connect(c, rm, new(rolerpc.Mux), logger)
}

// newResourceManager makes the role that gets workers from the provider.
func newResourceManager(c ComponentConfig, provider resourcemanager.WorkerProvider, logger logrus.FieldLogger) (*resourcemanager.ResourceManager, error) {
	grant := resourcemanager.Configured(c.Config)
	grant.ResourceManager, grant.IDs = ids.NewResourceManagerID(c.Epoch, c.Entropy.Random()), c.Entropy.Random()
	grant.Worker, grant.SlotMemory = c.Worker, c.Worker.Memory.Slot()
	grant.Sizes = memory.SizesOf(c.Config, c.Worker.Memory)
	grant.Standby = c.Standby
	return resourcemanager.New(grant, provider, logger)
}

// connect makes the other roles, and connects them with a ResourceManager. Streams come through the Mux.
func connect(c ComponentConfig, rm *resourcemanager.ResourceManager, mux *rolerpc.Mux, logger logrus.FieldLogger) (*Component, error) {
	limits, err := limitsOf(c)
	if err != nil {
		return nil, err
	}
	component := &Component{
		ResourceManager: rm, Mux: mux,
		config: c.Config, outputs: newOutputs(c, logger),
		one:    launch.WorkerSize{Memory: c.Worker.Memory, VCores: c.Worker.VCores, External: c.Worker.External},
		limits: limits, entropy: c.Entropy, recover: c.JobRecovered, ended: c.JobEnded, epoch: c.Epoch, logger: logger,
	}
	if component.recover == nil {
		component.recover = func(context.Context, *dispatcher.Submission) error { return nil }
	}
	if component.ended == nil {
		component.ended = func(dispatcher.Submission) {}
	}
	jobs := dispatcher.Configured(c.Config)
	jobs.Mode, jobs.IDs, jobs.Memory = c.Mode, c.Entropy.Random(), c.JobMemory
	jobs.Epoch, jobs.Archives = c.Epoch, c.Archive != nil
	var store dispatcher.Store
	if c.Store != nil {
		store, component.store = c.Store, c.Store
	}
	component.Dispatcher = dispatcher.New(jobs, store, component.jobMaster, component.outputs.end, logger)
	if c.Archive != nil {
		component.Dispatcher.ArchiveBy(c.Archive.Ended)
	}
	component.Mux.Handle(resourcemanager.Target, rm.Accept)
	component.Mux.Handle(jobMasterTarget, component.acceptAtJobMaster)
	return component, nil
}

// Run runs all roles until ctx ends, and returns its cause, or until a role fails, and returns its error.
// It waits for all roles.
func (c *Component) Run(ctx context.Context) error {
	group, ctx := sched.WithErrors(ctx)
	group.Go(func() error { return c.ResourceManager.Run(ctx) })
	group.Go(func() error { return c.Dispatcher.Run(ctx) })
	return group.Wait()
}

// Recover takes over what earlier leaders of the cluster have left. Call it before Run, and before any job is submitted. All
// its jobs may have written. Those that do not run again leave nothing, too.
func (c *Component) Recover(ctx context.Context, r dispatcher.Recovered) error {
	c.outputs.recover(r.Jobs)
	c.outputs.recover(r.Leftovers)
	return c.Dispatcher.Recover(ctx, r)
}

// DiscardOutputs removes the unfinished output of jobs that end with their cluster. It takes
// cluster.services.shutdown-timeout at most. It must not be called before YARN has recorded the cluster's
// end: until then the next attempt may run these jobs.
func (c *Component) DiscardOutputs(ctx context.Context) { c.outputs.discardAll(ctx) }

// limitsOf returns what limits the workers of jobs.
func limitsOf(c ComponentConfig) (func() launch.Limits, error) {
	limits := launch.Limits{Ceiling: config.MaxWorkers(c.Config)}
	if c.Largest == nil {
		return func() launch.Limits { return limits }, nil
	}
	var err error
	if limits.Place, err = launch.PlaceOf(c.Config); err != nil {
		return nil, err
	}
	return func() launch.Limits {
		now := limits
		now.Largest = c.Largest()
		return now
	}, nil
}

// Submit submits a job to the Dispatcher, which does not list the job after an error. If the job's options contradict
// those of the cluster, or its slots exceed the ceiling of the cluster, the error wraps config.ErrInvalid. If its
// slots exceed YARN's largest container, the error wraps launch.ErrResources. An accepted job exceeds neither, also if
// YARN's largest node has gone since.
func (c *Component) Submit(ctx context.Context, s dispatcher.Submission) error {
	if _, err := jobmaster.Configured(c.config, s.Graph); err != nil {
		return err
	}
	if err := s.Graph.Validate(); err != nil { // before its groups are read
		return fmt.Errorf("submit job %s: %w", s.Job, err)
	}
	s.Unfit = c.limits().Check(launch.WorkersOf(c.config, c.one, s.Graph))
	return c.Dispatcher.Submit(ctx, s)
}

// jobMaster makes the JobMaster of a job. It may be called from several goroutines. It opens the outputs first, so the job
// is INITIALIZING while HDFS does not answer.
func (c *Component) jobMaster(ctx context.Context, start dispatcher.StartJobMaster) (_ dispatcher.JobMaster, err error) {
	s := start.Submission
	if start.Recovered != nil {
		if err := c.recover(ctx, &s); err != nil {
			return nil, fmt.Errorf("recover job %s: %w", s.Job, err)
		}
	}
	defer func() {
		if err != nil {
			c.ended(s)
		}
	}()
	settings, err := jobmaster.Configured(c.config, s.Graph)
	if err != nil {
		return nil, err
	}
	settings.Job, settings.JobMaster, settings.Program = s.Job, start.JobMaster, s.Program
	settings.ResultBytes, settings.KeepRead, settings.Submitted = start.ResultBytes, start.KeepRead, start.Submitted
	settings.Seed = c.entropy.Seed()
	settings.Epoch, settings.TakenOver = c.epoch, start.Resumed
	if settings.Recovered, err = commitrecord.DecodeAll(start.Recovered); err != nil {
		return nil, err
	}
	if !start.Cancelled { // otherwise it runs no task
		if err := c.outputs.open(ctx, s.Job, s.Graph, !start.Resumed.IsZero(), settings.Recovered); err != nil {
			return nil, err
		}
	}
	link := &resourceManagerLink{rm: c.ResourceManager}
	master, err := jobmaster.New(settings, link, commitsOf{c.store, s.Job}, c.logger) //nolint:contextcheck // a new loop has room for its first event
	if err != nil {
		return nil, err
	}
	link.master = master
	return runningJobMaster{master, c, s}, nil
}

// commitsOf keeps the commit records of a job.
type commitsOf struct {
	store ha.JobStore // nil: no later master continues the job
	job   ids.JobID
}

// AddCommit implements jobmaster.Commits.
func (c commitsOf) AddCommit(ctx context.Context, region int, record []byte) error {
	if c.store == nil {
		return nil
	}
	return c.store.AddCommit(ctx, c.job, region, record)
}

// FinishCommit implements jobmaster.Commits.
func (c commitsOf) FinishCommit(ctx context.Context, region int) error {
	if c.store == nil {
		return nil
	}
	return c.store.FinishCommit(ctx, c.job, region)
}

// runningJobMaster disconnects from the ResourceManager when it ends.
type runningJobMaster struct {
	*jobmaster.JobMaster
	component  *Component
	submission dispatcher.Submission
}

// Run runs the job to its end.
func (m runningJobMaster) Run(ctx context.Context) (msg.JobDetails, collect.Results, error) {
	defer m.component.ended(m.submission)
	details, results, err := m.JobMaster.Run(ctx)
	if errors.Is(err, ha.ErrSuperseded) { // the process ends, and tells nobody
		return details, results, err
	}
	if left := m.component.ResourceManager.DisconnectJobMaster(context.WithoutCancel(ctx), m.Job(), m.ID()); left != nil && !errors.Is(left, actor.ErrStopped) {
		err = errors.Join(err, left)
	}
	return details, results, err
}

// resourceManagerLink passes a JobMaster's messages to the ResourceManager.
type resourceManagerLink struct {
	rm     *resourcemanager.ResourceManager
	master *jobmaster.JobMaster
}

// Tell passes a message on.
func (l *resourceManagerLink) Tell(ctx context.Context, m msg.Message) error {
	switch m := m.(type) {
	case msg.RegisterJobMaster:
		return l.rm.RegisterJobMaster(ctx, m, l.master)
	case msg.DeclareRequirements:
		return l.rm.DeclareRequirements(ctx, m)
	case msg.BlockNodes:
		return l.rm.BlockNodes(ctx, m)
	default:
		return fmt.Errorf("tell resource manager: unexpected %s", msg.Kind(m))
	}
}

// acceptAtJobMaster connects a TaskExecutor's stream to the JobMaster that it names. While HDFS does not answer, the
// JobMaster of a recovered job is not made yet, and its workers are to keep their slots for it.
func (c *Component) acceptAtJobMaster(s *rolerpc.Stream) (rolerpc.Handler, error) {
	job := ids.JobID(strings.TrimPrefix(s.Target(), jobMasterTarget))
	starting := c.Dispatcher.Starting(job) // first: it may be made meanwhile
	found, running := c.Dispatcher.JobMaster(job)
	master, ours := found.(runningJobMaster)
	switch {
	case starting && !running:
		return nil, fmt.Errorf("job %s: %w", job, rolerpc.ErrNotReady)
	case !running, !ours:
		return nil, fmt.Errorf("job %s: %w", job, rolerpc.ErrUnknownTarget)
	}
	s.SetToken(string(master.ID()))
	s.SetShare(master.Tasks())
	return rolerpc.HandlerOf(master.Connect(s.Peer().Resource, s), msg.TaskExecutorToJobMaster), nil
}
