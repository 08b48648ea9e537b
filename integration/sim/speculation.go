package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Slow tasks. In some schedules they get further attempts (execution.batch.speculative.enabled). Sources are slow by themselves, since
// they draw how long a split takes, and all tasks of a node are while a fault lasts.

// drawSpeculation draws whether slow tasks get further attempts, and when a task is slow. Only tasks whose exchanges are blocking can
// have them.
func (s *Schedule) drawSpeculation(r *rand.Rand) {
	if r.IntN(4) > 0 {
		return
	}
	s.Speculation, s.SlowAfter = 2+r.IntN(2), between(r, 2*time.Second, 20*time.Second).Round(time.Millisecond)
	s.SlowPercent = [...]int{30, 50, 75}[r.IntN(3)]
	if s.Edges == Pipelined {
		s.Edges = Automatic
	}
	if r.IntN(2) == 0 {
		s.Faults = append(s.Faults, Fault{At: between(r, 0, faultTime/2), Kind: SlowNode, Victim: r.IntN(16), Time: between(r, time.Minute, 5*time.Minute)})
		slices.SortStableFunc(s.Faults, byTime)
	}
}

// speculation are the options for further attempts of slow tasks.
func (s Schedule) speculation() map[string]string {
	if s.Speculation == 0 {
		return nil
	}
	return map[string]string{
		config.SpeculativeEnabled.Name():  "true",
		config.SpeculativeAttempts.Name(): strconv.Itoa(s.Speculation),
		config.SlowTaskLowerBound.Name():  fmt.Sprint(s.SlowAfter.Milliseconds(), " ms"),
		config.SlowTaskRatio.Name():       strconv.FormatFloat(float64(s.SlowPercent)/100, 'f', -1, 64),
	}
}

// attemptsAtATime is how many attempts of a task may run at a time.
func (s Schedule) attemptsAtATime() int { return max(1, s.Speculation) }

// mostClosing is how long a source may take to end after its last split, if other attempts of it may run meanwhile.
const mostClosing = 2 * time.Second

// close ends a source. Its last blocks go to the disks, for which the model of the disks takes no time.
func (s source) close(ctx context.Context) error {
	if s.host.w.schedule.Speculation == 0 {
		return nil
	}
	if err := sched.Sleep(ctx, between(s.pace, 0, mostClosing)); err != nil {
		return err
	}
	return s.host.crawl(ctx)
}

// crawl waits while the node of a task host is slow.
func (h *host) crawl(ctx context.Context) error {
	for h.worker.node.isSlow() {
		if err := sched.Sleep(ctx, h.worker.node.slow.Sub(h.w.engine.Now())); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) isSlow() bool { return n.w.engine.Now().Before(n.slow) }

// crawls reports whether the node of a gate is slow: then the gate gives nothing. It wakes its task afterwards.
func (g *gate) crawls() bool {
	n := g.station.disks.k.node
	if !n.isSlow() {
		return false
	}
	n.w.engine.At(n.slow, g.station.process, g.tell)
	return true
}
