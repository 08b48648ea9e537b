package amrm_test

import (
	"context"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// An ApplicationMaster runs a command in two containers. Its cluster is inside this
// process. The ApplicationMaster is too, because it is unmanaged.
func ExampleClient_Heartbeats() {
	fake, err := yarnfake.Start(yarnfake.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fake.Stop()
	ctx := context.Background()
	application, err := unmanaged(ctx, fake)
	if err != nil {
		fmt.Println(err)
		return
	}

	lead := func() error {
		toRM, err := amrm.FromConf(fake.Conf()) // in a container: FromContainer
		if err != nil {
			return err
		}
		toRM.Attempt, toRM.Token = application.Attempt, application.AMRMToken
		toNM, err := nmclient.FromConf(fake.Conf())
		if err != nil {
			return err
		}
		rm, nm := amrm.New(toRM), nmclient.New(toNM)
		defer rm.Close()
		defer nm.Close()
		if _, err := rm.Register(ctx, amrm.RegisterRequest{RPCPort: -1}); err != nil {
			return err
		}
		rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: 128, VCores: 1}, Count: 2})
		done := 0
		for response, err := range rm.Heartbeats(ctx, amrm.Pace{Idle: 50 * time.Millisecond}) {
			if err != nil {
				return err
			}
			nm.SetTokens(response.NMTokens)
			for _, c := range response.Allocated {
				if err := nm.Start(ctx, c, records.ContainerLaunchContext{Commands: []string{"exit 3"}}); err != nil {
					return err
				}
			}
			for _, s := range response.Completed {
				fmt.Println(s.ExitStatus.Reason())
				done++
			}
			if done == 2 {
				break
			}
		}
		return rm.Finish(ctx, records.FinalSucceeded, "", "")
	}
	fmt.Println(lead())
	// Output:
	// the process exited with code 3
	// the process exited with code 3
	// <nil>
}

// unmanaged submits an application whose master YARN does not start.
func unmanaged(ctx context.Context, fake *yarnfake.Fake) (records.ApplicationReport, error) {
	o, err := yarnclient.FromConf(fake.Conf(), "alice")
	if err != nil {
		return records.ApplicationReport{}, err
	}
	client := yarnclient.New(o)
	defer client.Close()
	created, err := client.NewApplication(ctx)
	if err != nil {
		return records.ApplicationReport{}, err
	}
	return client.Submit(ctx, records.SubmissionContext{
		ID: created.ID, Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
}
