package yarnrpc_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// Errors tell what a server has said, and what would help.
func ExampleRemoteError() {
	fake, err := yarnfake.Start(yarnfake.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fake.Stop()
	o, err := yarnclient.FromConf(fake.Conf(), "alice")
	if err != nil {
		fmt.Println(err)
		return
	}
	client := yarnclient.New(o)
	defer client.Close()
	_, err = client.ApplicationReport(context.Background(), records.ApplicationID{ClusterTimestamp: 1, ID: 1})
	var remote *yarnrpc.RemoteError
	fmt.Println(errors.Is(err, yarnrpc.ErrApplicationNotFound), errors.As(err, &remote))
	fmt.Println(remote.Class, yarnrpc.Classify(err))
	// Output:
	// true true
	// org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException permanent
}
