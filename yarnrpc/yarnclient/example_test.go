package yarnclient_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// The example lists the applications of a queue in the configured cluster.
func Example() {
	ctx := context.Background()
	conf, err := hadoopconf.Load(os.Getenv("HADOOP_CONF_DIR"), hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		fmt.Println(err)
		return
	}
	options, err := yarnclient.FromConf(conf, os.Getenv("USER"))
	if err != nil {
		fmt.Println(err)
		return
	}
	client := yarnclient.New(options)
	defer client.Close()

	reports, err := client.Applications(ctx, yarnclient.Filter{
		States: []records.ApplicationState{records.ApplicationRunning},
		Queues: []string{"default"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range reports {
		fmt.Println(r.ID, r.User, r.Name, r.Usage.Used)
	}
}

// The example submits a shell command as an application. It never registers as an
// ApplicationMaster, so YARN counts it as failed, with the command's exit code. The cluster is
// inside this process.
func ExampleClient_Submit() {
	fake, err := yarnfake.Start(yarnfake.Config{MaxAttempts: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fake.Stop()
	options, err := yarnclient.FromConf(fake.Conf(), "alice")
	if err != nil {
		fmt.Println(err)
		return
	}
	client := yarnclient.New(options)
	defer client.Close()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	created, err := client.NewApplication(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := client.Submit(ctx, records.SubmissionContext{
		ID: created.ID, Name: "shell", Queue: "default", MaxAttempts: 1,
		Resource:  records.Resource{MemoryMB: 128, VCores: 1},
		Container: records.ContainerLaunchContext{Commands: []string{"echo it runs 1><LOG_DIR>/stdout; exit 3"}},
	})
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for err == nil && !report.State.Terminal() {
		select {
		case <-ticker.C:
			report, err = client.ApplicationReport(ctx, created.ID)
		case <-ctx.Done():
			err = client.Kill(context.WithoutCancel(ctx), created.ID, "nobody waits for it")
		}
	}
	fmt.Println(report.State, strings.Contains(report.Diagnostics, "exitCode: 3"), err)
	// Output: FAILED true <nil>
}

// The example lists the applications of one user in one state. The cluster is inside this
// process.
func ExampleClient_Applications() {
	fake, err := yarnfake.Start(yarnfake.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fake.Stop()
	options, err := yarnclient.FromConf(fake.Conf(), "alice")
	if err != nil {
		fmt.Println(err)
		return
	}
	client := yarnclient.New(options)
	defer client.Close()

	ctx := context.Background()
	created, err := client.NewApplication(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = client.Submit(ctx, records.SubmissionContext{
		ID: created.ID, Name: "waits for its master", Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	reports, err := client.Applications(ctx, yarnclient.Filter{
		States: []records.ApplicationState{records.ApplicationAccepted}, Users: []string{"alice"},
	})
	for _, r := range reports {
		fmt.Println(r.Name, r.State)
	}
	fmt.Println(err)
	// Output:
	// waits for its master ACCEPTED
	// <nil>
}

// The example reserves room for ten containers, for an hour between ten at night and six in
// the morning, every day.
func ExampleClient_SubmitReservation() {
	reserve := func(ctx context.Context, client *yarnclient.Client, evening time.Time) (records.ReservationID, error) {
		id, err := client.NewReservation(ctx)
		if err != nil {
			return id, err
		}
		return id, client.SubmitReservation(ctx, id, "nightly", records.ReservationDefinition{
			Name:       "report",
			Arrival:    evening,
			Deadline:   evening.Add(8 * time.Hour),
			Recurrence: 24 * time.Hour,
			Requests: []records.ReservationRequest{{
				Capability:  records.Resource{MemoryMB: 4096, VCores: 2},
				Containers:  10,
				Concurrency: 10, // all at once
				Duration:    time.Hour,
			}},
		})
	}
	_ = reserve
}
