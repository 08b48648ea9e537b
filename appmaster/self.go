package appmaster

import (
	"context"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// self answers questions about this process. Make it with newSelf. Its goroutines are those of serve.
type self struct {
	desk *inquiry.Desk
	work *actor.Outbox[func(context.Context)] // that answers leave: at most one profile, and one flame graph
}

func newSelf(desk *inquiry.Desk) *self {
	return &self{desk: desk, work: actor.NewOutbox[func(context.Context)](0, nil)}
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

// inquire answers a question. Errors: those of msg.InquiryAnswer.
func (s *self) inquire(ctx context.Context, about msg.Inquiry) (msg.InquiryAnswer, error) {
	answer, work := s.desk.Answer(ctx, about)
	if work != nil {
		s.work.Put(work, "")
	}
	return answer, answer.Err()
}
