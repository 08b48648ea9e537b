package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func sessionQueryCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:  "query",
		Usage: "print the nodes and queues of YARN",
		Description: `Prints the memory, vcores and containers of each running node and of all of them together,
and the queues that take applications.

  bobbin session query`,
		Flags:  append([]cli.Flag{outputFlag()}, clusterFlags()...),
		Action: bind(withYARN(sessionQuery)),
	}
}

func sessionQuery(ctx context.Context, c *call, cluster *client.Cluster, _ config.Config) error {
	nodes, queues, err := capacities(ctx, cluster.YARN)
	switch {
	case err != nil:
		return err
	case c.json:
		return c.encode(nodesJSON(nodes, queues))
	}
	return printNodes(c.Out, nodes, queues)
}

// capacities are YARN's running nodes, and its queues that take applications.
func capacities(ctx context.Context, yarn *yarnclient.Client) (nodes []records.NodeReport, queues []records.QueueInfo, err error) {
	var root records.QueueInfo
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		nodes, err = yarn.ClusterNodes(ctx, records.NodeRunning)
		return err
	})
	group.Go(func() (err error) {
		root, err = yarn.QueueInfo(ctx, "root", yarnclient.QueueDetail{Children: true, Recursive: true})
		return err
	})
	err = group.Wait()
	slices.SortFunc(nodes, func(a, b records.NodeReport) int { return cmp.Compare(a.ID.String(), b.ID.String()) })
	return nodes, leaves(root), err
}

// leaves are the queues that take applications.
func leaves(queue records.QueueInfo) []records.QueueInfo {
	if len(queue.Children) == 0 {
		return []records.QueueInfo{queue}
	}
	var all []records.QueueInfo
	for _, child := range queue.Children {
		all = append(all, leaves(child)...)
	}
	return all
}

func printNodes(out io.Writer, nodes []records.NodeReport, queues []records.QueueInfo) error {
	table := terminal.Table{Columns: []terminal.Column{
		{Title: "node"},
		{Title: "memory (MB)"},
		{Title: "used"},
		{Title: "vcores"},
		{Title: "used"},
		{Title: "containers"},
		{Title: "health", Long: true},
	}}
	var total, used records.Resource
	containers := 0
	for _, n := range nodes {
		table.Add(n.ID, n.Capability.MemoryMB, n.Used.MemoryMB, n.Capability.VCores, n.Used.VCores, n.Containers,
			cmp.Or(n.HealthReport, "good"))
		total.MemoryMB, total.VCores = total.MemoryMB+n.Capability.MemoryMB, total.VCores+n.Capability.VCores
		used.MemoryMB, used.VCores = used.MemoryMB+n.Used.MemoryMB, used.VCores+n.Used.VCores
		containers += n.Containers
	}
	table.Add(fmt.Sprintf("%d nodes", len(nodes)), total.MemoryMB, used.MemoryMB, total.VCores, used.VCores, containers, "")
	if err := table.Write(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	return printQueues(out, queues)
}

func printQueues(out io.Writer, queues []records.QueueInfo) error {
	table := terminal.Table{Columns: []terminal.Column{
		{Title: "queue", Long: true}, {Title: "state"}, {Title: "share of its parent"}, {Title: "at most"}, {Title: "in use of its share"},
	}}
	percent := func(share float32) string { return fmt.Sprintf("%.0f%%", 100*share) }
	for _, q := range queues {
		table.Add(cmp.Or(q.Path, q.Name), q.State, percent(q.Capacity), percent(q.MaximumCapacity), percent(q.CurrentCapacity))
	}
	return table.Write(out)
}

func nodesJSON(nodes []records.NodeReport, queues []records.QueueInfo) any {
	type node struct {
		Node       string `json:"node"`
		MemoryMB   int64  `json:"memoryMB"`
		UsedMB     int64  `json:"usedMB"`
		VCores     int    `json:"vcores"`
		UsedVCores int    `json:"usedVcores"`
		Containers int    `json:"containers"`
		Health     string `json:"health"` // "": good
	}
	type queue struct {
		Queue    string             `json:"queue"`
		State    records.QueueState `json:"state"`
		Capacity float32            `json:"capacity"` // share of the parent's, 0 to 1
		Maximum  float32            `json:"maximumCapacity"`
		Current  float32            `json:"currentCapacity"` // used share of its own, above 1 if it borrows
	}
	told := struct {
		Nodes  []node  `json:"nodes"`
		Queues []queue `json:"queues"`
	}{make([]node, len(nodes)), make([]queue, len(queues))}
	for i, n := range nodes {
		told.Nodes[i] = node{
			n.ID.String(), n.Capability.MemoryMB, n.Used.MemoryMB, n.Capability.VCores, n.Used.VCores, n.Containers, n.HealthReport,
		}
	}
	for i, q := range queues {
		told.Queues[i] = queue{cmp.Or(q.Path, q.Name), q.State, q.Capacity, q.MaximumCapacity, q.CurrentCapacity}
	}
	return told
}
