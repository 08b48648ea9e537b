package yarn

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// TestAReservationsWholeLife would catch a definition that the ResourceManager gets differently, and one that no
// application can use.
func TestAReservationsWholeLife(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	ctx := t.Context()
	id, err := client.NewReservation(ctx)
	if err != nil || id.IsZero() {
		t.Fatalf("new reservation is %s, %v", id, err)
	}
	now := time.Now().Truncate(time.Millisecond)
	want := records.ReservationDefinition{
		Name: "nightly", Arrival: now, Deadline: now.Add(10 * time.Minute), Priority: 2, Order: records.ReserveOrder,
		Requests: []records.ReservationRequest{
			{Capability: rpctest.Unit(), Containers: 4, Concurrency: 2, Duration: time.Minute},
			{Capability: rpctest.Unit().Times(2), Containers: 1, Concurrency: 1, Duration: 30 * time.Second},
		},
	}
	if err := client.SubmitReservation(ctx, id, "plan", want); err != nil {
		t.Fatal(err)
	}
	if err := client.SubmitReservation(ctx, id, "plan", want); err != nil {
		t.Errorf("submitting it again: %v", err)
	}

	one := yarnclient.ReservationFilter{Queue: "plan", ID: id, Allocations: true}
	found := func(f yarnclient.ReservationFilter) []records.Reservation {
		t.Helper()
		reservations, err := client.Reservations(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		return reservations
	}
	got := found(one)
	if len(got) != 1 {
		t.Fatalf("reservations are %+v", got)
	}
	r := got[0]
	if diff := cmp.Diff(want, r.Definition); diff != "" || r.ID != id || r.User != rpctest.Me(t) {
		t.Errorf("reservation is %+v, its definition (-want +got):\n%s", r, diff)
	}
	if r.Accepted.Before(now.Add(-time.Minute)) || r.Accepted.After(time.Now().Add(time.Minute)) {
		t.Errorf("it was accepted at %s", r.Accepted)
	}
	// 4 containers for a minute and one double container for half a minute are 5 container minutes.
	var reserved float64
	for _, a := range r.Allocations {
		if a.Start.Before(now) || a.End.After(want.Deadline) {
			t.Errorf("%s are reserved from %s to %s", a.Resource, a.Start, a.End)
		}
		reserved += float64(a.Resource.MemoryMB) * a.End.Sub(a.Start).Minutes()
	}
	if least := float64(rpctest.Unit().MemoryMB) * 5; reserved < least*0.99 {
		t.Errorf("%.0f MB minutes are reserved, less than %.0f: %+v", reserved, least, r.Allocations)
	}
	if web := webReservations(t, c); !strings.Contains(web, id.String()) || !strings.Contains(web, "nightly") {
		t.Errorf("the ResourceManager knows %s", web)
	}

	// The ResourceManager understands the filter's time and the text form of an id.
	for name, test := range map[string]struct {
		filter yarnclient.ReservationFilter
		want   int
	}{
		"at any time": {yarnclient.ReservationFilter{Queue: "plan"}, 1},
		"by then":     {yarnclient.ReservationFilter{Queue: "plan", Time: yarnclient.TimeRange{From: now, To: want.Deadline}}, 1},
		"too early":   {yarnclient.ReservationFilter{Queue: "plan", Time: yarnclient.TimeRange{To: now.Add(-time.Hour)}}, 0},
		"too late":    {yarnclient.ReservationFilter{Queue: "plan", Time: yarnclient.TimeRange{From: want.Deadline.Add(time.Hour)}}, 0},
		"another one": {yarnclient.ReservationFilter{Queue: "plan", ID: records.ReservationID{ClusterTimestamp: 1, ID: 1}}, 0},
	} {
		reservations := found(test.filter)
		if len(reservations) != test.want || test.want > 0 && reservations[0].Allocations != nil {
			t.Errorf("%s: reservations are %+v", name, reservations)
		}
	}

	want.Name, want.Requests = "smaller", want.Requests[:1]
	if err := client.UpdateReservation(ctx, id, want); err != nil {
		t.Fatal(err)
	}
	if got := found(one); len(got) != 1 || cmp.Diff(want, got[0].Definition) != "" {
		t.Errorf("reservations are %+v", got)
	}

	impossible := want
	impossible.Requests = []records.ReservationRequest{{Capability: rpctest.Unit().Times(1000), Containers: 1, Duration: time.Minute}}
	if err := client.UpdateReservation(ctx, id, impossible); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("error for an impossible update is %v", err)
	}
	if err := client.SubmitReservation(ctx, id, "default", want); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("error for a queue that cannot be reserved is %v", err)
	}

	// An application uses the reservation when its time has come.
	want.Requests = []records.ReservationRequest{{Capability: rpctest.Unit(), Containers: 4, Duration: 10 * time.Minute}}
	wait.For(t, "the reservation is for now", func() (bool, error) { // refused if its beginning comes before the call
		want.Arrival = time.Now().Add(2 * time.Second).Truncate(time.Millisecond)
		want.Deadline = want.Arrival.Add(10 * time.Minute) // all of the time, because otherwise YARN may choose a later part
		err := client.UpdateReservation(ctx, id, want)
		if errors.Is(err, yarnrpc.ErrYarn) {
			t.Log(err)
			return false, nil
		}
		return true, err
	})
	report := submitWhenActive(t, client, "root.plan", id)
	if app, err := c.RM().App(ctx, report.ID.String()); err != nil || !strings.Contains(app.Queue, "plan") && !strings.Contains(app.Queue, id.String()) {
		t.Errorf("the application is in queue %s, %v", app.Queue, err)
	}
	if err := client.Kill(ctx, report.ID, "seen"); err != nil {
		t.Error(err)
	}

	if err := client.DeleteReservation(ctx, id); err != nil {
		t.Fatal(err)
	}
	if got, web := found(one), webReservations(t, c); len(got) != 0 || strings.Contains(web, id.String()) {
		t.Errorf("after it was deleted, reservations are %+v; the ResourceManager knows %s", got, web)
	}
	if err := client.DeleteReservation(ctx, id); !refused(err) {
		t.Errorf("error for deleting it again is %v", err)
	}
}

// submitWhenActive submits an application that uses a reservation, repeatedly as long as YARN says that it is too
// early.
func submitWhenActive(t *testing.T, client *yarnclient.Client, queue string, id records.ReservationID) records.ApplicationReport {
	t.Helper()
	ctx := t.Context()
	var report records.ApplicationReport
	wait.For(t, fmt.Sprintf("an application can use %s", id), func() (bool, error) {
		created, err := client.NewApplication(ctx)
		if err != nil {
			return false, err
		}
		application := rpctest.Shell("exec sleep 1000")
		application.ID, application.Queue, application.Reservation = created.ID, queue, id
		report, err = client.Submit(ctx, application)
		if _, early := errors.AsType[*yarnclient.RejectedError](err); early {
			return false, nil
		}
		return true, err
	})
	return report
}

// webReservations is the ResourceManager's REST answer about reservations, in JSON with a list for several and an
// object for one.
func webReservations(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	var answer json.RawMessage
	if err := c.RM().Get(t.Context(), "reservation/list?queue=plan", &answer); err != nil {
		t.Fatal(err)
	}
	return string(answer)
}
