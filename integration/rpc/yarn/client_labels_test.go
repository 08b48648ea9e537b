package yarn

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

const (
	labelled = "127.0.0.2"
	rmAdmin  = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
)

func testNodeLabels(t *testing.T, c *cluster.Cluster) {
	client := newClient(t, c, me(t))
	if labels, err := client.NodeLabels(t.Context()); err != nil || len(labels) != 0 {
		t.Errorf("at first, labels are %+v, %v", labels, err)
	}
	java(t, c, rmAdmin, "-addToClusterNodeLabels", "gpu(exclusive=true),spare(exclusive=false)")
	java(t, c, rmAdmin, "-replaceLabelsOnNode", labelled+"=gpu")
	labels, err := client.NodeLabels(t.Context())
	want := []records.NodeLabel{{Name: "gpu", Exclusive: true}, {Name: "spare"}}
	byName := cmpopts.SortSlices(func(a, b records.NodeLabel) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, labels, byName); err != nil || diff != "" {
		t.Errorf("labels: %v (-want +got):\n%s", err, diff)
	}
	var web struct {
		Nodes struct {
			Node []struct {
				ID         string
				NodeLabels []string
			}
		}
	}
	if err := c.RM().Get(t.Context(), "nodes", &web); err != nil {
		t.Fatal(err)
	}
	var node records.NodeID
	for _, n := range web.Nodes.Node {
		if slices.Contains(n.NodeLabels, "gpu") {
			if node, err = records.ParseNodeID(n.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if node.Host != labelled {
		t.Fatalf("the ResourceManager says %+v", web)
	}
	ofNodes, err := client.LabelsOfNodes(t.Context())
	if err != nil || !slices.Equal(ofNodes[node], []string{"gpu"}) {
		t.Errorf("labels of nodes are %+v, %v", ofNodes, err)
	}
	for _, asked := range [][]string{nil, {"gpu"}, {"gpu", "spare", "none"}} {
		nodes, err := client.NodesOfLabels(t.Context(), asked...)
		if err != nil || !slices.Contains(nodes["gpu"], node) || len(nodes["spare"]) != 0 {
			t.Errorf("nodes of %v are %+v, %v", asked, nodes, err)
		}
	}
	reports, err := client.ClusterNodes(t.Context())
	for _, r := range reports {
		if has := slices.Contains(r.Labels, "gpu"); has != (r.ID == node) {
			t.Errorf("report of %s says labels %v, %v", r.ID, r.Labels, err)
		}
	}

	// The label does what it is for.
	application := shell("sleep 60")
	application.NodeLabel = "gpu"
	report := submit(t, client, application)
	if report.NodeLabel != "gpu" || report.MasterNodeLabel != "gpu" {
		t.Errorf("labels of the application are %q and %q", report.NodeLabel, report.MasterNodeLabel)
	}
	await(t, client, report.ID, "on the labelled node", func(r records.ApplicationReport) bool {
		containers, err := client.Containers(t.Context(), r.Attempt)
		return err == nil && len(containers) == 1 && containers[0].Node == node
	})
	queue, err := client.QueueInfo(t.Context(), "default", yarnclient.QueueDetail{})
	if err != nil || !slices.Contains(queue.Labels, "gpu") || queue.Partitions["gpu"].Capacity != 1 || queue.Partitions["gpu"].EffectiveMaximum.MemoryMB != 4096 || queue.Partitions[""].Capacity != 0.5 {
		t.Errorf("queue is %+v, %v", queue, err)
	}
}

func testNodeAttributes(t *testing.T, c *cluster.Cluster) {
	client := newClient(t, c, me(t))
	if attributes, err := client.NodeAttributes(t.Context()); err != nil || len(attributes) != 0 {
		t.Errorf("at first, attributes are %+v, %v", attributes, err)
	}
	java(t, c, "org.apache.hadoop.yarn.client.cli.NodeAttributesCLI", "-add", "127.0.0.2:disk(STRING)=ssd 127.0.0.3:disk(STRING)=hdd,slow(STRING)")
	disk := records.NodeAttributeKey{Prefix: records.AttributeCentralized, Name: "disk"}
	slow := records.NodeAttributeKey{Prefix: records.AttributeCentralized, Name: "slow"}

	attributes, err := client.NodeAttributes(t.Context())
	want := map[records.NodeAttributeKey]records.NodeAttributeType{disk: records.AttributeString, slow: records.AttributeString}
	if diff := cmp.Diff(want, attributes); err != nil || diff != "" {
		t.Errorf("attributes: %v (-want +got):\n%s", err, diff)
	}

	byName := cmpopts.SortSlices(func(a, b records.NodeAttribute) bool { return a.Key.Name < b.Key.Name })
	ssd := []records.NodeAttribute{{Key: disk, Type: records.AttributeString, Value: "ssd"}}
	hdd := []records.NodeAttribute{{Key: disk, Type: records.AttributeString, Value: "hdd"}, {Key: slow, Type: records.AttributeString}}
	ofNodes, err := client.AttributesOfNodes(t.Context())
	if diff := cmp.Diff(map[string][]records.NodeAttribute{"127.0.0.2": ssd, "127.0.0.3": hdd}, ofNodes, byName); err != nil || diff != "" {
		t.Errorf("attributes of all nodes: %v (-want +got):\n%s", err, diff)
	}
	ofNodes, err = client.AttributesOfNodes(t.Context(), "127.0.0.2")
	if diff := cmp.Diff(map[string][]records.NodeAttribute{"127.0.0.2": ssd}, ofNodes, byName); err != nil || diff != "" {
		t.Errorf("attributes of a node: %v (-want +got):\n%s", err, diff)
	}

	all := map[records.NodeAttributeKey]map[string]string{disk: {"127.0.0.2": "ssd", "127.0.0.3": "hdd"}, slow: {"127.0.0.3": ""}}
	ofAttributes, err := client.NodesOfAttributes(t.Context())
	if diff := cmp.Diff(all, ofAttributes); err != nil || diff != "" {
		t.Errorf("nodes of all attributes: %v (-want +got):\n%s", err, diff)
	}
	delete(all, disk)
	ofAttributes, err = client.NodesOfAttributes(t.Context(), slow)
	if diff := cmp.Diff(all, ofAttributes); err != nil || diff != "" {
		t.Errorf("nodes of an attribute: %v (-want +got):\n%s", err, diff)
	}

	reports, err := client.ClusterNodes(t.Context(), records.NodeRunning)
	for _, r := range reports {
		if diff := cmp.Diff(map[string][]records.NodeAttribute{"127.0.0.2": ssd, "127.0.0.3": hdd}[r.ID.Host], r.Attributes, byName); diff != "" {
			t.Errorf("report of %s: %v (-want +got):\n%s", r.ID, err, diff)
		}
	}
}
