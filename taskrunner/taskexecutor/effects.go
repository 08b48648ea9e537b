package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	// openTimeout bounds one attempt to open a stream.
	openTimeout = 10 * time.Second
	// findTimeout bounds one look for the leader. Its calls end before (lookPatience in package taskrunner).
	findTimeout = 10 * time.Second
)

// shell performs effects. Only the loop's goroutine calls Perform; what takes time runs in
// goroutines of loop.Go.
type shell struct {
	*TaskExecutor
	measured measuredRoom // of the tasks of all hosts

	mu     sync.Mutex // guards what follows
	links  map[linkID]*rolerpc.Stream
	hosts  map[ids.HostID]*hostControl
	copies map[copyID]context.CancelFunc // cancels the goroutine that holds the copy; the goroutine removes the copy
}

// start makes the shell. If the memory of the container is bounded, it starts the sampler.
func (t *TaskExecutor) start(context.Context) actor.Shell[effect] {
	s := &shell{
		TaskExecutor: t,
		links:        make(map[linkID]*rolerpc.Stream),
		hosts:        make(map[ids.HostID]*hostControl),
		copies:       make(map[copyID]context.CancelFunc),
	}
	t.shell.Store(s)
	if t.config.Memory.Process > 0 {
		t.loop.Go(func(ctx context.Context) { s.sampleMemory(ctx, t.config.Memory.Process) })
	}
	if t.env.Status != nil {
		t.loop.Go(s.measure)
	}
	return s
}

// Perform performs one effect.
func (s *shell) Perform(ctx context.Context, e effect) {
	switch e := e.(type) {
	case openLink:
		s.loop.Go(func(ctx context.Context) { s.open(ctx, e) })
	case findLeader:
		s.loop.Go(s.findLeader)
	case sendRole:
		if stream := s.link(e.Link); stream != nil {
			stream.Send(e.Message) // a full outbox ends the stream: linkLost follows
		}
	case setToken:
		if stream := s.link(e.Link); stream != nil {
			stream.SetToken(e.Token)
			stream.SetShare(e.Share)
		}
	case closeLink:
		if stream := s.link(e.Link); stream != nil {
			s.forgetLink(e.Link)
			stream.Close(e.Cause)
		}
	case fetchProgram:
		s.hold(ctx, e.Copy, func(ctx context.Context, from Artifacts) (string, config.Bytes, error) {
			return from.FetchProgram(ctx, uint64(e.Copy), e.Program)
		})
	case fetchFile:
		s.hold(ctx, e.Copy, func(ctx context.Context, from Artifacts) (string, config.Bytes, error) {
			return from.FetchFile(ctx, uint64(e.Copy), e.File)
		})
	case dropCopy:
		s.drop(e.Copy)
	case updateTokens:
		s.updateTokens(e.Tokens)
	case startHost:
		s.startHost(e)
	case instructHost:
		s.instructHost(ctx, e)
	case setHostMemory:
		s.setHostMemory(e)
	case sendHost:
		if h := s.host(e.Host); h != nil {
			h.pass(e.Message, sched.Now(ctx))
		}
	case answerInquiry:
		s.loop.Go(func(ctx context.Context) { s.answerInquiry(ctx, e) })
	case servePartitions:
		for _, f := range e.Files {
			s.env.Partitions.Serve(e.Job, f)
		}
	case removePartitions:
		s.clean("partitions cannot be removed", func() error { return s.env.Partitions.Remove(e.Job, e.Files) })
	case tidyPartitions:
		s.clean("files of a task host cannot be removed", func() error { return s.env.Partitions.Tidy(e.Host, e.Keep) })
	case showMetrics:
		s.last.Store(&e.Metrics)
	case killHost:
		if h := s.host(e.Host); h != nil {
			h.kill()
		}
	case end:
		s.loop.Fail(e.cause())
	}
}

// clean removes files in a goroutine, because a disk may be slow. The end of the worker removes those that stay.
func (s *shell) clean(complaint string, remove func() error) {
	s.loop.Go(func(context.Context) {
		if err := remove(); err != nil {
			s.logger.WithError(err).Warn(complaint)
		}
	})
}

// goodbye is the cause that a TaskExecutor sends if it does not know why it ends, for example when
// its NodeManager stops it.
const goodbye = "the TaskExecutor ends"

// target is the name of the role that a link leads to.
func target(job ids.JobID) string {
	if job == "" {
		return "resourcemanager"
	}
	return "jobmaster/" + string(job)
}

func (s *shell) link(id linkID) *rolerpc.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links[id]
}

func (s *shell) forgetLink(id linkID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, id)
}

// open opens a link, and returns when the link is closed.
func (s *shell) open(ctx context.Context, e openLink) {
	opening, cancel := sched.WithTimeout(ctx, openTimeout)
	defer cancel()
	h := &linkHandler{
		link: e.Link, hears: msg.ResourceManagerToTaskExecutor,
		post:   func(event event) { s.loop.Tell(ctx, event) },
		opened: make(chan struct{}), closed: make(chan struct{}),
	}
	if e.Job != "" {
		h.hears = msg.JobMasterToTaskExecutor
	}
	stream, err := s.env.Roles.Open(opening, e.Address, target(e.Job), h)
	if err != nil {
		h.post(linkLost{Link: e.Link, Cause: err.Error(), NotReady: errors.Is(err, rolerpc.ErrNotReady)})
		return
	}
	s.mu.Lock()
	s.links[e.Link] = stream
	s.mu.Unlock()
	h.post(linkOpened{e.Link})
	close(h.opened)
	ending := context.WithoutCancel(ctx)
	if sched.First(ending, h.closed, s.loop.Done()) == 1 { // after the effects of the last step
		stream.Close(goodbye) // no effect if the core has closed it with a cause
		sched.First(ending, h.closed)
	}
	s.forgetLink(e.Link)
}

// errNoDesk says that a worker that runs in a user's process shows nothing of it.
var errNoDesk = fmt.Errorf("%w: this worker is no process of its own", msg.ErrNotShown)

// answerInquiry answers a question about this process, and then does the work that it leaves.
func (s *shell) answerInquiry(ctx context.Context, e answerInquiry) {
	if s.env.Desk == nil {
		s.loop.Tell(ctx, inquiryAnswered{e.Inquiry, msg.NoAnswer(errNoDesk)})
		return
	}
	answer, work := s.env.Desk.Answer(ctx, e.About)
	s.loop.Tell(ctx, inquiryAnswered{e.Inquiry, answer})
	if work != nil {
		work(ctx)
	}
}

// findLeader looks once for the leader.
func (s *shell) findLeader(ctx context.Context) {
	finding, cancel := sched.WithTimeout(ctx, findTimeout)
	defer cancel()
	leader, err := s.env.Leader.Leader(finding)
	if err != nil {
		s.loop.Tell(ctx, leaderNotFound{err.Error()})
		return
	}
	s.loop.Tell(ctx, leaderFound(leader))
}

// linkHandler handles the messages of a stream.
type linkHandler struct {
	link   linkID
	hears  msg.Kinds
	post   func(event)
	opened chan struct{} // closed after linkOpened was posted, which must come first
	closed chan struct{} // closed by Closed
}

// Hears implements rolerpc.Handler.
func (h *linkHandler) Hears() msg.Kinds { return h.hears }

// Receive implements rolerpc.Handler.
func (h *linkHandler) Receive(ctx context.Context, m msg.Message) {
	sched.First(ctx, h.opened)
	h.post(roleSaid{Link: h.link, Message: m})
}

// Closed implements rolerpc.Handler.
func (h *linkHandler) Closed(ctx context.Context, cause error) {
	sched.First(ctx, h.opened)
	h.post(linkLost{Link: h.link, Cause: cause.Error()})
	close(h.closed)
}
