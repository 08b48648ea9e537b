package cluster

import (
	"fmt"
	"time"

	"github.com/sirupsen/logrus"
)

// Config says what cluster to start. The zero value is a good one: two NodeManagers in a new folder.
type Config struct {
	// Dir is the cluster's folder. It must not exist, be empty, or hold a cluster that no longer runs, which is
	// then replaced. Empty means a new folder among the temporary files, which Close removes.
	Dir string
	// Version of Hadoop; empty means artifacts.DefaultVersion.
	Version string
	// NodeManagers is their number, 2 if zero, at most 50.
	NodeManagers int
	// DataNodes is their number, 1 if zero, at most 4, and that of the replicas of a file.
	DataNodes int
	// Heartbeat is how often NodeManagers report to the ResourceManager; zero means YARN's default of 1 s, which is what users
	// have, and what each step of an application waits for.
	Heartbeat time.Duration
	// MemoryMB and VCores are what each NodeManager offers to YARN, 4096 and 8 if zero. They are also the
	// largest container that YARN will grant.
	MemoryMB, VCores int
	// Users get home folders on HDFS, as the user who starts the cluster does.
	Users []string
	// Core, HDFS, YARN and Scheduler are further properties of core-, hdfs-, yarn-site.xml and
	// capacity-scheduler.xml; they win over the harness's own.
	Core, HDFS, YARN, Scheduler map[string]string
	// HA gives the cluster two ResourceManagers, resourcemanager1 and resourcemanager2, one of them active, with
	// their state in ZooKeeper.
	HA bool
	// NameNodeHA gives the cluster two NameNodes, namenode1, which is active at first, and namenode2, behind a
	// nameservice.
	NameNodeHA bool
	// OtherHDFS gives the cluster a second HDFS beside its own, with a NameNode and a DataNode of its own and the same
	// users, whose URIs begin with hdfs:// and OtherNameservice.
	OtherHDFS bool
	// Zone gives HDFS an encryption zone, Zone, with files in it.
	Zone bool
	// Kerberos makes the cluster secure; nil leaves it open.
	Kerberos *Kerberos
	// ContainerEnvironment are further variables of all containers, NAME=value without commas.
	ContainerEnvironment []string
	// AtOnce starts the cluster however many others are alive, as many tests wait for it. Others wait for a place.
	AtOnce bool
	// Log takes the progress of the start; nil discards it.
	Log logrus.FieldLogger

	// outlive leaves the daemons running when this process ends.
	outlive bool
	// classLists is a folder in which each daemon lists the classes that it loads; "": none does.
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
