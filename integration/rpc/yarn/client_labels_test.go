package yarn

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// TestNodeLabels would catch a label that is reported for the wrong node, and an application whose request for one has
// no effect.
func TestNodeLabels(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
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
	if node.Host != clusters.GPUNode {
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

	// The label has its effect.
	application := rpctest.Shell("exec sleep 1000")
	application.NodeLabel = "gpu"
	report := rpctest.Submit(t, client, application)
	if report.NodeLabel != "gpu" || report.MasterNodeLabel != "gpu" {
		t.Errorf("labels of the application are %q and %q", report.NodeLabel, report.MasterNodeLabel)
	}
	rpctest.Await(t, client, report.ID, "on the labelled node", func(r records.ApplicationReport) bool {
		containers, err := client.Containers(t.Context(), r.Attempt)
		return err == nil && len(containers) == 1 && containers[0].Node == node
	})
	queue, err := client.QueueInfo(t.Context(), "default", yarnclient.QueueDetail{})
	if err != nil || !slices.Contains(queue.Labels, "gpu") || queue.Partitions["gpu"].Capacity != 1 || queue.Partitions["gpu"].EffectiveMaximum.MemoryMB != clusters.FeaturesNodeMB || queue.Partitions[""].Capacity != 0.5 {
		t.Errorf("queue is %+v, %v", queue, err)
	}
}

// TestNodeAttributes would catch a value that is reported for the wrong node or attribute, and an empty value that is
// lost.
func TestNodeAttributes(t *testing.T) {
	t.Parallel()
	client := rpctest.Client(t, clusters.Use(t, clusters.Features), rpctest.Me(t))
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
	if diff := cmp.Diff(map[string][]records.NodeAttribute{clusters.SSDNode: ssd, clusters.PlainNode: hdd}, ofNodes, byName); err != nil || diff != "" {
		t.Errorf("attributes of all nodes: %v (-want +got):\n%s", err, diff)
	}
	ofNodes, err = client.AttributesOfNodes(t.Context(), clusters.SSDNode)
	if diff := cmp.Diff(map[string][]records.NodeAttribute{clusters.SSDNode: ssd}, ofNodes, byName); err != nil || diff != "" {
		t.Errorf("attributes of a node: %v (-want +got):\n%s", err, diff)
	}

	all := map[records.NodeAttributeKey]map[string]string{disk: {clusters.SSDNode: "ssd", clusters.PlainNode: "hdd"}, slow: {clusters.PlainNode: ""}}
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
		if diff := cmp.Diff(map[string][]records.NodeAttribute{clusters.SSDNode: ssd, clusters.PlainNode: hdd}[r.ID.Host], r.Attributes, byName); diff != "" {
			t.Errorf("report of %s: %v (-want +got):\n%s", r.ID, err, diff)
		}
	}
}
