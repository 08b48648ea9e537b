package releases

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// masterVariable makes this test binary an ApplicationMaster. Its value is the application's directory on HDFS.
const masterVariable = "BOBBIN_TEST_RELEASES_MASTER"

// The files in its container and in the directory.
const (
	binaryName = "master"
	confName   = "hadoop.xml"

	inputName  = "input"
	outputName = "output"
)

// exitStatus is the exit status of the container that it runs.
const exitStatus records.ExitStatus = 7

// findings is the data that an ApplicationMaster puts into its diagnostics.
type findings struct {
	ResourceManager, NodeManager []yarnrpc.Security // each that differs from the one before, because idle connections end
	ExitStatus                   records.ExitStatus
	NameQueries                  int64 // lookups that would have left the machine
}

func runMaster() int {
	// The container has only a hosts file for lookups, without an entry for an address.
	var queries atomic.Int64
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		queries.Add(1)
		return nil, errors.New("there is no name server")
	}}
	if err := lead(context.Background(), &queries); err != nil {
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
	var toRM, toNM rpctest.Connections
	o, err := rpctest.ContainedOptions(conf)
	if err != nil {
		return err
	}
	o.RM.RPC.Opened, o.NM.RPC.Opened = toRM.Add, toNM.Add
	m, err := rpctest.NewMaster(ctx, o)
	if err != nil {
		return err
	}
	defer m.Close()
	m.Ask(1)
	err = m.Until(ctx, "the container to end", fmt.Sprintf("exit %d", exitStatus), func() bool { return len(m.Completed) > 0 })
	if err != nil {
		return errors.Join(err, m.RM.Finish(ctx, records.FinalFailed, err.Error(), ""))
	}
	ended := slices.Collect(maps.Values(m.Completed))[0]
	told, err := json.Marshal(findings{toRM.Kinds(), toNM.Kinds(), ended.ExitStatus, queries.Load()})
	if err != nil {
		return err
	}
	return m.RM.Finish(ctx, records.FinalSucceeded, string(told), "")
}

// copyInCapitals reads and writes on HDFS with the container's token.
func copyInCapitals(ctx context.Context, conf *hadoopconf.Conf, dir string) error {
	credentials, err := creds.ReadFile(os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	if err != nil {
		return err
	}
	files := dfs.New(dfs.Options{
		Conf: conf, User: alice,
		Credentials: func() *creds.Credentials { return credentials },
	})
	defer files.Close()
	text, err := files.ReadFile(ctx, dir+"/"+inputName, 1<<20)
	if err != nil {
		return err
	}
	return files.WriteFile(ctx, dir+"/"+outputName, bytes.ToUpper(text), 0o600)
}
