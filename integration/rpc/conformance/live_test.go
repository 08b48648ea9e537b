package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// protections are all there are, so that a client can have each from one cluster.
const protections = "authentication,integrity,privacy"

func TestMain(m *testing.M) { os.Exit(clusters.Main(m)) }

func schedulerAddress(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	conf, err := hadoopconf.Load(c.ConfDir(), hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	address := conf.Get("yarn.resourcemanager.scheduler.address")
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
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func client(t *testing.T, c *cluster.Cluster) *yarnrpc.Conn {
	t.Helper()
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return dial(t, c.RMAddress(), yarnrpc.Options{
		Protocol: yarnrpc.ApplicationClientProtocol,
		User:     yarnrpc.UserInformation{Effective: me.Username},
		MaxIdle:  -1,
	})
}

// unmanaged submits an application whose master is the test, and gives the token that
// the ResourceManager makes for it.
func unmanaged(t *testing.T, rm *yarnrpc.Conn) *creds.Token {
	t.Helper()
	var created yarnpb.GetNewApplicationResponseProto
	call(t, rm, "getNewApplication", &yarnpb.GetNewApplicationRequestProto{}, &created)
	id := created.GetApplicationId()
	call(t, rm, "submitApplication", &yarnpb.SubmitApplicationRequestProto{
		ApplicationSubmissionContext: &yarnpb.ApplicationSubmissionContextProto{
			ApplicationId:   id,
			ApplicationName: proto.String(t.Name()),
			UnmanagedAm:     proto.Bool(true),
			AmContainerSpec: &yarnpb.ContainerLaunchContextProto{},
			Resource:        &yarnpb.ResourceProto{Memory: proto.Int64(128), VirtualCores: proto.Int32(1)},
		},
	}, &yarnpb.SubmitApplicationResponseProto{})
	t.Cleanup(func() {
		// The test's context has ended. A failed test may leave the application running.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Second)
		defer cancel()
		if err := rm.Call(ctx, "forceKillApplication", &yarnpb.KillApplicationRequestProto{ApplicationId: id}, &yarnpb.KillApplicationResponseProto{}); err != nil {
			t.Error(err)
		}
	})
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		var response yarnpb.GetApplicationReportResponseProto
		call(t, rm, "getApplicationReport", &yarnpb.GetApplicationReportRequestProto{ApplicationId: id}, &response)
		if p := response.GetApplicationReport().GetAmRmToken(); p != nil {
			return &creds.Token{Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(), Service: p.GetService()}
		}
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatal("the test's time is up while waiting for the AMRM token")
		}
	}
}

func call(t *testing.T, c yarnrpc.Caller, method string, request, response proto.Message) {
	t.Helper()
	if err := c.Call(t.Context(), method, request, response); err != nil {
		t.Fatal(err)
	}
}

// Only a real server shows that digests, wrapping and the order of messages are right:
// our own would make the same mistakes.
func TestTheResourceManagerTakesItsTokenUnderEachProtection(t *testing.T) {
	c := clusters.Use(t, clusters.Features)
	scheduler, rm := schedulerAddress(t, c), client(t, c)
	qops, err := sasl.ParseProtection(protections)
	if err != nil {
		t.Fatal(err)
	}
	for _, qop := range qops {
		t.Run(string(qop), func(t *testing.T) {
			o := yarnrpc.Options{
				Protocol: yarnrpc.ApplicationMasterProtocol,
				Token:    creds.Fixed(unmanaged(t, rm)),
				QOPs:     []sasl.QOP{qop},
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

func TestTheResourceManagerRefusesWhoHasNoToken(t *testing.T) {
	c := clusters.Use(t, clusters.Features)
	scheduler := schedulerAddress(t, c)
	o := yarnrpc.Options{Protocol: yarnrpc.ApplicationMasterProtocol, User: yarnrpc.UserInformation{Effective: "alice"}}
	err := dial(t, scheduler, o).Call(t.Context(), "allocate", &yarnpb.AllocateRequestProto{}, &yarnpb.AllocateResponseProto{})
	if !errors.Is(err, yarnrpc.ErrAccessControl) || yarnrpc.MaybeSent(err) {
		t.Errorf("without a token: %v, maybe sent %v", err, yarnrpc.MaybeSent(err))
	}

	forged := unmanaged(t, client(t, c))
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

// ofAnotherAttempt is the identifier of an AMRM token for an attempt that there is not. Of bytes
// that are no identifier at all the ResourceManager makes what it did until Hadoop 2.6, and may
// hang up without a word.
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

func TestTheResourceManagersExceptionsAreUnderstood(t *testing.T) {
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

func TestTheResourceManagerAnswersManyCallsOfOneConnection(t *testing.T) {
	rm := client(t, clusters.Use(t, clusters.Features))
	var callers sync.WaitGroup
	for range 32 {
		callers.Go(func() {
			for range 10 {
				var response yarnpb.GetClusterMetricsResponseProto
				if err := rm.Call(t.Context(), "getClusterMetrics", &yarnpb.GetClusterMetricsRequestProto{}, &response); err != nil {
					t.Error(err)
				} else if got := response.GetClusterMetrics().GetNumActiveNms(); got != 1 {
					t.Errorf("%d NodeManagers", got)
				}
			}
		})
	}
	callers.Wait()
}

func TestAWebPortIsRecognised(t *testing.T) {
	c := clusters.Use(t, clusters.Features)
	conn := dial(t, c.RMWebAddress(), yarnrpc.Options{Protocol: yarnrpc.ApplicationClientProtocol})
	err := conn.Call(t.Context(), "getClusterMetrics", &yarnpb.GetClusterMetricsRequestProto{}, &yarnpb.GetClusterMetricsResponseProto{})
	if err == nil || !strings.Contains(fmt.Sprint(err), "speaks HTTP") {
		t.Errorf("got %v", err)
	}
}
