package sim

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// workersAreTakenOver looks for workers that a later master rejects. It may do so only if YARN counts their containers as
// ended, if it has released them before, or if there is no room for them under the ceiling.
func workersAreTakenOver(w *watch) {
	if w.w.schedule.Unprotected {
		return
	}
	type release struct {
		by     *master
		worker ids.ResourceID
	}
	released := make(map[release]bool)
	w.orders = append(w.orders, func(m *master, o resourcemanager.Orders) error {
		for _, r := range o.Release {
			released[release{m, r.Worker}] = true
		}
		return nil
	})
	most := config.MaxWorkers(w.w.config)
	w.said = append(w.said, func(over *wire, said msg.Message) error {
		k := over.worker
		m := k.master
		if _, rejected := said.(msg.RegistrationRejected); !rejected || m == nil || m.demand == nil || m.demand.ends || k.container.Attempt == m.attempt {
			return nil
		}
		c, known := w.w.yarn.rm.Container(k.container)
		_, full := most.Exceeded(m.demand.sum().Plus(1, totalsOf(k.spec())))
		if !known || c.State == records.ContainerComplete || released[release{m, k.id}] || full {
			return nil
		}
		return fmt.Errorf("%s rejects worker %s of an earlier attempt", m.address(), k.id)
	})
}
