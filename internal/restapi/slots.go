package restapi

import (
	"time"

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
	Earlier        int          `json:"taskManagersEarlier"` // of an earlier ApplicationMaster, which are to return
	Kinds          []WorkerKind `json:"taskManagerKinds"`    // by their size
	Jobs           []SlotDemand `json:"jobs"`
}

// WorkerKind is the workers of one size that a cluster may wait for.
type WorkerKind struct {
	Profile      string `json:"profile"` // of their slots; "": default slots
	MemoryMB     int    `json:"memoryMB"`
	VCores       int    `json:"vcores"`
	Slots        int    `json:"slots"` // of each
	Requested    int    `json:"containersRequested"`
	Since        int64  `json:"requestedSince"`
	Starting     int    `json:"containersStarting"`
	Refused      string `json:"refused"` // why YARN gives none; "": it may
	Room         Room   `json:"room"`
	FailingSince int64  `json:"startsFailSince"` // -1: the last start has not failed
	FailingUntil int64  `json:"nextStart"`       // -1: at once
	Cause        string `json:"lastFailure"`
	Limit        string `json:"limit"` // the option that allows no more, with its value
}

// Room is what YARN has told of the room for requested containers.
type Room struct {
	Reason     msg.WaitReason `json:"reason"` // "": nothing keeps them from coming
	Queue      string         `json:"queue"`
	Label      string         `json:"nodeLabel"`
	LeftMB     int            `json:"leftMB"`
	LeftVCores int            `json:"leftVCores"`
	Silent     int64          `json:"silentSince"` // -1: YARN answers
}

// SlotDemand is the number of slots that a job needs and holds.
type SlotDemand struct {
	Job     ids.JobID `json:"jid"`
	Needed  int       `json:"slotsNeeded"`
	Held    int       `json:"slotsHeld"`
	Since   int64     `json:"waitsSince"`
	Lacks   []int     `json:"lacks"`        // indices of taskManagerKinds whose slots it lacks
	Turn    bool      `json:"waitsForTurn"` // another job gets new workers first
	Blocked bool      `json:"nodesBlocked"` // it has set aside all nodes
}

// JobWaiting is the answer to GET /jobs/:jobid/waiting.
type JobWaiting struct {
	Waiting bool      `json:"waiting"`
	Since   int64     `json:"since"`
	Words   string    `json:"words"`
	Reasons []WaitFor `json:"reasons"` // the most important first
}

// WaitFor is a reason why a job waits.
type WaitFor struct {
	Reason msg.WaitReason `json:"reason"`
	Words  string         `json:"words"`
	Remedy string         `json:"remedy"` // what a user can do; "": to wait
}

// SlotsOf converts the roles' message. millis is a point in time as REST has it.
func SlotsOf(supply msg.SlotSupply, millis func(time.Time) int64) Slots {
	answer := Slots{
		Total: supply.Total, Available: supply.Free, PerWorker: supply.PerWorker, WorkerMemoryMB: supply.WorkerMemoryMB,
		Starting: supply.Starting, Requested: supply.Requested, RequestedSince: millis(supply.RequestedSince),
		Refused: supply.Refused, Spares: supply.Spares, Floor: supply.Floor, FloorBy: supply.FloorBy, Earlier: supply.Earlier,
		Kinds: make([]WorkerKind, len(supply.Kinds)), Jobs: make([]SlotDemand, len(supply.Jobs)),
	}
	for i, k := range supply.Kinds {
		answer.Kinds[i] = WorkerKind{
			Profile: k.Profile, MemoryMB: k.Size.MemoryMB, VCores: k.Size.VCores, Slots: k.Slots,
			Requested: k.Requested, Since: millis(k.Since), Starting: k.Starting, Refused: k.Refused,
			Room: Room{
				Reason: k.Room.Reason, Queue: k.Room.Queue, Label: k.Room.Label,
				LeftMB: k.Room.Left.MemoryMB, LeftVCores: k.Room.Left.VCores, Silent: millis(k.Room.Silent),
			},
			FailingSince: millis(k.Failures.Since), FailingUntil: millis(k.Failures.Until), Cause: k.Failures.Cause, Limit: k.Limit,
		}
	}
	for i, d := range supply.Jobs {
		answer.Jobs[i] = SlotDemand{
			Job: d.Job, Needed: d.Needed, Held: d.Held, Since: millis(d.Since),
			Lacks: append([]int{}, d.Lacks...), Turn: d.Turn, Blocked: d.Blocked,
		}
	}
	return answer
}

// Supply converts the answer to the roles' message.
func (s Slots) Supply() msg.SlotSupply {
	supply := msg.SlotSupply{
		Total: s.Total, Free: s.Available, PerWorker: s.PerWorker, WorkerMemoryMB: s.WorkerMemoryMB,
		Starting: s.Starting, Requested: s.Requested, RequestedSince: point(s.RequestedSince), Refused: s.Refused,
		Spares: s.Spares, Floor: s.Floor, FloorBy: s.FloorBy, Earlier: s.Earlier,
	}
	for _, k := range s.Kinds {
		supply.Kinds = append(supply.Kinds, msg.WorkerSupply{
			Profile: k.Profile, Size: msg.ContainerSize{MemoryMB: k.MemoryMB, VCores: k.VCores}, Slots: k.Slots,
			Requested: k.Requested, Since: point(k.Since), Starting: k.Starting, Refused: k.Refused,
			Room: msg.Room{
				Reason: k.Room.Reason, Queue: k.Room.Queue, Label: k.Room.Label,
				Left: msg.ContainerSize{MemoryMB: k.Room.LeftMB, VCores: k.Room.LeftVCores}, Silent: point(k.Room.Silent),
			},
			Failures: msg.StartFailures{Since: point(k.FailingSince), Until: point(k.FailingUntil), Cause: k.Cause}, Limit: k.Limit,
		})
	}
	for _, d := range s.Jobs {
		demand := msg.SlotDemand{Job: d.Job, Needed: d.Needed, Held: d.Held, Since: point(d.Since), Turn: d.Turn, Blocked: d.Blocked}
		demand.Lacks = append(demand.Lacks, d.Lacks...)
		supply.Jobs = append(supply.Jobs, demand)
	}
	return supply
}
