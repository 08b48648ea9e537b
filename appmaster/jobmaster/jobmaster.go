// Package jobmaster is the role that runs one job: it makes an ExecutionGraph of the JobGraph, gets
// slots for it, deploys its tasks, gives splits to them, takes the records that they collect, and
// restarts regions that fail. It owns the job's state and the connections of TaskExecutors that
// work for it.
//
// Its core is pure; executiongraph, slotpool and failover hold its parts. JobMaster is the loop
// around it, and owns three goroutines: the loop, one that sends messages to the ResourceManager,
// and one that passes the ResourceManager's messages to the loop. The package must never import
// another role.
package jobmaster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// ResourceManagerGateway sends messages to the ResourceManager.
type ResourceManagerGateway interface {
	// Tell sends RegisterJobMaster, DeclareRequirements or BlockNodes, and may block. The
	// ResourceManager answers through JobMaster.Send.
	Tell(ctx context.Context, m msg.Message) error
}

// Commits stores the commit records of one job: an ha.JobStore for this job.
type Commits interface {
	// AddCommit stores what a region commits: see package commitrecord. It may take long while storage does not answer,
	// and may be called for several regions at the same time. ha.ErrSuperseded says that another master leads.
	AddCommit(ctx context.Context, region int, record []byte) error
	// FinishCommit stores that a region with a commit record has committed. Otherwise it is as AddCommit.
	FinishCommit(ctx context.Context, region int) error
}

// JobMaster runs the role. Make it with New, and call Run once. The other methods may be called
// from any goroutine, also before Run. After Run they return actor.ErrStopped. Only Details,
// Overview and VertexSubtasks still answer then, if the job has ended and was not suspended.
type JobMaster struct {
	config          Config
	loop            *actor.Loop[event, effect]
	resourceManager ResourceManagerGateway
	commits         Commits
	logger          logrus.FieldLogger
	fromRM          *actor.Outbox[msg.Message] // from Send to the goroutine that passes messages to the loop
	ended           *ended                     // set by the loop before it ends

	connections actor.Connections // of TaskExecutors

	mu      sync.Mutex               // guards changed
	changed map[string]chan struct{} // by the name of a result; closed when the result changes
}

// New makes the JobMaster of a job, which it schedules once it runs. commits may be nil for a job that commits
// nothing.
func New(config Config, rm ResourceManagerGateway, commits Commits, logger logrus.FieldLogger) (*JobMaster, error) {
	entry := logger.WithFields(logrus.Fields{"role": "jobmaster", "job": config.Job})
	config.LogSlots = entry.Logger.IsLevelEnabled(logrus.DebugLevel)
	core, err := newCore(config)
	if err != nil {
		return nil, err
	}
	config.Recovered = nil // the core has taken what it needs
	if commits == nil && slices.ContainsFunc(config.Graph.Vertices, func(v jobgraph.Vertex) bool { return v.Commit }) {
		return nil, fmt.Errorf("set up job %s: it commits its output, and nothing stores that", config.Job)
	}
	j := &JobMaster{
		config:          config,
		resourceManager: rm,
		commits:         commits,
		logger:          entry,
		fromRM:          actor.NewOutbox[msg.Message](0, nil), // at most one message for each lost worker
		changed:         make(map[string]chan struct{}),
	}
	for _, v := range config.Graph.Vertices {
		if v.Collect != "" {
			j.changed[v.Collect] = make(chan struct{})
		}
	}
	j.loop = actor.New[event, effect](core, woken{})
	j.loop.Observe(j.logStep)
	// This must be the first event. The mailbox is empty, so Post never waits.
	if err := j.loop.Post(context.Background(), started{}); err != nil {
		return nil, fmt.Errorf("start job %s: %w", config.Job, err)
	}
	return j, nil
}

// Job is the id of the JobMaster's job.
func (j *JobMaster) Job() ids.JobID { return j.config.Job }

// ID is the fencing token that each message to this JobMaster must carry.
func (j *JobMaster) ID() ids.JobMasterID { return j.config.JobMaster }

// Run runs the job to its end. It returns the details of the job, and the collected records that
// the client has not read. If ctx ends first, the error is its cause, and the job is suspended: Run
// cancels no task, gives no slot back, and leaves the connections for their owner to cut, because a
// farewell would make TaskExecutors give up the job. The same holds for ha.ErrSuperseded, which says
// that another master runs the job. Run waits for all goroutines that it started.
func (j *JobMaster) Run(ctx context.Context) (msg.JobDetails, collect.Results, error) {
	err := j.runLoop(ctx)
	if j.ended == nil {
		return msg.JobDetails{}, nil, fmt.Errorf("run job %s: %w", j.config.Job, err)
	}
	j.connections.CloseAll(jobEnded) // connections over which no TaskExecutor registered
	return j.ended.Details, j.ended.Results, nil
}

const jobEnded = "job has ended"

// runLoop runs the loop, and sends its messages to the ResourceManager. It sends them to the last
// one: the ResourceManager must learn that the job needs no more slots.
func (j *JobMaster) runLoop(ctx context.Context) error {
	s := &shell{JobMaster: j, toRM: actor.NewOutbox[msg.Message](0, nil), finishing: sched.NewPermits(maxStoring)}
	var telling sched.Group
	telling.Go(ctx, func() {
		s.toRM.Serve(ctx, func(m msg.Message) bool {
			if err := j.resourceManager.Tell(ctx, m); err != nil && ctx.Err() == nil {
				j.loop.Fail(err)
			}
			return true
		})
	})
	err := j.loop.Run(ctx, s.start)
	s.toRM.Close()
	telling.Wait(ctx)
	return err
}

// Cancel ends the job as CANCELED when its tasks have ended. It may be repeated.
func (j *JobMaster) Cancel(ctx context.Context) error {
	return j.loop.Post(ctx, cancelAsked{})
}

// Send takes a message of the ResourceManager and never blocks. False means that
// the JobMaster has ended.
func (j *JobMaster) Send(m msg.Message) bool {
	if sched.Closed(j.loop.Done()) {
		return false
	}
	return j.fromRM.Put(m, msg.Latest(m))
}

// Tasks is the number of the job's tasks.
func (j *JobMaster) Tasks() int {
	tasks := 0
	for _, v := range j.config.Graph.Vertices {
		tasks += v.Parallelism
	}
	return tasks
}

// Details describes the job. After its end it gives the last state before that, such as FAILING or
// CANCELLING: the Dispatcher announces the end when all work on the job is done.
func (j *JobMaster) Details(ctx context.Context) (msg.JobDetails, error) {
	details, err := actor.Ask(ctx, j.loop, func(q actor.Question[msg.JobDetails]) event { return detailsAsked{Question: q} })
	if ended := j.endedBefore(err); ended != nil {
		return ended.Last, nil
	}
	return details, err
}

// Overview describes the job for a list of jobs. After its end it gives the last state before that,
// as Details does.
func (j *JobMaster) Overview(ctx context.Context) (msg.JobOverview, error) {
	overview, err := actor.Ask(ctx, j.loop, func(q actor.Question[msg.JobOverview]) event { return overviewAsked{Question: q} })
	if ended := j.endedBefore(err); ended != nil {
		return ended.LastOverview, nil
	}
	return overview, err
}

// VertexSubtasks describes a vertex, which its public id names, with its subtasks. The error may be msg.ErrVertexNotFound, or
// msg.ErrSubtasksGone if the job has ended.
func (j *JobMaster) VertexSubtasks(ctx context.Context, vertex string) (msg.VertexSubtasks, error) {
	answer, err := actor.Ask(ctx, j.loop, func(q actor.Question[subtasksAnswer]) event { return subtasksAsked{Vertex: vertex, Question: q} })
	if ended := j.endedBefore(err); ended != nil {
		return subtasks.Of(&ended.Details, vertex)
	}
	return answer.Vertex, errors.Join(err, answer.Err)
}

// endedBefore gives the last state of the job if a question failed because the job has ended, or
// nil.
func (j *JobMaster) endedBefore(err error) *ended {
	if err == nil {
		return nil
	}
	if !sched.Closed(j.loop.Done()) {
		return nil // the context of the question has ended
	}
	return j.ended
}

// CollectPage gives a page of a collected result from a cursor on. It waits at most the given time
// for the first record; then the page is empty. A request for a cursor acknowledges all records
// before it. The error may be msg.ErrResultNotFound or msg.ErrResultGone.
func (j *JobMaster) CollectPage(ctx context.Context, name string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	late, stop := sched.After(ctx, wait)
	defer stop()
	for {
		changed := j.whenChanged(name) // before the question: otherwise a change in between would be missed
		answer, err := actor.Ask(ctx, j.loop, func(q actor.Question[pageAnswer]) event {
			return pageAsked{Name: name, Cursor: cursor, Question: q}
		})
		if err == nil {
			err = answer.Err
		}
		if err != nil || len(answer.Page.Records) > 0 || answer.Page.End {
			return answer.Page, err
		}
		switch sched.First(ctx, changed, late, j.loop.Done()) {
		case 0:
		case 1:
			return answer.Page, nil
		case 2:
			return msg.CollectPage{}, actor.ErrStopped
		default:
			return msg.CollectPage{}, context.Cause(ctx)
		}
	}
}

// whenChanged gives a channel that is closed when a result changes next. It is nil for a name that
// the job does not have.
func (j *JobMaster) whenChanged(name string) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c, known := j.changed[name]; known {
		return c
	}
	return nil
}

// Connect adds a connection of a TaskExecutor that has authenticated as resource. The connection
// compares fencing tokens: messages for another grant of leadership do not reach the core.
func (j *JobMaster) Connect(resource ids.ResourceID, gateway actor.Gateway) *actor.Connection {
	return actor.Connect(j.loop, &j.connections, resource, gateway,
		func(from actor.Peer, m msg.Message) event { return taskExecutorSaid{From: from, Message: m} },
		func(from actor.Peer, cause string) event { return taskExecutorDisconnected{From: from, Cause: cause} },
	)
}
