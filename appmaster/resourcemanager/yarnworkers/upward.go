package yarnworkers

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
)

var errResourceManagerHangs = errors.New("ResourceManager does not accept reports")

// news is what the ResourceManager is to hear, and what is to be started once it has.
type news struct {
	events []resourcemanager.WorkerEvent
	starts []start
}

// handUp queues news. Of lists of the nodes, which are all whole, only the newest waits, at the
// end. Whether it is told before or after the other events of its step makes no difference.
func (s *shell) handUp(n news) {
	rest := news{starts: n.starts}
	for _, e := range n.events {
		if _, is := e.(resourcemanager.NodesChanged); is {
			s.upward.Put(news{events: []resourcemanager.WorkerEvent{e}}, "nodes")
		} else {
			rest.events = append(rest.events, e)
		}
	}
	if len(rest.events)+len(rest.starts) > 0 {
		s.upward.Put(rest, "")
	}
}

// pass passes news on, with all that wait behind them: the ResourceManager decides once
// about what came while it was busy. False: it takes no more.
func (s *shell) pass(ctx context.Context, n news) bool {
	for more, some := s.upward.Next(); some; more, some = s.upward.Next() {
		n.events = append(n.events, more.events...)
		n.starts = append(n.starts, more.starts...)
	}
	if err := s.tell(ctx, n.events); err != nil {
		s.fail(ctx, fmt.Errorf("report to resource manager: %w", err))
		return false
	}
	s.startAll(ctx, n.starts)
	return true
}

// tell reports, and gives up a ResourceManager that hangs.
func (s *shell) tell(ctx context.Context, events []resourcemanager.WorkerEvent) error {
	if len(events) == 0 {
		return nil
	}
	ctx, cancel := resourcemanager.BoundHang(ctx, s.logger, errResourceManagerHangs)
	defer cancel()
	return s.report(ctx, events...)
}
