package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// With Config.HA there are two ResourceManagers. The one that holds a lock in ZooKeeper is active. They keep their
// state in ZooKeeper, so that one can take over from the other.

// haResourceManagers holds the names of the two daemons, by yarn.resourcemanager.ha.rm-ids.
func haResourceManagers() map[string]string {
	return map[string]string{"rm1": string(resourceManager) + "1", "rm2": string(resourceManager) + "2"}
}

// makeHA replaces a ResourceManager's addresses in the clients' properties by those of two.
func makeHA(yarn map[string]string, ports *ports) {
	for _, service := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"} {
		name := "yarn.resourcemanager." + service
		yarn[name+".rm1"], yarn[name+".rm2"] = yarn[name], ports.on(master)
		delete(yarn, name)
	}
	delete(yarn, "yarn.resourcemanager.hostname")
	yarn["yarn.resourcemanager.hostname.rm1"] = master
	yarn["yarn.resourcemanager.hostname.rm2"] = master
	yarn["yarn.resourcemanager.ha.enabled"] = "true"
	yarn["yarn.resourcemanager.ha.rm-ids"] = "rm1,rm2"
	yarn["yarn.resourcemanager.cluster-id"] = "bobbin"
}

func zooKeeperDaemon(ports *ports) daemon {
	return daemon{Name: string(zooKeeper), Kind: zooKeeper, Host: "127.0.0.1", Web: ports.on("127.0.0.1")}
}

// haResourceManagerDaemon returns the ResourceManager with this id.
func haResourceManagerDaemon(s *spec, id string, zk daemon) daemon {
	d := resourceManagerDaemon(s)
	d.Name = haResourceManagers()[id]
	d.Web = s.YARN["yarn.resourcemanager.webapp.address."+id]
	d.Core["hadoop.zk.address"] = zk.Web
	if s.isSince(3, 5) { // the elector's property; before 3.5 an alias of the one above
		d.YARN["yarn.resourcemanager.zk-address"] = zk.Web
	}
	// The time for which a killed ResourceManager stays active to the other: Hadoop's default of 10 s. On a busy
	// machine a JVM may not answer for four seconds. If a ResourceManager loses its lock while it stores its state, it
	// never comes back.
	d.Core["hadoop.zk.timeout-ms"] = "10000"
	delete(d.YARN, "yarn.resourcemanager.fs.state-store.uri")
	d.YARN["yarn.resourcemanager.store.class"] = "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore"
	d.YARN["yarn.resourcemanager.ha.id"] = id
	return d
}

// isSince reports whether the Hadoop release has this minor version or a later one.
func (s *spec) isSince(major, minor int) bool {
	var release [2]int
	if _, err := fmt.Sscanf(s.Version, "%d.%d", &release[0], &release[1]); err != nil {
		return false
	}
	return slices.Compare(release[:], []int{major, minor}) >= 0
}

func (s *spec) zooKeeperConf() string {
	return filepath.Join(s.Dir, string(zooKeeper), "conf", "zoo.cfg")
}

// writeZooKeeper writes ZooKeeper's only configuration file.
func (s *spec) writeZooKeeper(d daemon) error {
	host, port, err := net.SplitHostPort(d.Web)
	if err != nil {
		return err
	}
	tick := 2000 // ms, as in ZooKeeper's sample; sessions last for 2 to 20 ticks
	if s.HA {
		tick = 1000 // more than a ResourceManager's session needs
	}
	// Without this, ZooKeeper stops all answers, heartbeats included, until the disk has written its log. On a machine
	// that writes a lot, this takes longer than the sessions of the ResourceManagers. ZooKeeper's data need not outlive
	// the machine.
	const log = "forceSync=no\n"
	text := "dataDir=" + filepath.Join(s.Dir, d.Name, "data") +
		"\nclientPortAddress=" + host + "\nclientPort=" + port +
		"\ntickTime=" + strconv.Itoa(tick) + "\nadmin.enableServer=false\n" + log
	for _, dir := range []string{filepath.Dir(s.zooKeeperConf()), filepath.Join(s.Dir, d.Name, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(s.daemonConf(d), "log4j.properties"), log4j("WARN"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(s.zooKeeperConf(), []byte(text), 0o644)
}

// ZooKeeperAddress returns ZooKeeper's address for clients, or an error if there is none.
func (c *Cluster) ZooKeeperAddress() (string, error) {
	d, err := c.spec.daemon(string(zooKeeper))
	return d.Web, err
}

// ActiveRM returns the name of the active ResourceManager daemon. If none is active, the error contains the answers of
// both.
func (c *Cluster) ActiveRM(ctx context.Context) (string, error) {
	daemons := c.spec.resourceManagers()
	active, errs := make([]bool, len(daemons)), make([]error, len(daemons))
	asking, stop := context.WithCancel(ctx)
	defer stop()
	var answers sync.WaitGroup
	for i, d := range daemons { // all at once, because a paused one does not answer
		answers.Go(func() {
			info, err := c.rmOf(d).Info(asking)
			switch {
			case err != nil:
				errs[i] = fmt.Errorf("%s: %w", d.Name, err)
			case info.HAState == "ACTIVE":
				active[i] = true
				stop()
			default:
				errs[i] = fmt.Errorf("%s is %s", d.Name, strings.ToLower(info.HAState))
			}
		})
	}
	answers.Wait()
	if i := slices.Index(active, true); i >= 0 {
		return daemons[i].Name, nil
	}
	return "", fmt.Errorf("find the active resourcemanager: %w", errors.Join(errs...))
}

// ActiveRMWebAddress returns the host:port of the active ResourceManager's web server.
func (c *Cluster) ActiveRMWebAddress(ctx context.Context) (string, error) {
	name, err := c.ActiveRM(ctx)
	if err != nil {
		return "", err
	}
	d, err := c.spec.daemon(name)
	return d.Web, err
}

// activeRMAddress returns the address of the active ResourceManager for clients. A standby does not listen at its
// address.
func (c *Cluster) activeRMAddress(ctx context.Context) (string, error) {
	if !c.spec.HA {
		return c.RMAddress(), nil
	}
	name, err := c.ActiveRM(ctx)
	if err != nil {
		return "", err
	}
	d, err := c.spec.daemon(name)
	return c.spec.resourceManagerAddress(d, "address"), err
}

// resourceManagerAddress returns the address of a ResourceManager's service. "address" is the service for clients.
func (s *spec) resourceManagerAddress(d daemon, service string) string {
	name := "yarn.resourcemanager." + service
	return cmp.Or(s.YARN[name], s.YARN[name+"."+d.YARN["yarn.resourcemanager.ha.id"]])
}

func (s *spec) resourceManagers() []daemon {
	return slices.DeleteFunc(slices.Clone(s.Daemons), func(d daemon) bool { return d.Kind != resourceManager })
}
