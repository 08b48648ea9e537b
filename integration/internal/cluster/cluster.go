// Package cluster starts a real Hadoop on one machine for tests and for people: a NameNode, a DataNode, a
// ResourceManager and several NodeManagers. Each is a JVM of its own, with the jars of package artifacts. A cluster can
// be secure, with MIT's KDC, or have two ResourceManagers and ZooKeeper.
//
// Everything of a cluster is in one folder: cluster.json (the decisions made at the start, with which another process
// can attach), conf (a HADOOP_CONF_DIR for clients), logs, run (pids), and a folder with configuration and data for
// each daemon. All servers listen on loopback addresses only. Each NodeManager has its own address (127.0.0.2,
// 127.0.0.3, …), so that they are different hosts for YARN.
//
// Every process of a cluster, also in containers, has the variable BOBBIN_CLUSTER_DIR with the folder's path. Only this
// mark identifies a process, because the kernel reuses pids.
//
// A machine has places for a limited number of clusters at a time (LimitVariable). A start waits for a place.
//
// The package starts no goroutine that outlives a call. It is for tests and development: only packages below
// integration import it.
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// startLimit bounds a start, so that a person does not wait for ever. A start takes 10-15 s on two idle cores, and many
// times that on a busy machine.
const startLimit = 15 * time.Minute

// errTooLate is the cause of a start's end after startLimit.
var errTooLate = fmt.Errorf("not healthy after %s", startLimit)

// ErrNotRunning says that the folder holds no cluster, or that a daemon of the cluster has ended. Attach's error wraps
// it.
var ErrNotRunning = errors.New("no running cluster")

// Cluster is a running Hadoop. Several goroutines may call its methods. Methods that stop and start daemons may run at
// the same time only for different daemons.
type Cluster struct {
	spec   *spec
	log    logrus.FieldLogger
	http   webClient
	login  webLogin // nil if the cluster is not secure
	reaper *reaper  // ends the daemons with this process; nil if this process must not end the cluster
	ports  *ports   // the daemons' ports while this process holds them; nil after their release
	temp   bool     // the folder was made by Start, so Close removes it
}

// Start starts a cluster and returns when it is healthy: HDFS is out of safe mode, every NodeManager is registered, and
// the servers report the settings that they were given. The cluster ends when this process ends, also after a crash.
// After an error no process remains; the error's text names the log to read.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c, err := prepare(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooLate) // without the wait for a place
	defer cancel()
	if err := c.bringUp(ctx, cfg); err != nil {
		c.temp = false // the logs tell the reason
		return nil, errors.Join(fmt.Errorf("start cluster in %s: %w", c.Dir(), err), c.end())
	}
	if cfg.outlive {
		if err := c.detach(); err != nil {
			return nil, errors.Join(err, c.end())
		}
	}
	return c, nil
}

// detach leaves the cluster's ports and its place to its daemons.
func (c *Cluster) detach() error {
	places, err := placesOfMachine()
	if err != nil {
		return err
	}
	return errors.Join(c.releasePorts(), places.started(c.Dir()))
}

// StartDetached is Start for a cluster that outlives this process, until Down ends it. It needs Config.Dir.
func StartDetached(ctx context.Context, cfg Config) (*Cluster, error) {
	if cfg.Dir == "" {
		return nil, errors.New("start cluster: no folder is given; give one with --dir")
	}
	cfg.outlive = true
	return Start(ctx, cfg)
}

// Attach returns the running cluster in the folder dir, which another process has started, after a check that its
// daemons are healthy. Close does not stop it.
func Attach(ctx context.Context, dir string) (*Cluster, error) {
	c, err := Find(dir)
	if err != nil {
		return nil, err
	}
	if err := c.waitReady(ctx, c.spec.Daemons...); err != nil {
		return nil, fmt.Errorf("attach to cluster in %s: %w", dir, err)
	}
	return c, nil
}

// Find is Attach without the check of health.
func Find(dir string) (*Cluster, error) {
	s, err := readSpec(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("attach to cluster in %s: %w; start it with: scripts/cluster up --dir %s", dir, ErrNotRunning, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("attach to cluster in %s: %w", dir, err)
	}
	c := &Cluster{spec: s, log: discard(), http: newWebClient()}
	for _, d := range s.Daemons {
		if _, ok := c.pid(d); !ok {
			return nil, fmt.Errorf("attach to cluster in %s: %w: %s has ended; start the cluster again with: scripts/cluster up --dir %s", dir, ErrNotRunning, d.Name, dir)
		}
	}
	return c, nil
}

// Close ends a cluster that this process started: it kills all daemons and containers, and removes a folder that Start
// made. It does not change an attached or detached cluster.
func (c *Cluster) Close() error {
	c.http.CloseIdleConnections()
	if c.reaper == nil {
		return nil
	}
	return c.end()
}

// Keep makes Close keep a folder that Start made, for its logs.
func (c *Cluster) Keep() { c.temp = false }

func (c *Cluster) end() error {
	var err error
	if c.reaper != nil {
		err = c.reaper.stop()
		c.reaper = nil
	} else {
		err = reap(c.Dir())
	}
	if err == nil && c.temp {
		err = os.RemoveAll(c.Dir())
	}
	return errors.Join(err, c.releasePorts(), leavePlace(c.Dir()))
}

// leavePlace gives up the place of an ended cluster, so that another one can start.
func leavePlace(dir string) error {
	places, err := placesOfMachine()
	if err != nil {
		return err
	}
	return places.giveBack(dir)
}

func (c *Cluster) releasePorts() error {
	if c.ports == nil {
		return nil
	}
	err := c.ports.release()
	c.ports = nil
	return err
}

// Down ends the cluster in dir, whichever process started it, and removes its data. Logs and configuration stay until
// the next start.
func Down(dir string) error {
	s, err := readSpec(dir)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("stop cluster in %s: %w", dir, ErrNotRunning)
	}
	if err != nil {
		return fmt.Errorf("stop cluster in %s: %w", dir, err)
	}
	if err := reap(s.Dir); err != nil {
		return fmt.Errorf("stop cluster in %s: %w", dir, err)
	}
	return errors.Join(s.removeData(), leavePlace(s.Dir))
}

// Dir returns the cluster's folder.
func (c *Cluster) Dir() string { return c.spec.Dir }

// ConfDir returns the folder that clients need as HADOOP_CONF_DIR.
func (c *Cluster) ConfDir() string { return c.spec.confDir() }

// LogDir returns the folder of the daemons' logs, each named NAME.log. Containers' logs are in their NodeManager's
// folder (ContainerLogDir) until YARN aggregates them.
func (c *Cluster) LogDir() string { return filepath.Join(c.spec.Dir, "logs") }

// ContainerLogDir returns the folder in which the NodeManager of this name keeps its containers' logs.
func (c *Cluster) ContainerLogDir(nodeManager string) string {
	return filepath.Join(c.spec.Dir, nodeManager, "userlogs")
}

// Version returns the Hadoop release.
func (c *Cluster) Version() string { return c.spec.Version }

// NodeManagers returns the NodeManagers' hosts, in the order nodemanager1, nodemanager2, ….
func (c *Cluster) NodeManagers() []string {
	var hosts []string
	for _, d := range c.spec.Daemons {
		if d.Kind == nodeManager {
			hosts = append(hosts, d.Host)
		}
	}
	return hosts
}

// RMAddress returns the host:port at which YARN's ResourceManager accepts clients. If there are two, it is the first
// one's.
func (c *Cluster) RMAddress() string {
	return cmp.Or(c.spec.YARN["yarn.resourcemanager.address"], c.spec.YARN["yarn.resourcemanager.address.rm1"])
}

// RMWebAddress returns the host:port of the ResourceManager's web server. If there are two, it is the first one's.
func (c *Cluster) RMWebAddress() string { return c.spec.resourceManagers()[0].Web }

// NameNodeAddress returns the host:port at which the NameNode accepts clients. If there are two, it is the first one's.
func (c *Cluster) NameNodeAddress() string {
	return cmp.Or(c.spec.HDFS["dfs.namenode.rpc-address"], c.spec.HDFS["dfs.namenode.rpc-address."+nameservice+".nn1"])
}

// NameNodeWebAddress returns the host:port of the NameNode's web server, which also answers WebHDFS. If there are two,
// it is the first one's.
func (c *Cluster) NameNodeWebAddress() string { return c.spec.nameNodes()[0].Web }

// prepare makes all decisions and writes the folder. It starts nothing.
func prepare(ctx context.Context, cfg Config) (*Cluster, error) {
	java, err := artifacts.FindJava()
	if err != nil {
		return nil, err
	}
	jars, err := artifacts.Fetch(ctx, cfg.Version)
	if err != nil {
		return nil, err
	}
	if jars, err = jars.Patched(ctx, java); err != nil {
		return nil, err
	}
	return settle(ctx, cfg, java, jars)
}

// settle claims a folder, a place on the machine and ports for a cluster, and writes the folder. After an error it
// gives all of that back, except a folder that the caller has named.
func settle(ctx context.Context, cfg Config, java string, jars artifacts.Jars) (_ *Cluster, err error) {
	dir, temp, err := claimDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && temp { // there is no log yet that could tell the reason
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	places, err := placesOfMachine()
	if err != nil {
		return nil, err
	}
	if err := places.take(ctx, dir, cfg.AtOnce, cfg.Log); err != nil {
		return nil, err
	}
	s, ports, err := decide(cfg, dir, java, jars)
	if err != nil {
		return nil, errors.Join(err, places.giveBack(dir))
	}
	return &Cluster{spec: s, log: cfg.Log, http: newWebClient(), temp: temp, ports: ports}, nil
}

// decide chooses addresses and settings, and writes them into the cluster's folder.
func decide(cfg Config, dir, java string, jars artifacts.Jars) (*spec, *ports, error) {
	ports, err := claimPorts()
	if err != nil {
		return nil, nil, err
	}
	s, err := newSpec(cfg, dir, java, jars, ports)
	if err == nil {
		err = s.write()
	}
	if err != nil {
		return nil, nil, errors.Join(err, ports.release())
	}
	return s, ports, nil
}

// claimDir makes the folder ready for a new cluster.
func claimDir(dir string) (path string, temp bool, err error) {
	if dir == "" {
		path, err = os.MkdirTemp("", "bobbin-cluster-")
		return path, true, err
	}
	path, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return path, false, os.MkdirAll(path, 0o755)
	}
	if err != nil || len(entries) == 0 {
		return path, false, err
	}
	old, err := readSpec(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", false, fmt.Errorf("folder %s has files that are not a cluster's; name another folder, or empty it", path)
	}
	if err != nil {
		return "", false, err
	}
	for _, d := range old.Daemons {
		if _, ok := (&Cluster{spec: old}).pid(d); ok {
			return "", false, fmt.Errorf("a cluster runs there already (%s); stop it with: scripts/cluster down --dir %s", d.Name, path)
		}
	}
	if err := reap(path); err != nil { // containers may have outlived their NodeManager
		return "", false, err
	}
	return path, false, old.removeAll()
}

// bringUp starts all daemons at once and waits for their health.
func (c *Cluster) bringUp(ctx context.Context, cfg Config) error {
	if !cfg.outlive {
		r, err := startReaper(marks(c.Dir()))
		if err != nil {
			return err
		}
		c.reaper = r
	}
	began := time.Now()
	c.log.WithFields(logrus.Fields{"version": c.spec.Version, "dir": c.Dir(), "nodemanagers": cfg.NodeManagers}).Info("starting cluster")
	if c.Secure() {
		if err := c.bringUpRealm(ctx); err != nil {
			return err
		}
	}
	group, gctx := errgroup.WithContext(ctx)
	prepared := sync.OnceValue(func() error { return c.prepareNameNodes(gctx) })
	for _, d := range c.spec.javaDaemons() {
		group.Go(func() error {
			if d.Kind == nameNode {
				if err := prepared(); err != nil {
					return err
				}
			}
			if err := c.launch(gctx, d); err != nil {
				return err
			}
			if err := c.waitReady(gctx, d); err != nil {
				return err
			}
			c.log.WithFields(logrus.Fields{"daemon": d.Name, "after": time.Since(began).Round(time.Millisecond)}).Debug("daemon is ready")
			return c.verifySettings(gctx, d)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if c.spec.NameNodeHA {
		if err := c.activateFirst(ctx); err != nil {
			return err
		}
	}
	if err := c.waitReady(ctx, c.spec.nameNodes()...); err != nil { // all DataNodes run now
		return err
	}
	if err := c.verifyCluster(ctx); err != nil {
		return err
	}
	if err := c.makeFiles(ctx, cfg.Users); err != nil {
		return err
	}
	c.log.WithField("after", time.Since(began).Round(time.Millisecond)).Info("cluster is up")
	return nil
}

// bringUpRealm starts the KDC, at which the other daemons log in.
func (c *Cluster) bringUpRealm(ctx context.Context) error {
	kdc, err := c.spec.daemon(keyCenterName)
	if err != nil {
		return err
	}
	if err := c.makeRealms(ctx); err != nil {
		return err
	}
	if err := c.launch(ctx, kdc); err != nil {
		return err
	}
	return c.waitReady(ctx, kdc)
}
