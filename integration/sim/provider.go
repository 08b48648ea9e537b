package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// provider starts workers at once, without YARN.
type provider struct {
	w      *World
	m      *master
	orders *actor.Outbox[resourcemanager.Orders]
	news   *actor.Outbox[resourcemanager.WorkerEvent]
}

func newProvider(w *World, m *master) *provider {
	return &provider{w: w, m: m, orders: actor.NewOutbox[resourcemanager.Orders](0, nil), news: actor.NewOutbox[resourcemanager.WorkerEvent](0, nil)}
}

// Order implements resourcemanager.WorkerProvider.
func (p *provider) Order(_ context.Context, orders resourcemanager.Orders) { p.orders.Put(orders, "") }

// Deregister implements resourcemanager.WorkerProvider.
func (p *provider) Deregister(context.Context, msg.ApplicationStatus, string) error { return nil }

// Run implements resourcemanager.WorkerProvider.
func (p *provider) Run(ctx context.Context, report resourcemanager.Report) error {
	var reporting sched.Group
	reporting.Go(ctx, func() {
		p.news.Serve(ctx, func(e resourcemanager.WorkerEvent) bool { return report(ctx, e) == nil })
	})
	started := 0
	p.orders.Serve(ctx, func(o resourcemanager.Orders) bool { //nolint:contextcheck // workers have contexts of their own
		for _, r := range o.Release {
			if worker := p.w.workers[r.Worker]; worker != nil {
				p.w.engine.After(time.Millisecond, nil, worker.kill)
			}
		}
		for ; started < o.Total; started++ {
			id := ids.ResourceID(fmt.Sprintf("container_%06d", len(p.w.workers)+1))
			host := fmt.Sprint("node", len(p.w.workers)%3+1)
			p.news.Put(resourcemanager.WorkerStarting{Worker: id, Host: host}, "")
			p.start(id, host, o.Spec)
		}
		return true
	})
	reporting.Wait(ctx)
	return nil
}

// start starts a worker after the time that a NodeManager needs, and reports its end.
func (p *provider) start(id ids.ResourceID, host string, spec resourcemanager.WorkerResourceSpec) {
	worker := &worker{id: id, w: p.w, host: host, master: p.m}
	p.w.workers[id] = worker
	p.w.containers = append(p.w.containers, worker)
	p.w.engine.After(200*time.Millisecond, nil, func() { worker.start(spec) })
	worker.ended = func(how string) {
		p.w.engine.After(time.Second, p.m.process, func() {
			p.news.Put(resourcemanager.WorkerCompleted{Worker: id, Cause: how}, "")
		})
	}
}
