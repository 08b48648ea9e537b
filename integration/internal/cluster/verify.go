package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// verifySettings reads back a daemon's effective configuration and compares each property that the daemon was given. So
// a lost setting, such as one in a misspelt file or in a folder missing from the class path, does not go unnoticed.
func (c *Cluster) verifySettings(ctx context.Context, d daemon) error {
	if d.Kind == zooKeeper {
		return nil // these show none, but without their own settings they would not listen at this address
	}
	effective, err := c.Settings(ctx, d.Name)
	if err != nil {
		return err
	}
	given := merged(c.spec.Core, d.Core)
	switch d.Kind {
	case nameNode, dataNode:
		maps.Copy(given, c.spec.HDFS)
		maps.Copy(given, d.HDFS)
		if d.Kind == nameNode {
			delete(given, "fs.defaultFS") // the daemon replaces it by its own address
		}
	case resourceManager, nodeManager:
		maps.Copy(given, c.spec.YARN)
		maps.Copy(given, d.YARN)
	case keyCenter, zooKeeper:
		return fmt.Errorf("%s has no Hadoop settings", d.Name)
	}
	if d.Kind == nameNode || d.Kind == resourceManager {
		delete(given, "hadoop.http.filter.initializers") // the daemons add a filter that accepts their tokens
	}
	maps.DeleteFunc(given, func(_, value string) bool { return value == "" }) // removed by Reconfigure; it has its default
	if diff := differences(given, effective); len(diff) > 0 {
		return fmt.Errorf("%s runs with wrong settings: %s", d.Name, strings.Join(diff, "; "))
	}
	return nil
}

// Settings returns a daemon's effective properties, read back from its web server. A secret value is "<redacted>".
func (c *Cluster) Settings(ctx context.Context, name string) (map[string]string, error) {
	d, err := c.spec.daemon(name)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Properties []struct{ Key, Value string }
	}
	if err := c.web().getJSON(ctx, "http://"+d.Web+"/conf?format=json", &answer); err != nil {
		return nil, fmt.Errorf("read back the settings of %s: %w", name, err)
	}
	effective := make(map[string]string, len(answer.Properties))
	for _, p := range answer.Properties {
		effective[p.Key] = p.Value
	}
	return effective, nil
}

// differences names the properties of want that got lacks or has with another value. It ignores the secrets that the
// servers hide.
func differences(want, got map[string]string) []string {
	const redacted = "<redacted>"
	var diff []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value := got[name]; value != want[name] && value != redacted {
			diff = append(diff, fmt.Sprintf("%s is %q, want %q", name, value, want[name]))
		}
	}
	return diff
}

// verifyCluster checks the properties of the whole cluster: the nodes with their size, the security, and the queues.
func (c *Cluster) verifyCluster(ctx context.Context) error {
	nodes, err := c.RM().Nodes(ctx)
	if err != nil {
		return fmt.Errorf("read back the nodes: %w", err)
	}
	if len(nodes) != c.spec.NodeManagers {
		return fmt.Errorf("the resourcemanager has %d nodes, want %d", len(nodes), c.spec.NodeManagers)
	}
	memory, err := strconv.Atoi(c.spec.YARN["yarn.nodemanager.resource.memory-mb"])
	if err != nil {
		return fmt.Errorf("yarn.nodemanager.resource.memory-mb: %w", err)
	}
	for _, n := range nodes {
		if n.AvailMemoryMB+n.UsedMemoryMB != memory {
			return fmt.Errorf("node %s has %d MB, want %d", n.ID, n.AvailMemoryMB+n.UsedMemoryMB, memory)
		}
	}
	if err := c.verifySecurity(ctx); err != nil {
		return err
	}
	return c.verifyQueues(ctx)
}

func (c *Cluster) verifyQueues(ctx context.Context) error {
	var answer struct {
		Scheduler struct {
			SchedulerInfo struct {
				Type   string
				Queues struct {
					Queue []struct {
						QueueName string
						Capacity  float64
					}
				}
			}
		}
	}
	if err := c.RM().Get(ctx, "scheduler", &answer); err != nil {
		return fmt.Errorf("read back the queues: %w", err)
	}
	got := map[string]string{}
	for _, q := range answer.Scheduler.SchedulerInfo.Queues.Queue {
		got[q.QueueName] = strconv.FormatFloat(q.Capacity, 'f', -1, 64)
	}
	want := map[string]string{}
	for name := range strings.SplitSeq(c.spec.Scheduler["yarn.scheduler.capacity.root.queues"], ",") {
		want[name] = c.spec.Scheduler["yarn.scheduler.capacity.root."+name+".capacity"]
	}
	if len(want) == 0 {
		return errors.New("no queue is configured")
	}
	if diff := differences(want, got); len(diff) > 0 {
		return fmt.Errorf("capacities of the queues: %s", strings.Join(diff, "; "))
	}
	return nil
}
