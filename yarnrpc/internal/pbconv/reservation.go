package pbconv

import (
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ReservationID converts a reservation's id.
func ReservationID(p *yarnpb.ReservationIdProto) records.ReservationID {
	return records.ReservationID{ClusterTimestamp: p.GetClusterTimestamp(), ID: p.GetId()}
}

// ReservationIDProto converts a reservation's id.
func ReservationIDProto(id records.ReservationID) *yarnpb.ReservationIdProto {
	return &yarnpb.ReservationIdProto{ClusterTimestamp: proto.Int64(id.ClusterTimestamp), Id: proto.Int64(id.ID)}
}

// ReservationDefinition converts the definition of a reservation. A recurrence that is not a number counts
// as none.
func ReservationDefinition(p *yarnpb.ReservationDefinitionProto) records.ReservationDefinition {
	if p == nil {
		return records.ReservationDefinition{}
	}
	recurrence, _ := strconv.ParseInt(p.GetRecurrenceExpression(), 10, 64)
	order := p.GetReservationRequests().GetInterpreter() // the default if it is missing
	return records.ReservationDefinition{
		Name:       p.GetReservationName(),
		Arrival:    Time(p.GetArrival()),
		Deadline:   Time(p.GetDeadline()),
		Recurrence: period(recurrence, time.Millisecond),
		Priority:   Priority(p.GetPriority()),
		Order:      state[records.ReservationOrder](&order, ""),
		Requests:   each(p.GetReservationRequests().GetReservationResources(), reservationRequest),
	}
}

func reservationRequest(p *yarnpb.ReservationRequestProto) records.ReservationRequest {
	return records.ReservationRequest{
		Capability:  Resource(p.GetCapability()),
		Containers:  int(p.GetNumContainers()),
		Concurrency: max(int(p.GetConcurrency()), 1),
		Duration:    period(p.GetDuration(), time.Millisecond),
	}
}

// ReservationDefinitionProto converts the definition of a reservation. It leaves out an order that YARN
// does not have.
func ReservationDefinitionProto(d records.ReservationDefinition) *yarnpb.ReservationDefinitionProto {
	if d.Order == "" {
		d.Order = records.ReserveAll
	}
	return &yarnpb.ReservationDefinitionProto{
		ReservationRequests: &yarnpb.ReservationRequestsProto{
			ReservationResources: each(d.Requests, reservationRequestProto),
			Interpreter:          stateProto[yarnpb.ReservationRequestInterpreterProto](d.Order, "", yarnpb.ReservationRequestInterpreterProto_value),
		},
		Arrival:              proto.Int64(Millis(d.Arrival)),
		Deadline:             proto.Int64(Millis(d.Deadline)),
		ReservationName:      proto.String(d.Name),
		RecurrenceExpression: proto.String(strconv.FormatInt(d.Recurrence.Milliseconds(), 10)),
		Priority:             PriorityProto(d.Priority),
	}
}

func reservationRequestProto(r records.ReservationRequest) *yarnpb.ReservationRequestProto {
	return &yarnpb.ReservationRequestProto{
		Capability:    ResourceProto(r.Capability),
		NumContainers: proto.Int32(clamp(r.Containers)),
		Concurrency:   proto.Int32(clamp(max(r.Concurrency, 1))),
		Duration:      proto.Int64(r.Duration.Milliseconds()),
	}
}

// Reservations converts accepted reservations.
func Reservations(ps []*yarnpb.ReservationAllocationStateProto) []records.Reservation {
	return each(ps, func(p *yarnpb.ReservationAllocationStateProto) records.Reservation {
		return records.Reservation{
			ID:         ReservationID(p.GetReservationId()),
			User:       p.GetUser(),
			Definition: ReservationDefinition(p.GetReservationDefinition()),
			Accepted:   Time(p.GetAcceptanceTime()),
			Allocations: each(p.GetAllocationRequests(), func(p *yarnpb.ResourceAllocationRequestProto) records.ReservationAllocation {
				return records.ReservationAllocation{Start: Time(p.GetStartTime()), End: Time(p.GetEndTime()), Resource: Resource(p.GetResource())}
			}),
		}
	})
}
