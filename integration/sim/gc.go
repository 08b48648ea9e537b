package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// collect runs gc when all applications have ended, and looks for what is left in their user's staging
// area. A master that was killed, or is not sure that YARN has recorded its end, leaves its files to gc.
func (w *World) collect() error {
	var p *engine.Process
	var fault error
	p = w.engine.Start("gc", func(ctx context.Context) {
		area := staging.New(w.hdfs.open(p), home, 0)
		area.Names = ids.Source{Reader: reader{w.stream("gc")}}
		arrived := max(w.hdfs.away.Sub(sched.Now(ctx)), 0) + time.Minute // late calls of processes that have died
		if fault = sched.Sleep(ctx, arrived); fault != nil {
			return
		}
		_, fault = again(ctx, func() ([]staging.Removed, error) {
			return area.Collect(ctx, staging.Collection{
				Over: func(context.Context, string) (bool, error) { return true, nil }, Now: sched.Now(ctx),
			})
		})
	}, func() { w.ended(p) })
	for p.Alive() && w.goesOn() {
	}
	if fault != nil {
		return fmt.Errorf("gc fails: %w", fault)
	}
	for _, s := range w.hdfs.space.Tree(w.engine.Now(), "/user/alice/.bobbin") {
		if s.Path != "/user/alice/.bobbin/cache" {
			return fmt.Errorf("gc leaves %s", s.Path)
		}
	}
	return nil
}
