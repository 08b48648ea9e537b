package restapi

import (
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Slots is the answer to GET /slots: the slots, the expected slots, and the jobs' needs.
type Slots struct {
	Total          int          `json:"slotsTotal"`
	Available      int          `json:"slotsAvailable"`
	PerWorker      int          `json:"slotsPerTaskManager"`
	WorkerMemoryMB int          `json:"taskManagerMemoryMB"`
	Starting       int          `json:"containersStarting"`
	Requested      int          `json:"containersRequested"`
	RequestedSince int64        `json:"requestedSince"`
	Refused        string       `json:"refused"`             // "": YARN may give more
	Spares         int          `json:"taskManagersSpare"`   // without work, to replace lost ones
	Floor          int          `json:"taskManagersOfFloor"` // without work, because of floor
	FloorBy        string       `json:"floor"`               // the option for the least number, with its value
	Jobs           []SlotDemand `json:"jobs"`
}

// SlotDemand is the number of slots that a job needs and holds.
type SlotDemand struct {
	Job    ids.JobID `json:"jid"`
	Needed int       `json:"slotsNeeded"`
	Held   int       `json:"slotsHeld"`
	Since  int64     `json:"waitsSince"`
}

// Supply converts the answer to the roles' message.
func (s Slots) Supply() msg.SlotSupply {
	supply := msg.SlotSupply{
		Total: s.Total, Free: s.Available, PerWorker: s.PerWorker, WorkerMemoryMB: s.WorkerMemoryMB,
		Starting: s.Starting, Requested: s.Requested, RequestedSince: point(s.RequestedSince), Refused: s.Refused,
		Spares: s.Spares, Floor: s.Floor, FloorBy: s.FloorBy,
	}
	for _, d := range s.Jobs {
		supply.Jobs = append(supply.Jobs, msg.SlotDemand{Job: d.Job, Needed: d.Needed, Held: d.Held, Since: point(d.Since)})
	}
	return supply
}
