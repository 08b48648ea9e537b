package rest

import (
	"net/http"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Slots is the answer to GET /slots: what there is of slots, what is to come, and what jobs
// need. Times are in ms since 1970, -1 for none.
type Slots struct {
	Total          int          `json:"slotsTotal"`
	Available      int          `json:"slotsAvailable"`
	PerWorker      int          `json:"slotsPerTaskManager"`
	WorkerMemoryMB int          `json:"taskManagerMemoryMB"`
	Starting       int          `json:"containersStarting"`
	Requested      int          `json:"containersRequested"`
	RequestedSince int64        `json:"requestedSince"`
	Refused        string       `json:"refused"` // "": YARN may give more
	Jobs           []SlotDemand `json:"jobs"`
}

// SlotDemand is what a job needs of slots.
type SlotDemand struct {
	Job    ids.JobID `json:"jid"`
	Needed int       `json:"slotsNeeded"`
	Held   int       `json:"slotsHeld"`
	Since  int64     `json:"waitsSince"`
}

// slots answers GET /slots.
func (s *Server) slots(r *http.Request) (any, error) {
	supply, err := s.gateway.SlotSupply(r.Context())
	if err != nil {
		return nil, err
	}
	answer := Slots{
		Total: supply.Total, Available: supply.Free, PerWorker: supply.PerWorker, WorkerMemoryMB: supply.WorkerMemoryMB,
		Starting: supply.Starting, Requested: supply.Requested, RequestedSince: millis(supply.RequestedSince),
		Refused: supply.Refused, Jobs: make([]SlotDemand, len(supply.Jobs)),
	}
	for i, d := range supply.Jobs {
		answer.Jobs[i] = SlotDemand{d.Job, d.Needed, d.Held, millis(d.Since)}
	}
	return answer, nil
}

// Supply is what the answer says.
func (a Slots) Supply() msg.SlotSupply {
	supply := msg.SlotSupply{
		Total: a.Total, Free: a.Available, PerWorker: a.PerWorker, WorkerMemoryMB: a.WorkerMemoryMB,
		Starting: a.Starting, Requested: a.Requested, RequestedSince: fromMillis(a.RequestedSince), Refused: a.Refused,
	}
	for _, d := range a.Jobs {
		supply.Jobs = append(supply.Jobs, msg.SlotDemand{Job: d.Job, Needed: d.Needed, Held: d.Held, Since: fromMillis(d.Since)})
	}
	return supply
}

// fromMillis is the inverse of millis.
func fromMillis(ms int64) time.Time {
	if ms < 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
