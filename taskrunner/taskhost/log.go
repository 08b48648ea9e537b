package taskhost

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// observe logs the events and effects of the loop: task states at info level for operators, the
// others at debug level.
func (h *host) observe(e event, effects []effect) {
	h.log.WithField("event", fmt.Sprintf("%T", e)).WithField("effects", len(effects)).Debug("event")
	for _, ef := range effects {
		s, is := ef.(send)
		if !is {
			continue
		}
		changed, _ := s.Message.(msg.TaskStatesChanged)
		for _, m := range changed.Changes {
			log := h.log.WithField("execution", m.Execution.String()).WithField("state", string(m.State))
			if m.Failure != nil {
				log = log.WithError(m.Failure)
			}
			log.Info("task changed its state")
		}
	}
}
