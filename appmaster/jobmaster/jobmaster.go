// Package jobmaster is the role that runs one job: it makes the JobGraph an
// ExecutionGraph, gets slots for it, deploys its tasks, hands splits to them,
// takes what they collect, and restarts what fails. It owns the job's state and
// the connections of TaskExecutors that work for it.
//
// Core is the pure state machine; executiongraph, slotpool and failover hold its
// parts. JobMaster is the loop around it, and owns three goroutines: the loop,
// one that brings messages to the ResourceManager and one that brings those of
// the ResourceManager to the loop. The package must never import another role.
package jobmaster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/collect"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TaskExecutorGateway sends to one TaskExecutor, over one connection.
type TaskExecutorGateway interface {
	// Send queues a message and never blocks. False means that the connection is
	// lost, of which Connection.Closed tells too.
	Send(m msg.Message) bool
	// Close ends the connection after what was sent, without waiting for it. Of
	// several calls the first one counts.
	Close(cause string)
}

// ResourceManagerGateway brings messages to the ResourceManager.
type ResourceManagerGateway interface {
	// Tell hands over RegisterJobMaster, DeclareRequirements or BlockNodes, and may block.
	// What the ResourceManager answers goes to JobMaster.Send.
	Tell(ctx context.Context, m msg.Message) error
}

// JobMaster is the role's running form. Make it with New, and run it once with
// Run; its other methods may be called from any goroutine, before Run too, and
// give actor.ErrStopped after it. Only Details and Overview answer then, too, of a
// job that has ended and was not suspended.
type JobMaster struct {
	config          Config
	loop            *actor.OldLoop[Event, Effect]
	resourceManager ResourceManagerGateway
	logger          logrus.FieldLogger
	fromRM          *actor.Queue[msg.Message] // from Send to the goroutine that posts
	ended           *Ended                    // set by the loop before it ends

	mu             sync.Mutex // guards what follows
	lastConnection ConnectionID
	connections    map[ConnectionID]TaskExecutorGateway
	closed         bool                     // the job has ended: connections are refused
	changed        map[string]chan struct{} // closed when the result of this name changes
}

// New makes the JobMaster of a job, which it schedules once it runs.
func New(config Config, rm ResourceManagerGateway, logger logrus.FieldLogger) (*JobMaster, error) {
	core, err := NewCore(config)
	if err != nil {
		return nil, err
	}
	j := &JobMaster{
		config:          config,
		resourceManager: rm,
		logger:          logger.WithFields(logrus.Fields{"role": "jobmaster", "job": config.Job}),
		fromRM:          actor.NewQueue[msg.Message](0), // the ResourceManager says one thing for each worker that is lost
		connections:     make(map[ConnectionID]TaskExecutorGateway),
		changed:         make(map[string]chan struct{}),
	}
	for _, v := range config.Graph.Vertices {
		if v.Collect != "" {
			j.changed[v.Collect] = make(chan struct{})
		}
	}
	j.loop = actor.NewOld[Event, Effect](core, nil)
	j.loop.Observe(j.logStep)
	// Before anybody can ask for anything. The mailbox is empty: this never waits.
	if err := j.loop.Post(context.Background(), Started{}); err != nil {
		return nil, fmt.Errorf("start job %s: %w", config.Job, err)
	}
	return j, nil
}

// Job is the id of the JobMaster's job.
func (j *JobMaster) Job() ids.JobID { return j.config.Job }

// ID is the fencing token that messages to this JobMaster must carry.
func (j *JobMaster) ID() ids.JobMasterID { return j.config.JobMaster }

// Run runs the job to its end and gives what is to be kept of it: its details,
// and of its results what the client has not read. When ctx ends first, the
// error is its cause and the job is suspended: nothing is cancelled, no slot is
// given back, and connections are left for their owner to cut, as a farewell
// would make TaskExecutors give up the job. Run waits for all that it started.
func (j *JobMaster) Run(ctx context.Context) (msg.JobDetails, collect.Results, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shell := newShell(ctx, j, cancel)
	j.loop.SetShell(shell)
	err := j.loop.Run(ctx)
	shell.finish()
	cancel(actor.ErrStopped)
	shell.wait()
	if j.ended == nil {
		return msg.JobDetails{}, nil, fmt.Errorf("run job %s: %w", j.config.Job, err)
	}
	j.closeConnections()
	return j.ended.Details, j.ended.Results, nil
}

const jobEnded = "job has ended"

// closeConnections closes what the core has not: connections over which nobody
// registered.
func (j *JobMaster) closeConnections() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, gateway := range j.connections {
		gateway.Close(jobEnded)
	}
	clear(j.connections)
	j.closed = true
}

// Cancel ends the job as CANCELED, after its tasks. Repeating it is harmless.
func (j *JobMaster) Cancel(ctx context.Context) error {
	return j.loop.Post(ctx, CancelAsked{})
}

// Send takes a message of the ResourceManager and never blocks. False means that
// the JobMaster has ended.
func (j *JobMaster) Send(m msg.Message) bool {
	select {
	case <-j.loop.Done():
		return false
	default:
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

// Details describes the job; one that has ended as it was last, FAILING or CANCELLING, say:
// its end is the Dispatcher's to tell, when nothing is left to do about it.
func (j *JobMaster) Details(ctx context.Context) (msg.JobDetails, error) {
	details, err := actor.OldAsk(ctx, j.loop, func(reply chan<- msg.JobDetails) Event { return DetailsAsked{Reply: reply} })
	if ended := j.endedBefore(err); ended != nil {
		return ended.Last, nil
	}
	return details, err
}

// Overview describes the job in a list; one that has ended likewise.
func (j *JobMaster) Overview(ctx context.Context) (msg.JobOverview, error) {
	overview, err := actor.OldAsk(ctx, j.loop, func(reply chan<- msg.JobOverview) Event { return OverviewAsked{Reply: reply} })
	if ended := j.endedBefore(err); ended != nil {
		return ended.LastOverview, nil
	}
	return overview, err
}

// endedBefore gives what the job left if a question failed because it has ended, or nil.
func (j *JobMaster) endedBefore(err error) *Ended {
	if err == nil {
		return nil
	}
	select {
	case <-j.loop.Done():
		return j.ended
	default:
		return nil // who asks has no time left
	}
}

// CollectPage gives a page of a collected result from a cursor on, waiting for
// its first record up to the given time: then the page is empty. Asking for a
// cursor says that everything before it was read. msg.ErrResultNotFound,
// msg.ErrResultGone.
func (j *JobMaster) CollectPage(ctx context.Context, name string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		changed := j.whenChanged(name) // before the question, or a change in between would be missed
		answer, err := actor.OldAsk(ctx, j.loop, func(reply chan<- Page) Event {
			return PageAsked{Name: name, Cursor: cursor, Reply: reply}
		})
		if err == nil {
			err = answer.Err
		}
		if err != nil || len(answer.Page.Records) > 0 || answer.Page.End {
			return answer.Page, err
		}
		select {
		case <-changed:
		case <-timer.C:
			return answer.Page, nil
		case <-j.loop.Done():
			return msg.CollectPage{}, actor.ErrStopped
		case <-ctx.Done():
			return msg.CollectPage{}, context.Cause(ctx)
		}
	}
}

// whenChanged gives a channel that is closed when a result changes next. Names
// that the job does not have get one that never is.
func (j *JobMaster) whenChanged(name string) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c, known := j.changed[name]; known {
		return c
	}
	return nil
}

// Connection is one connection of a TaskExecutor, as its stream's owner sees it.
type Connection struct {
	j    *JobMaster
	from Peer
}

// Connect takes in a connection of the TaskExecutor that has proved to be peer.
func (j *JobMaster) Connect(peer ids.ResourceID, gateway TaskExecutorGateway) *Connection {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lastConnection++
	if j.closed {
		gateway.Close(jobEnded)
	} else {
		j.connections[j.lastConnection] = gateway
	}
	return &Connection{j: j, from: Peer{Connection: j.lastConnection, Resource: peer}}
}

// Receive takes a message that came over the connection, with the fencing token
// that it carried. It blocks while the role has too much to do.
func (c *Connection) Receive(ctx context.Context, token ids.JobMasterID, m msg.Message) error {
	return c.j.loop.Post(ctx, TaskExecutorSaid{From: c.from, Token: token, Message: m})
}

// Closed says that the connection is lost, once, after its last message.
func (c *Connection) Closed(ctx context.Context, cause string) error {
	c.j.mu.Lock()
	delete(c.j.connections, c.from.Connection)
	c.j.mu.Unlock()
	return c.j.loop.Post(ctx, TaskExecutorDisconnected{From: c.from, Cause: cause})
}
