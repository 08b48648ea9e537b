package records

import (
	"cmp"
	"fmt"
	"time"
)

// ReservationID identifies a reservation: reservation_<cluster timestamp>_<id>.
type ReservationID struct {
	ClusterTimestamp int64 // when the ResourceManager started, in milliseconds since 1970
	ID               int64
}

func (id ReservationID) String() string {
	return fmt.Sprintf("reservation_%d_%04d", id.ClusterTimestamp, id.ID)
}

// ParseReservationID reads the text form.
func ParseReservationID(s string) (ReservationID, error) {
	f := fields{rest: s}
	f.word("reservation")
	id := ReservationID{ClusterTimestamp: f.number(63), ID: f.number(63)}
	return id, f.end("reservation id", s)
}

// IsZero reports whether id names no reservation.
func (id ReservationID) IsZero() bool { return id == ReservationID{} }

// Compare orders reservations by age.
func (id ReservationID) Compare(other ReservationID) int {
	return cmp.Or(cmp.Compare(id.ClusterTimestamp, other.ClusterTimestamp), cmp.Compare(id.ID, other.ID))
}

// MarshalText returns the text form: in JSON, ids are strings and keys.
func (id ReservationID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the text form.
func (id *ReservationID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseReservationID(string(text))
	return err
}

// ReservationDefinition says what to reserve, and when (ReservationDefinition).
type ReservationDefinition struct {
	Name string
	// Arrival and Deadline bound the time in which all Requests must be met.
	Arrival, Deadline time.Time
	// Recurrence is the period of a repeated reservation. It must not be shorter than Deadline
	// minus Arrival, and must divide yarn.resourcemanager.reservation-system.max-periodicity (a
	// day). 0: no repetition.
	Recurrence time.Duration
	Priority   Priority             // YARN serves the reservation with the lower number first
	Order      ReservationOrder     // empty: ReserveAll
	Requests   []ReservationRequest // at least one
}

// ReservationOrder says which requests of a reservation must be met, and in which order
// (ReservationRequestInterpreter).
type ReservationOrder string

const (
	ReserveAny        ReservationOrder = "R_ANY"          // one of them is enough
	ReserveAll        ReservationOrder = "R_ALL"          // all of them, at any time
	ReserveOrder      ReservationOrder = "R_ORDER"        // all of them, one after the other
	ReserveOrderNoGap ReservationOrder = "R_ORDER_NO_GAP" // the same, each beginning when the one before ends
)

// ReservationRequest asks for room for containers of one size (an element of Java's
// ReservationRequests).
type ReservationRequest struct {
	Capability  Resource // of one container
	Containers  int
	Concurrency int           // YARN gives this many at the same time, or none; 0: 1
	Duration    time.Duration // in whole milliseconds
}

// Reservation is a reservation that YARN has accepted (ReservationAllocationState). Java's class
// has more fields, which ResourceManagers leave empty.
type Reservation struct {
	ID         ReservationID
	User       string
	Definition ReservationDefinition
	Accepted   time.Time
	// Allocations are the reserved capacity, in the order of time. It is empty unless asked for.
	Allocations []ReservationAllocation
}

// ReservationAllocation is the capacity of a reservation for a period of time
// (ResourceAllocationRequest).
type ReservationAllocation struct {
	Start, End time.Time
	Resource   Resource
}
