package conformance

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// protections are all protections, so that a client can use each of them with one cluster.
const protections = "authentication,integrity,privacy"

func TestMain(m *testing.M) {
	code := clusters.Main(m)
	if err := programs.remove(); err != nil {
		fmt.Fprintln(os.Stderr, "remove the Java programs:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func schedulerAddress(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	address := rpctest.Conf(t, c).Get("yarn.resourcemanager.scheduler.address")
	if address == "" {
		t.Fatal("the cluster has no scheduler address")
	}
	return address
}

func dial(t *testing.T, address string, o yarnrpc.Options) *yarnrpc.Conn {
	t.Helper()
	c, err := yarnrpc.Dial(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	return rpctest.Closing(t, c)
}

func client(t *testing.T, c *cluster.Cluster) *yarnrpc.Conn {
	t.Helper()
	return dial(t, c.RMAddress(), yarnrpc.Options{
		Protocol: yarnrpc.ApplicationClientProtocol,
		Auth:     yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: rpctest.Me(t)}},
		MaxIdle:  -1,
	})
}

// unmanaged submits an application whose master is the test, and returns the token that the ResourceManager makes for
// it.
func unmanaged(t *testing.T, c *cluster.Cluster) *creds.Token {
	t.Helper()
	return rpctest.SubmitUnmanaged(t, rpctest.Client(t, c, rpctest.Me(t)), "default", nil).AMRMToken
}

func call(t *testing.T, c yarnrpc.Caller, method string, request, response proto.Message) {
	t.Helper()
	if err := c.Call(t.Context(), method, request, response); err != nil {
		t.Fatal(err)
	}
}

// TestTheResourceManagerTakesItsTokenUnderEachProtection would catch wrong digests, wrapping or order of messages. Our
// own server would make the same mistakes.
func TestTheResourceManagerTakesItsTokenUnderEachProtection(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	scheduler := schedulerAddress(t, c)
	qops, err := sasl.ParseProtection(protections)
	if err != nil {
		t.Fatal(err)
	}
	for _, qop := range qops {
		t.Run(string(qop), func(t *testing.T) {
			t.Parallel()
			o := yarnrpc.Options{
				Protocol: yarnrpc.ApplicationMasterProtocol,
				Auth:     yarnrpc.Auth{Token: creds.Fixed(unmanaged(t, c)), QOPs: []sasl.QOP{qop}},
				MaxIdle:  -1,
			}
			master := dial(t, scheduler, o)
			call(t, master, "registerApplicationMaster", &yarnpb.RegisterApplicationMasterRequestProto{
				Host: proto.String("localhost"), RpcPort: proto.Int32(-1), TrackingUrl: proto.String(strings.Repeat("u", 200_000)),
			}, &yarnpb.RegisterApplicationMasterResponseProto{})
			for id := range int32(20) {
				var response yarnpb.AllocateResponseProto
				call(t, master, "allocate", &yarnpb.AllocateRequestProto{ResponseId: proto.Int32(id), Progress: proto.Float32(0.5)}, &response)
				if response.GetResponseId() != id+1 {
					t.Errorf("response id %d after %d", response.GetResponseId(), id)
				}
			}
			var finished yarnpb.FinishApplicationMasterResponseProto
			call(t, master, "finishApplicationMaster", &yarnpb.FinishApplicationMasterRequestProto{
				FinalApplicationStatus: yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED.Enum(),
			}, &finished)
			if !finished.GetIsUnregistered() {
				t.Error("an unmanaged master is unregistered at once")
			}
		})
	}
}

// TestTheResourceManagerRefusesWhoHasNoToken would catch a refusal that the client takes for another error, such as one
// to retry.
func TestTheResourceManagerRefusesWhoHasNoToken(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	scheduler := schedulerAddress(t, c)
	o := yarnrpc.Options{Protocol: yarnrpc.ApplicationMasterProtocol, Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: clusters.Alice}}}
	err := dial(t, scheduler, o).Call(t.Context(), "allocate", &yarnpb.AllocateRequestProto{}, &yarnpb.AllocateResponseProto{})
	if !errors.Is(err, yarnrpc.ErrAccessControl) || yarnrpc.MaybeSent(err) {
		t.Errorf("without a token: %v, maybe sent %v", err, yarnrpc.MaybeSent(err))
	}

	forged := unmanaged(t, c)
	forged.Password[0] ^= 1
	o.Token = creds.Fixed(forged)
	if _, err := yarnrpc.Dial(t.Context(), scheduler, o); !errors.Is(err, yarnrpc.ErrSASL) && !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("with a wrong password: %v", err)
	}
	forged.Identifier = ofAnotherAttempt(t, forged.Identifier)
	if _, err := yarnrpc.Dial(t.Context(), scheduler, o); !errors.Is(err, yarnrpc.ErrInvalidToken) || yarnrpc.Classify(err) != yarnrpc.Reauth {
		t.Errorf("with an identifier of nobody's: %v", err)
	}
}

// ofAnotherAttempt returns the identifier of an AMRM token for an unknown attempt. If the bytes are not an identifier
// at all, the ResourceManager reads them in the format of Hadoop 2.6, and may close the connection without an answer.
func ofAnotherAttempt(t *testing.T, identifier []byte) []byte {
	t.Helper()
	var p yarnpb.AMRMTokenIdentifierProto
	if err := proto.Unmarshal(identifier, &p); err != nil {
		t.Fatal(err)
	}
	p.AppAttemptId.AttemptId = proto.Int32(p.GetAppAttemptId().GetAttemptId() + 1)
	other, err := proto.Marshal(&p)
	if err != nil {
		t.Fatal(err)
	}
	return other
}

// TestTheResourceManagersExceptionsAreUnderstood would catch exceptions that callers cannot distinguish.
func TestTheResourceManagersExceptionsAreUnderstood(t *testing.T) {
	t.Parallel()
	rm := client(t, clusters.Use(t, clusters.Features))
	for name, tc := range map[string]struct {
		method string
		want   error
	}{
		"an application that is not there": {"getApplicationReport", yarnrpc.ErrApplicationNotFound},
		"a method that is not there":       {"getWeather", yarnrpc.ErrNoSuchMethod},
	} {
		err := rm.Call(t.Context(), tc.method, &yarnpb.GetApplicationReportRequestProto{
			ApplicationId: &yarnpb.ApplicationIdProto{Id: proto.Int32(1), ClusterTimestamp: proto.Int64(1)},
		}, &yarnpb.GetApplicationReportResponseProto{})
		if !errors.Is(err, tc.want) {
			t.Errorf("%s: got %v, want %v", name, err, tc.want)
		}
	}
}

// TestTheResourceManagerAnswersManyCallsOfOneConnection would catch an answer that goes to another call.
func TestTheResourceManagerAnswersManyCallsOfOneConnection(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	rm, nodes := client(t, c), int32(len(c.NodeManagers()))
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for range 10 {
				var response yarnpb.GetClusterMetricsResponseProto
				if err := rm.Call(t.Context(), "getClusterMetrics", &yarnpb.GetClusterMetricsRequestProto{}, &response); err != nil {
					t.Error(err)
				} else if got := response.GetClusterMetrics().GetNumActiveNms(); got != nodes {
					t.Errorf("%d NodeManagers", got)
				}
			}
		})
	}
	callers.Wait()
}

// TestAWebPortIsRecognised would catch an error about a wrong port without a remedy.
func TestAWebPortIsRecognised(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	conn := dial(t, c.RMWebAddress(), yarnrpc.Options{Protocol: yarnrpc.ApplicationClientProtocol})
	err := conn.Call(t.Context(), "getClusterMetrics", &yarnpb.GetClusterMetricsRequestProto{}, &yarnpb.GetClusterMetricsResponseProto{})
	if err == nil || !strings.Contains(fmt.Sprint(err), "speaks HTTP") {
		t.Errorf("got %v", err)
	}
}
