package yarnclient_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// The applications that run in a queue, as the cluster's configuration finds it.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
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

// A shell command as an application: one that never registers as an
// ApplicationMaster, so that YARN counts it as failed, with the command's exit code.
func ExampleClient_Submit() {
	submit := func(ctx context.Context, client *yarnclient.Client, command string) error {
		created, err := client.NewApplication(ctx)
		if err != nil {
			return err
		}
		report, err := client.Submit(ctx, records.SubmissionContext{
			ID: created.ID, Name: "shell", Queue: "default", MaxAttempts: 1,
			Resource:  records.Resource{MemoryMB: 128, VCores: 1},
			Container: records.ContainerLaunchContext{Commands: []string{command + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"}},
		})
		if err != nil {
			return err
		}
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for !report.State.Terminal() {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return client.Kill(context.WithoutCancel(ctx), created.ID, "nobody waits for it")
			}
			if report, err = client.ApplicationReport(ctx, created.ID); err != nil {
				return err
			}
		}
		fmt.Println(report.State, report.Diagnostics)
		return nil
	}
	_ = submit
}

// Room for ten containers, for an hour between ten at night and six in the morning, every day.
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
