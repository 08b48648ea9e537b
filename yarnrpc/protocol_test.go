package yarnrpc

import (
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
)

// If a method is missing in the table, the client gives up where it could try again. If a
// method is there by mistake, it may be executed twice.
func TestTheClientsCallsAreRepeatedButForThoseThatDoHarm(t *testing.T) {
	t.Parallel()
	once := []string{"failApplicationAttempt", "signalToContainer", "updateReservation", "deleteReservation"}
	methods := yarnpb.File_bobbin_hadoop_yarn_application_client_proto.Services().ByName("ApplicationClientProtocolService").Methods()
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		if got, want := repeatable(ApplicationClientProtocol, name), !slices.Contains(once, name); got != want {
			t.Errorf("%s is repeated: %v, want %v", name, got, want)
		}
	}
	if repeatable(ApplicationClientProtocol, "somethingNew") {
		t.Error("an unknown method is repeated")
	}
}
