package releases

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// masterVariable makes this test binary an ApplicationMaster: it names the application's directory on HDFS.
const masterVariable = "BOBBIN_TEST_MATRIX_MASTER"

// The files in its container, and those in the directory.
const (
	binaryName = "master"
	confName   = "hadoop.xml"

	inputName  = "input"
	outputName = "output"
)

// exitStatus is that of the container that it runs.
const exitStatus records.ExitStatus = 7

// findings are what an ApplicationMaster tells in its diagnostics.
type findings struct {
	ResourceManager, NodeManager []yarnrpc.Security // each that differs from the one before: idle connections end
	ExitStatus                   records.ExitStatus
	NameQueries                  int64 // that would have left the machine
}

func runMaster() int {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	// The container has a hosts file and nothing else to look names up in: neither is there an
	// address's name.
	var queries atomic.Int64
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		queries.Add(1)
		return nil, errors.New("there is no name server")
	}}
	if err := lead(ctx, &queries); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// lead is an ApplicationMaster that runs one container.
func lead(ctx context.Context, queries *atomic.Int64) error {
	text, err := os.ReadFile(confName)
	if err != nil {
		return err
	}
	conf, err := hadoopconf.Parse(text)
	if err != nil {
		return err
	}
	if err := copyInCapitals(ctx, conf, os.Getenv(masterVariable)); err != nil {
		return err
	}
	var toRM, toNM connections
	rmOptions, err := amrm.FromContainer(conf, os.Getenv)
	if err != nil {
		return err
	}
	rmOptions.RPC.Opened = toRM.add
	nmOptions, err := nmclient.FromConf(conf)
	if err != nil {
		return err
	}
	nmOptions.RPC.Opened = toNM.add

	rm, nm := amrm.New(rmOptions), nmclient.New(nmOptions)
	defer rm.Close()
	defer nm.Close()
	if _, err := rm.Register(ctx, amrm.RegisterRequest{Host: "localhost", RPCPort: -1}); err != nil {
		return err
	}
	ended, err := runOne(ctx, rm, nm)
	if err != nil {
		return errors.Join(err, rm.Finish(ctx, records.FinalFailed, err.Error(), ""))
	}
	told, err := json.Marshal(findings{toRM.kinds(), toNM.kinds(), ended.ExitStatus, queries.Load()})
	if err != nil {
		return err
	}
	return rm.Finish(ctx, records.FinalSucceeded, string(told), "")
}

// copyInCapitals reads and writes on HDFS by the container's token.
func copyInCapitals(ctx context.Context, conf *hadoopconf.Conf, dir string) error {
	credentials, err := creds.ReadFile(os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	if err != nil {
		return err
	}
	files := dfs.New(dfs.Options{
		Conf: conf, User: alice, Patience: time.Minute,
		Credentials: func() *creds.Credentials { return credentials },
	})
	defer files.Close()
	text, err := files.ReadFile(ctx, dir+"/"+inputName, 1<<20)
	if err != nil {
		return err
	}
	return files.WriteFile(ctx, dir+"/"+outputName, bytes.ToUpper(text), 0o600)
}

// runOne runs a container to its end.
func runOne(ctx context.Context, rm *amrm.Client, nm *nmclient.Client) (records.ContainerStatus, error) {
	rm.SetAsk(amrm.Ask{Capability: records.Resource{MemoryMB: 128, VCores: 1}, Count: 1})
	launch := records.ContainerLaunchContext{Commands: []string{fmt.Sprintf("exit %d", exitStatus)}}
	for response, err := range rm.Heartbeats(ctx, amrm.Pace{}) {
		if err != nil {
			return records.ContainerStatus{}, err
		}
		nm.SetTokens(response.NMTokens)
		for _, container := range response.Allocated {
			if err := nm.Start(ctx, container, launch); err != nil {
				return records.ContainerStatus{}, err
			}
		}
		if len(response.Completed) > 0 {
			return response.Completed[0], nil
		}
	}
	return records.ContainerStatus{}, errors.New("the heartbeats have ended")
}
