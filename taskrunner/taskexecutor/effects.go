package taskexecutor

import (
	"context"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// openTimeout bounds one attempt to open a stream.
const openTimeout = 10 * time.Second

// shell performs effects. Perform runs in the loop's goroutine; all others that
// the shell starts are counted in running and end with Run's context.
type shell struct {
	t       *TaskExecutor
	end     context.CancelCauseFunc
	timers  *actor.Timers[Timer]
	running sync.WaitGroup

	mu     sync.Mutex // guards what follows
	links  map[LinkID]*rolerpc.Stream
	hosts  map[ids.HostID]*hostControl
	copies map[CopyID]context.CancelFunc // has the goroutine that holds the copy remove it
}

func newShell(ctx context.Context, t *TaskExecutor, end context.CancelCauseFunc) *shell {
	s := &shell{
		t: t, end: end,
		links:  make(map[LinkID]*rolerpc.Stream),
		hosts:  make(map[ids.HostID]*hostControl),
		copies: make(map[CopyID]context.CancelFunc),
	}
	s.timers = actor.NewTimers(func(timer Timer) { s.post(ctx, TimerFired{timer}) })
	return s
}

// post hands an event to the loop. A loop that has ended needs none.
func (s *shell) post(ctx context.Context, e Event) { _ = s.t.loop.Post(ctx, e) }

// Perform performs one effect.
func (s *shell) Perform(ctx context.Context, effect Effect) {
	switch e := effect.(type) {
	case OpenLink:
		s.open(ctx, e)
	case SendRole:
		if stream := s.link(e.Link); stream != nil {
			stream.Send(e.Message) // a full outbox ends the stream, which is told as LinkLost
		}
	case SetToken:
		if stream := s.link(e.Link); stream != nil {
			stream.SetToken(e.Token)
			stream.SetShare(e.Share)
		}
	case CloseLink:
		if stream := s.link(e.Link); stream != nil {
			s.forgetLink(e.Link)
			stream.Close(e.Cause)
		}
	case FetchProgram:
		s.holdProgram(ctx, e)
	case DropProgram:
		s.dropProgram(e.Copy)
	case StartHost:
		s.startHost(ctx, e)
	case InstructHost:
		s.instructHost(e)
	case SetHostMemory:
		s.setHostMemory(e)
	case SendHost:
		if h := s.host(e.Host); h != nil {
			h.send(e.Message)
		}
	case KillHost:
		if h := s.host(e.Host); h != nil {
			h.kill()
		}
	case SetTimer:
		s.timers.Set(e.Timer, e.After)
	case End:
		s.end(e.cause())
	}
}

// wait ends and waits for everything; Run's context has ended. Streams say
// goodbye, hosts see their control connections close.
func (s *shell) wait() {
	s.timers.Stop()
	s.mu.Lock()
	for _, stream := range s.links {
		stream.Close(goodbye)
	}
	s.mu.Unlock()
	s.running.Wait()
}

// goodbye is what a TaskExecutor says that ends for a reason which it does not
// know: its NodeManager stops it.
const goodbye = "the TaskExecutor ends"

// target is the name of the role that a link leads to.
func target(job ids.JobID) string {
	if job == "" {
		return "resourcemanager"
	}
	return "jobmaster/" + string(job)
}

func (s *shell) link(id LinkID) *rolerpc.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links[id]
}

func (s *shell) forgetLink(id LinkID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.links, id)
}

func (s *shell) open(ctx context.Context, e OpenLink) {
	s.running.Go(func() {
		opening, cancel := context.WithTimeout(ctx, openTimeout)
		defer cancel()
		h := &linkHandler{opened: make(chan struct{}), closed: make(chan struct{})}
		h.post = func(event Event) { s.post(ctx, event) }
		h.link, h.hears = e.Link, msg.ResourceManagerToTaskExecutor
		if e.Job != "" {
			h.hears = msg.JobMasterToTaskExecutor
		}
		stream, err := s.t.env.Roles.Open(opening, target(e.Job), h)
		if err != nil {
			s.post(ctx, LinkLost{Link: e.Link, Cause: err.Error()})
			return
		}
		s.mu.Lock()
		s.links[e.Link] = stream
		s.mu.Unlock()
		s.post(ctx, LinkOpened{e.Link})
		close(h.opened)
		if ctx.Err() != nil { // wait may have looked already
			stream.Close(goodbye)
		}
		<-h.closed
		s.forgetLink(e.Link)
	})
}

// linkHandler takes what comes in on a stream.
type linkHandler struct {
	link   LinkID
	hears  msg.Kinds
	post   func(Event)
	opened chan struct{} // closed when LinkOpened was posted: it comes first
	closed chan struct{} // closed by Closed
}

// Hears is rolerpc's.
func (h *linkHandler) Hears() msg.Kinds { return h.hears }

// Receive is rolerpc's.
func (h *linkHandler) Receive(m msg.Message) {
	<-h.opened
	h.post(RoleSaid{Link: h.link, Message: m})
}

// Closed is rolerpc's.
func (h *linkHandler) Closed(cause error) {
	<-h.opened
	h.post(LinkLost{Link: h.link, Cause: cause.Error()})
	close(h.closed)
}
