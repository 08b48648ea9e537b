package sim

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// idleBefore is how long a worker has no granted slot until its ResourceManager surely knows that.
const idleBefore = 5 * time.Second

// slotsSpread models which slots are granted. If slots are to spread, a used worker gets no further slot while another one
// with such slots is idle.
func slotsSpread(w *watch) {
	if w.w.config.String(config.LoadBalanceMode) == config.BalanceNone {
		return
	}
	fleets := newFleets(w)
	idle := make(lasting[*worker])
	faulty := make(map[*node]bool) // nodes that jobs may have set aside
	passed := make(map[*worker]error)
	w.said = append(w.said, func(over *wire, m msg.Message) error {
		k := over.worker
		now := w.w.since()
		if lost, is := m.(msg.HostLost); is && (lost.Reason == msg.HostUnavailable || lost.Reason == msg.HostFull) {
			faulty[k.node] = true
		}
		unused := len(fleets.table(k).granted) == 0
		if request, grants := m.(msg.RequestSlots); !grants {
			idle.note(k, unused && fleets.here[k], now)
		} else {
			_, before := idle[k] // it had no slot before this message
			delete(idle, k)
			delete(passed, k)
			if (!before || len(request.Slots) > 1) && k.master != nil && w.w.orderly(k.master) && !w.w.unclear(k.master) {
				fleets.each(k.master, func(other *worker) {
					if since, is := idle[other]; is && other != k && other.profile == k.profile && now-since > idleBefore && !faulty[other.node] && passed[other] == nil {
						passed[other] = fmt.Errorf("worker %s gets another slot, and worker %s has been idle for %v", k.id, other.id, now-since)
					}
				})
			}
		}
		return nil
	})
	w.turns = append(w.turns, func() error { // the grants of one step are here by now
		for k, err := range passed {
			delete(passed, k)
			if _, still := idle[k]; still && k.process.Alive() {
				return err
			}
		}
		return nil
	})
}
