package yarnworkers

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
)

var errResourceManagerHangs = errors.New("ResourceManager does not accept reports")

// news is events for the ResourceManager, and containers to start after it has received them.
type news struct {
	events []resourcemanager.WorkerEvent
	starts []start
}

// handUp queues news. Each NodesChanged has the whole list, so only the newest waits, at the end of
// the queue. Its order relative to the other events of its step does not matter.
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

// pass reports news together with all news that wait behind it: the ResourceManager then decides
// once about everything that came while it was busy. False means that it accepts no more.
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

// tell reports events, and fails if the ResourceManager hangs.
func (s *shell) tell(ctx context.Context, events []resourcemanager.WorkerEvent) error {
	if len(events) == 0 {
		return nil
	}
	ctx, cancel := resourcemanager.BoundHang(ctx, s.logger, errResourceManagerHangs)
	defer cancel()
	return s.report(ctx, events...)
}
