package appmaster

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// self answers questions about this process. Make it with newSelf. Its goroutines are those of serve, and
// one for each question.
type self struct {
	ask  func(context.Context, msg.Inquiry) (msg.InquiryAnswer, func(context.Context)) // inquiry.Desk.Answer
	work *actor.Outbox[func(context.Context)]                                          // that answers leave: at most one profile, and one flame graph
}

func newSelf(desk *inquiry.Desk) *self {
	return &self{ask: desk.Answer, work: actor.NewOutbox[func(context.Context)](0, nil)}
}

// serve does the work that answers leave, until ctx ends. A profile of a minute delays no flame graph: the desk knows which of
// them exclude each other.
func (s *self) serve(ctx context.Context) {
	var working sched.Group
	s.work.Serve(ctx, func(work func(context.Context)) bool {
		working.Go(ctx, func() { work(ctx) })
		return true
	})
	working.Wait(ctx)
}

// selfTime is how long the process may take to answer: as long as a worker.
const selfTime = 10 * time.Second

// errSelfSilent says that the process has not answered in time.
var errSelfSilent = fmt.Errorf("%w: the ApplicationMaster has not answered for %s: look whether the disk with its logs hangs, and ask again", msg.ErrNotReady, selfTime)

// inquire answers a question within selfTime. A disk that hangs holds the goroutine that asks it until it answers. The desk bounds
// these goroutines. Errors: those of msg.InquiryAnswer, errSelfSilent, and the cause of ctx.
func (s *self) inquire(ctx context.Context, about msg.Inquiry) (msg.InquiryAnswer, error) {
	waiting, cancel := sched.WithTimeoutCause(ctx, selfTime, errSelfSilent)
	defer cancel()
	answered := make(chan msg.InquiryAnswer, 1) // it has room also if nobody waits any more
	sched.Go(ctx, func() {
		answer, work := s.ask(ctx, about)
		if work != nil {
			s.work.Put(work, "")
		}
		answered <- answer
	})
	answer, err := sched.Receive(waiting, answered)
	if err != nil {
		return msg.InquiryAnswer{}, err
	}
	return answer, answer.Err()
}
