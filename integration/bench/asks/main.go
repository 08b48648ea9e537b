// Command asks is an ApplicationMaster that registers, requests many containers at once, sends
// heartbeats until it has them all, and unregisters. It starts nothing in them. It prints as one
// line of JSON the time since the registration, and the processor time of this process. Asks.java
// beside it does the same with Hadoop's own client.
//
//	asks -app ID -containers N -host NAME…
//
// It requests the same number of containers on each of the hosts.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "asks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	app := flag.String("app", "", "unmanaged `application` that waits for its master")
	containers := flag.Int("containers", 1, "`number` of containers")
	flag.Parse()
	hosts := flag.Args()
	id, err := records.ParseApplicationID(*app)
	if err != nil {
		return err
	}
	if len(hosts) == 0 {
		return errors.New("no host is named")
	}
	rm, err := connect(ctx, id)
	if err != nil {
		return err
	}
	defer rm.Close()
	start := time.Now()
	if _, err := rm.Register(ctx, amrm.RegisterRequest{Host: "localhost", RPCPort: -1}); err != nil {
		return err
	}
	ask := amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: 128, VCores: 1}, Count: *containers}
	for i, host := range hosts {
		each := (*containers + i) / len(hosts)
		ask.Hosts = append(ask.Hosts, amrm.HostAsk{Host: host, Rack: "/default-rack", Count: each})
	}
	rm.SetAsk(ask)
	got, beats := 0, 0
	for response, err := range rm.Heartbeats(ctx, amrm.Pace{}) {
		if err != nil {
			return err
		}
		beats++
		if got += len(response.Allocated); got >= *containers {
			break
		}
	}
	took, used := time.Since(start), processorTime()
	if err := rm.Finish(ctx, records.FinalSucceeded, "", ""); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"seconds": took.Seconds(), "cpuSeconds": used.Seconds(), "heartbeats": float64(beats),
	})
}

// connect makes the client of the application's attempt. The ResourceManager gives the attempt's
// token to the user who submitted it: HADOOP_USER_NAME.
func connect(ctx context.Context, id records.ApplicationID) (*amrm.Client, error) {
	dir, err := hadoopconf.Find(os.Getenv)
	if err != nil {
		return nil, err
	}
	conf, err := hadoopconf.Load(dir, hadoopconf.Environment{})
	if err != nil {
		return nil, err
	}
	o, err := yarnclient.FromConf(conf, os.Getenv("HADOOP_USER_NAME"))
	if err != nil {
		return nil, err
	}
	client := yarnclient.New(o)
	defer client.Close()
	report, err := client.ApplicationReport(ctx, id)
	if err != nil {
		return nil, err
	}
	if report.AMRMToken == nil {
		return nil, fmt.Errorf("%s is %v and has no token for its master", id, report.State)
	}
	master, err := amrm.FromConf(conf)
	if err != nil {
		return nil, err
	}
	master.Attempt, master.Token = report.Attempt, report.AMRMToken
	return amrm.New(master), nil
}

// processorTime returns this process's processor time so far.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // cannot fail for its own process
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
