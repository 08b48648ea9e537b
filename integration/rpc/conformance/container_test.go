package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// A NodeManager protects its connections as the ResourceManager does, and its tokens
// are others: a client that talks to one need not be able to talk to the other.
func TestANodeManagerTakesItsTokenUnderEachProtection(t *testing.T) {
	c := clusters.Use(t, clusters.Features)
	scheduler, rm := schedulerAddress(t, c), client(t, c)
	for _, qop := range []sasl.QOP{sasl.QOPAuthentication, sasl.QOPIntegrity, sasl.QOPPrivacy} {
		t.Run(string(qop), func(t *testing.T) {
			token := unmanaged(t, rm)
			id, err := identifier.DecodeAMRM(token)
			if err != nil {
				t.Fatal(err)
			}
			rpc := yarnrpc.Options{QOPs: []sasl.QOP{qop}}
			master := amrm.New(amrm.Options{Addresses: []string{scheduler}, Attempt: id.Attempt, Token: token, RPC: rpc})
			nodes := nmclient.New(nmclient.Options{RPC: rpc})
			defer func() {
				if err := master.Close(); err != nil {
					t.Error(err)
				}
				if err := nodes.Close(); err != nil {
					t.Error(err)
				}
			}()
			if _, err := master.Register(t.Context(), amrm.RegisterRequest{Host: "localhost", RPCPort: -1}); err != nil {
				t.Fatal(err)
			}
			container := allocated(t, master, nodes)
			if err := nodes.Start(t.Context(), container, records.ContainerLaunchContext{Commands: []string{"exec sleep 60"}}); err != nil {
				t.Fatal(err)
			}
			status, err := nodes.Statuses(t.Context(), container.Node, container.ID)
			if err != nil || len(status) != 1 || status[0].ID != container.ID {
				t.Errorf("statuses are %+v, %v", status, err)
			}
			if err := nodes.Stop(t.Context(), container.Node, container.ID); err != nil {
				t.Error(err)
			}
			if err := master.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil {
				t.Error(err)
			}
		})
	}
}

// allocated asks for a container, and hands its node's token on.
func allocated(t *testing.T, master *amrm.Client, nodes *nmclient.Client) records.Container {
	t.Helper()
	master.SetAsk(amrm.Ask{Capability: records.Resource{MemoryMB: 128, VCores: 1}, Count: 1})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	beat := time.NewTicker(100 * time.Millisecond)
	defer beat.Stop()
	for {
		response, err := master.Allocate(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		nodes.SetTokens(response.NMTokens)
		if len(response.Allocated) > 0 {
			return response.Allocated[0]
		}
		<-beat.C
	}
}
