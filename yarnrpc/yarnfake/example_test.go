package yarnfake_test

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

func ExampleStart() {
	fake, err := yarnfake.Start(yarnfake.Config{Nodes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { fmt.Println("stopped:", fake.Stop()) }()
	o, err := yarnclient.FromConf(fake.Conf(), "alice")
	if err != nil {
		fmt.Println(err)
		return
	}
	client := yarnclient.New(o)
	defer client.Close()
	nodes, err := client.ClusterNodes(context.Background(), records.NodeRunning)
	fmt.Println(len(nodes), "nodes run,", err)
	// Output:
	// 2 nodes run, <nil>
	// stopped: <nil>
}
