package pbconv

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestReservationsSurviveTheWire(t *testing.T) {
	want := records.ReservationDefinition{
		Name: "n", Arrival: time.UnixMilli(1410901177871), Deadline: time.UnixMilli(1410901178871),
		Recurrence: time.Hour, Priority: 3, Order: records.ReserveOrderNoGap,
		Requests: []records.ReservationRequest{
			{Capability: records.Resource{MemoryMB: 1, VCores: 2}, Containers: 4, Concurrency: 2, Duration: time.Minute},
			{Containers: 1, Concurrency: 1},
		},
	}
	if diff := cmp.Diff(want, ReservationDefinition(encoded(t, ReservationDefinitionProto(want)))); diff != "" {
		t.Error(diff)
	}
	// Empty fields have the meaning in the record's comments.
	sent := ReservationDefinitionProto(records.ReservationDefinition{Requests: []records.ReservationRequest{{}}})
	requests := sent.GetReservationRequests()
	if requests.GetInterpreter() != yarnpb.ReservationRequestInterpreterProto_R_ALL || requests.GetReservationResources()[0].GetConcurrency() != 1 || sent.GetRecurrenceExpression() != "0" {
		t.Errorf("sent %v", sent)
	}
	// A recurrence written by another client need not be a number.
	for text, want := range map[string]time.Duration{"1000": time.Second, "": 0, "daily": 0, "-5": 0, "99999999999999999999": 2562047 * time.Hour} {
		got := ReservationDefinition(&yarnpb.ReservationDefinitionProto{RecurrenceExpression: proto.String(text)}).Recurrence
		if got.Truncate(time.Hour) != want.Truncate(time.Hour) {
			t.Errorf("recurrence %q is %s", text, got)
		}
	}
}

func TestTimeoutsAreInTheTextThatHadoopReads(t *testing.T) {
	moment := time.UnixMilli(1410901177871)
	const text = "2014-09-16T20:59:37.871+0000"
	if got := ExpireTimeProto(moment); got != text {
		t.Errorf("sent %s", got)
	}
	if got := ExpireTime(text); !got.Equal(moment) {
		t.Errorf("read %s", got)
	}
}
