package cluster

import (
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
)

// Config describes the cluster to start. The zero value is useful: two NodeManagers in a new folder.
type Config struct {
	// Dir is the cluster's folder. It must not exist, be empty, or hold a cluster that no longer runs, which is then
	// replaced. If Dir is empty, Start makes a new temporary folder, which Close removes.
	Dir string
	// Version is the Hadoop release. Empty means artifacts.DefaultVersion.
	Version string
	// NodeManagers is the number of NodeManagers: at most 50, and 2 if it is zero.
	NodeManagers int
	// DataNodes is the number of DataNodes: at most 4, and 1 if it is zero. It is also the number of a file's replicas.
	DataNodes int
	// Heartbeat is the interval at which NodeManagers report to the ResourceManager. Zero means YARN's default of 1 s,
	// for which users wait in each step of an application.
	Heartbeat time.Duration
	// MemoryMB and VCores are the resources that each NodeManager offers to YARN: 4096 and 8 if they are zero. They
	// also bound the largest container that YARN grants.
	MemoryMB, VCores int
	// Users get home folders on HDFS, like the user who starts the cluster.
	Users []string
	// Core, HDFS, YARN and Scheduler are further properties of core-, hdfs-, yarn-site.xml and capacity-scheduler.xml.
	// They override the harness's own.
	Core, HDFS, YARN, Scheduler map[string]string
	// HA gives the cluster two ResourceManagers, resourcemanager1 and resourcemanager2, with their state in ZooKeeper.
	// One of them is active.
	HA bool
	// ZooKeeper gives the cluster a ZooKeeper with the settings of its sample configuration. With HA there is one anyway.
	ZooKeeper bool
	// NameNodeHA gives the cluster two NameNodes behind a nameservice, namenode1 and namenode2. namenode1 is active at
	// first.
	NameNodeHA bool
	// OtherHDFS gives the cluster a second HDFS with its own NameNode and DataNode and the same users. Its URIs begin
	// with hdfs:// and OtherNameservice.
	OtherHDFS bool
	// Zone gives HDFS an encryption zone, at the path Zone, with files in it.
	Zone bool
	// Kerberos makes the cluster secure; nil leaves it open.
	Kerberos *Kerberos
	// ContainerEnvironment holds further variables of all containers, NAME=value without commas.
	ContainerEnvironment []string
	// AtOnce starts the cluster without waiting for a place, because many tests wait for this cluster. Other clusters
	// wait for a place.
	AtOnce bool
	// Log receives the progress of the start; nil discards it.
	Log logrus.FieldLogger

	// outlive leaves the daemons running when this process ends.
	outlive bool
	// classLists is a folder in which each daemon lists the classes that it loads. "" means no lists.
	classLists string
}

func (c Config) withDefaults() Config {
	if c.NodeManagers == 0 {
		c.NodeManagers = 2
	}
	if c.DataNodes == 0 {
		c.DataNodes = 1
	}
	if c.MemoryMB == 0 {
		c.MemoryMB = 4096
	}
	if c.VCores == 0 {
		c.VCores = 8
	}
	if c.Kerberos != nil {
		secure := c.Kerberos.withDefaults()
		c.Kerberos = &secure
	}
	if c.Log == nil {
		c.Log = discard()
	}
	return c
}

func (c Config) validate() error {
	if c.NodeManagers < 1 || c.NodeManagers > 50 {
		return fmt.Errorf("%d NodeManagers: must be 1 to 50", c.NodeManagers)
	}
	if c.DataNodes < 1 || c.DataNodes > 4 {
		return fmt.Errorf("%d DataNodes: must be 1 to 4", c.DataNodes)
	}
	if c.Heartbeat < 0 || (c.Heartbeat > 0 && c.Heartbeat < 50*time.Millisecond) {
		return fmt.Errorf("heartbeats each %s: must be at least 50ms apart", c.Heartbeat)
	}
	if c.MemoryMB < 512 || c.VCores < 1 {
		return fmt.Errorf("NodeManagers with %d MB and %d vcores: must be at least 512 MB and 1", c.MemoryMB, c.VCores)
	}
	if c.Kerberos != nil {
		return c.Kerberos.validate()
	}
	return nil
}
