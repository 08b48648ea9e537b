package yarnclient

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// NewReservation asks for an id for a new reservation (getNewReservation). An id
// that is never used costs nothing. Without
// yarn.resourcemanager.reservation-system.enable, a cluster refuses all calls about
// reservations with yarnrpc.ErrYarn.
func (c *Client) NewReservation(ctx context.Context) (records.ReservationID, error) {
	var response yarnpb.GetNewReservationResponseProto
	if err := c.rpc.Call(ctx, "getNewReservation", &yarnpb.GetNewReservationRequestProto{}, &response); err != nil {
		return records.ReservationID{}, fmt.Errorf("get new reservation id: %w", err)
	}
	return pbconv.ReservationID(response.GetReservationId()), nil
}

// SubmitReservation reserves capacity of a reservable queue (submitReservation).
// queue is its short name. When the method returns without error, YARN has accepted
// the reservation. Applications use it through SubmissionContext.Reservation. The
// call may be repeated with the same definition. The error is yarnrpc.ErrYarn if the
// queue has no room.
func (c *Client) SubmitReservation(ctx context.Context, id records.ReservationID, queue string, d records.ReservationDefinition) error {
	definition, err := reservationDefinition(d)
	if err != nil {
		return fmt.Errorf("submit %s: %w", id, err)
	}
	request := &yarnpb.ReservationSubmissionRequestProto{
		Queue:                 proto.String(queue),
		ReservationDefinition: definition,
		ReservationId:         pbconv.ReservationIDProto(id),
	}
	if err := c.rpc.Call(ctx, "submitReservation", request, &yarnpb.ReservationSubmissionResponseProto{}); err != nil {
		return fmt.Errorf("submit %s to queue %s: %w", id, queue, err)
	}
	return nil
}

// UpdateReservation replaces the definition of a reservation (updateReservation). If
// YARN cannot meet the new one, the old one stays and the error is yarnrpc.ErrYarn.
//
// The Client does not repeat the call if the first try may have been executed.
func (c *Client) UpdateReservation(ctx context.Context, id records.ReservationID, d records.ReservationDefinition) error {
	definition, err := reservationDefinition(d)
	if err != nil {
		return fmt.Errorf("update %s: %w", id, err)
	}
	request := &yarnpb.ReservationUpdateRequestProto{
		ReservationDefinition: definition,
		ReservationId:         pbconv.ReservationIDProto(id),
	}
	if err := c.rpc.Call(ctx, "updateReservation", request, &yarnpb.ReservationUpdateResponseProto{}); err != nil {
		return fmt.Errorf("update %s: %w", id, err)
	}
	return nil
}

// DeleteReservation deletes a reservation (deleteReservation). The error is
// yarnrpc.ErrYarn if YARN never knew the reservation, and a *yarnrpc.RemoteError
// with Java's IllegalArgumentException if YARN no longer knows it.
//
// The Client does not repeat the call if the first try may have been executed.
func (c *Client) DeleteReservation(ctx context.Context, id records.ReservationID) error {
	request := &yarnpb.ReservationDeleteRequestProto{ReservationId: pbconv.ReservationIDProto(id)}
	if err := c.rpc.Call(ctx, "deleteReservation", request, &yarnpb.ReservationDeleteResponseProto{}); err != nil {
		return fmt.Errorf("delete %s: %w", id, err)
	}
	return nil
}

// ReservationFilter chooses reservations of a queue (ReservationListRequest).
type ReservationFilter struct {
	Queue string                // required; the short name
	ID    records.ReservationID // only this one, whatever Time is; zero: all
	// Time leaves out reservations that end before From or begin after To.
	Time TimeRange
	// Allocations adds to the result the resources that YARN has reserved in each
	// interval of time.
	Allocations bool
}

// Reservations lists the reservations of a queue (listReservations). If
// yarn.acl.reservation-enable is set, it lists only those that the user may see.
func (c *Client) Reservations(ctx context.Context, f ReservationFilter) ([]records.Reservation, error) {
	request := &yarnpb.ReservationListRequestProto{
		Queue:                      proto.String(f.Queue),
		StartTime:                  proto.Int64(pbconv.Millis(f.Time.From)),
		IncludeResourceAllocations: proto.Bool(f.Allocations),
	}
	if !f.ID.IsZero() {
		request.ReservationId = proto.String(f.ID.String())
	}
	if !f.Time.To.IsZero() {
		request.EndTime = proto.Int64(f.Time.To.UnixMilli())
	}
	var response yarnpb.ReservationListResponseProto
	if err := c.rpc.Call(ctx, "listReservations", request, &response); err != nil {
		return nil, fmt.Errorf("list reservations of queue %s: %w", f.Queue, err)
	}
	return pbconv.Reservations(response.GetReservations()), nil
}

// reservationDefinition refuses an order that YARN does not have. The ResourceManager
// would read it as R_ALL.
func reservationDefinition(d records.ReservationDefinition) (*yarnpb.ReservationDefinitionProto, error) {
	definition := pbconv.ReservationDefinitionProto(d)
	if definition.GetReservationRequests().Interpreter == nil {
		return nil, fmt.Errorf("yarn has no order %q of reservation requests", d.Order)
	}
	return definition, nil
}
