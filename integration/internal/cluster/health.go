package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// waitReady waits until the daemons are healthy. It fails at once when one of them has ended.
func (c *Cluster) waitReady(ctx context.Context, daemons ...daemon) error {
	for _, d := range daemons {
		err := wait.Poll(ctx, d.Name+" to be ready", func() error {
			err := c.ready(ctx, d)
			if err == nil {
				return nil
			}
			if _, ok := c.pid(d); !ok {
				return fmt.Errorf("%w: the process has ended", wait.ErrGivenUp)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%w\n%s ends with:\n%s", err, c.spec.logFile(d), c.logEnd(d))
		}
	}
	return nil
}

func (c *Cluster) logEnd(d daemon) []byte {
	text, err := os.ReadFile(c.spec.logFile(d))
	if err != nil {
		return []byte(err.Error())
	}
	return lastLines(text, 12)
}

// ready returns nil if the daemon is healthy, and otherwise the missing condition.
func (c *Cluster) ready(ctx context.Context, d daemon) error {
	switch d.Kind {
	case nameNode:
		return c.nameNodeReady(ctx, d)
	case dataNode:
		return c.dataNodeReady(ctx, d)
	case resourceManager:
		return c.resourceManagerReady(ctx, d)
	case nodeManager:
		return c.nodeManagerReady(ctx, d)
	case keyCenter, zooKeeper:
		return listening(ctx, d.Web)
	default:
		return fmt.Errorf("%w: unknown kind of daemon %q", wait.ErrGivenUp, d.Kind)
	}
}

func (c *Cluster) nameNodeReady(ctx context.Context, d daemon) error {
	var answer jmx[struct{ Safemode, LiveNodes string }]
	if err := c.web().getJSON(ctx, jmxURL(d.Web, "Hadoop:service=NameNode,name=NameNodeInfo"), &answer); err != nil {
		return err
	}
	bean, err := answer.bean()
	if err != nil {
		return err
	}
	if bean.Safemode != "" {
		standby, err := c.isStandby(ctx, d)
		if err == nil && !standby {
			err = fmt.Errorf("in safe mode: %s", bean.Safemode)
		}
		if err != nil {
			return err
		}
	} else if err := c.hasRoom(d, bean.LiveNodes); err != nil {
		return err
	}
	if c.spec.NameNodeHA && d.Name != otherNameNode {
		return c.takesCalls(ctx, d)
	}
	return nil
}

// hasRoom returns nil if a NameNode knows the disks of each running DataNode of its HDFS. A restarted NameNode learns
// of the disks some seconds after it learns of the DataNodes, and places no block until then. live is a NameNodeInfo's
// LiveNodes.
func (c *Cluster) hasRoom(nn daemon, live string) error {
	var known map[string]struct{ Capacity int64 }
	if err := json.Unmarshal([]byte(live), &known); err != nil {
		return fmt.Errorf("live nodes of the namenode: %w", err)
	}
	var with, wanted int
	for _, node := range known {
		if node.Capacity > 0 {
			with++
		}
	}
	for _, d := range c.spec.Daemons {
		if d.Kind != dataNode || (d.Name == otherDataNode) != (nn.Name == otherNameNode) {
			continue
		}
		if pid, runs := c.pid(d); runs && !isPaused(pid) {
			wanted++
		}
	}
	if with < wanted {
		return fmt.Errorf("the namenode knows the disks of %d datanodes, but %d run", with, wanted)
	}
	return nil
}

// isStandby reports whether a NameNode is the standby of a pair. A restarted standby lacks the blocks that the active
// NameNode has removed since. It stays in safe mode until it hears of that, minutes later, or becomes active.
func (c *Cluster) isStandby(ctx context.Context, d daemon) (bool, error) {
	if !c.spec.NameNodeHA {
		return false, nil
	}
	var answer jmx[struct{ State string }]
	if err := c.web().getJSON(ctx, jmxURL(d.Web, "Hadoop:service=NameNode,name=NameNodeStatus"), &answer); err != nil {
		return false, err
	}
	bean, err := answer.bean()
	return bean.State == "standby", err
}

// takesCalls returns nil if a NameNode of a pair accepts calls. For a moment after its MBeans exist, it answers that it
// has not started. A NameNode that refuses a login has started.
func (c *Cluster) takesCalls(ctx context.Context, d daemon) error {
	server, err := c.haService(d.Name)
	if err != nil {
		return err
	}
	_, err = server.Status(ctx)
	if errors.Is(err, yarnrpc.ErrSASL) {
		err = nil
	}
	return errors.Join(err, server.Close())
}

// dataNodeReady asks the DataNode itself, because the NameNode lists a dead DataNode for ten minutes.
func (c *Cluster) dataNodeReady(ctx context.Context, d daemon) error {
	var answer jmx[struct{ BPServiceActorInfo string }]
	if err := c.web().getJSON(ctx, jmxURL(d.Web, "Hadoop:service=DataNode,name=DataNodeInfo"), &answer); err != nil {
		return err
	}
	bean, err := answer.bean()
	if err != nil {
		return err
	}
	var actors []struct{ ActorState, BlockPoolID string }
	if err := json.Unmarshal([]byte(bean.BPServiceActorInfo), &actors); err != nil {
		return fmt.Errorf("state of the link to the namenode: %w", err)
	}
	for _, a := range actors {
		if a.ActorState != "RUNNING" || a.BlockPoolID == "" {
			return fmt.Errorf("link to the namenode is %s", a.ActorState)
		}
	}
	if len(actors) == 0 {
		return fmt.Errorf("no link to the namenode")
	}
	return nil
}

func listening(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// resourceManagerReady returns nil for a standby too. A ResourceManager reports itself as started before it has decided
// its role. An active one accepts nodes before it listens to clients.
func (c *Cluster) resourceManagerReady(ctx context.Context, d daemon) error {
	info, err := c.rmOf(d).Info(ctx)
	if err != nil {
		return err
	}
	if info.State != "STARTED" {
		return fmt.Errorf("state is %s", info.State)
	}
	switch info.HAState {
	case "ACTIVE":
		return listening(ctx, c.spec.resourceManagerAddress(d, "address"))
	case "STANDBY":
		return listening(ctx, c.spec.resourceManagerAddress(d, "admin.address"))
	default:
		return fmt.Errorf("state is %s", strings.ToLower(info.HAState))
	}
}

// nodeManagerReady asks the ResourceManager, because that must know the node. A report from before the start of the
// process does not count: it is from the process before.
func (c *Cluster) nodeManagerReady(ctx context.Context, d daemon) error {
	started, err := os.Stat(c.spec.pidFile(d))
	if err != nil {
		return err
	}
	nodes, err := c.RM().Nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		schedulable := n.AvailMemoryMB+n.UsedMemoryMB > 0 // the scheduler learns of a node later than other parts
		if n.Host != d.Host || n.State != "RUNNING" || !schedulable {
			continue
		}
		if time.UnixMilli(n.LastHealthUpdate).After(started.ModTime()) {
			return nil
		}
	}
	return fmt.Errorf("the resourcemanager does not list the node as running")
}
