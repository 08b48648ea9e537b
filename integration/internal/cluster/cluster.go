// Package cluster starts a real Hadoop on one machine for tests and for people:
// a NameNode, a DataNode, a ResourceManager and any number of NodeManagers, each a
// JVM of its own, from the jars that package artifacts brings; if wanted a secure
// one, with MIT's KDC beside them, or one with two ResourceManagers and ZooKeeper.
//
// Everything of a cluster lies in one folder: cluster.json (what was decided when
// it was made, enough for another process to attach), conf (a HADOOP_CONF_DIR for
// clients), logs, run (pids), and a folder with configuration and data for each
// daemon. All servers listen on loopback addresses only; each NodeManager has its
// own (127.0.0.2, 127.0.0.3, …), so that to YARN they are different hosts.
//
// Every process of a cluster, the containers included, carries the variable
// BOBBIN_CLUSTER_DIR with the folder's path. Processes are found by that mark and
// by nothing else, so that a pid which the kernel gave away again is never hit.
//
// A machine has places for so many clusters at a time (LimitVariable); a start waits
// for one.
//
// The package starts no goroutine that outlives a call. It is for tests and
// development: only packages below integration import it.
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

// startLimit bounds a start for a person who waits: 10-15 s on two idle cores, many times that on a busy machine.
const startLimit = 15 * time.Minute

// errTooLate is the end of what startLimit bounds.
var errTooLate = fmt.Errorf("not healthy after %s", startLimit)

// ErrNotRunning is wrapped by Attach's error when the folder holds no cluster or one whose daemons have ended.
var ErrNotRunning = errors.New("no running cluster")

// Cluster is a running Hadoop. Its methods may be called from several goroutines, those that stop and start
// daemons for different daemons only.
type Cluster struct {
	spec   *spec
	log    logrus.FieldLogger
	http   webClient
	login  webLogin // of a secure one
	reaper *reaper  // ends the daemons with this process; nil if the cluster is not this process's to end
	ports  *ports   // the daemons' while this process has them to itself; nil: released
	temp   bool     // the folder was made by Start, so Close removes it
}

// Start starts a cluster and returns when it is healthy: HDFS out of safe mode, every NodeManager registered, and
// the settings that the servers report the ones they were given. If this process ends, however it ends, so
// does the cluster. An error leaves no process behind; its text names the log to read.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c, err := prepare(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, errTooLate) // not of the wait for a place
	defer cancel()
	if err := c.bringUp(ctx, cfg); err != nil {
		c.temp = false // the logs are what tells why
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

// Attach returns the running cluster whose folder is dir, started by another process, when it does its work. Close leaves it
// running.
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

// Find is Attach that asks no daemon whether it does its work.
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

// Close ends a cluster that this process started: all daemons and containers are killed, and a folder that
// Start made is removed. An attached or detached cluster stays as it is.
func (c *Cluster) Close() error {
	c.http.CloseIdleConnections()
	if c.reaper == nil {
		return nil
	}
	return c.end()
}

// Keep makes Close leave a folder that Start made, for its logs.
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

// leavePlace lets another cluster be started in the place of one that has ended.
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

// Down ends the cluster in dir, whoever started it, and removes its data; logs and configuration stay until
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

// Dir is the cluster's folder.
func (c *Cluster) Dir() string { return c.spec.Dir }

// ConfDir is the folder to give to clients as HADOOP_CONF_DIR.
func (c *Cluster) ConfDir() string { return c.spec.confDir() }

// LogDir is the folder of the daemons' logs, NAME.log each. The containers' logs are with their NodeManager
// (ContainerLogDir) until they are aggregated.
func (c *Cluster) LogDir() string { return filepath.Join(c.spec.Dir, "logs") }

// ContainerLogDir is the folder in which the NodeManager of that name keeps its containers' logs.
func (c *Cluster) ContainerLogDir(nodeManager string) string {
	return filepath.Join(c.spec.Dir, nodeManager, "userlogs")
}

// Version is the Hadoop release.
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

// RMAddress is the host:port at which YARN's ResourceManager takes clients; of two, the first one's.
func (c *Cluster) RMAddress() string {
	return cmp.Or(c.spec.YARN["yarn.resourcemanager.address"], c.spec.YARN["yarn.resourcemanager.address.rm1"])
}

// RMWebAddress is the host:port of the ResourceManager's web server; of two, the first one's.
func (c *Cluster) RMWebAddress() string { return c.spec.resourceManagers()[0].Web }

// NameNodeAddress is the host:port at which the NameNode takes clients; of two, the first one's.
func (c *Cluster) NameNodeAddress() string {
	return cmp.Or(c.spec.HDFS["dfs.namenode.rpc-address"], c.spec.HDFS["dfs.namenode.rpc-address."+nameservice+".nn1"])
}

// NameNodeWebAddress is the host:port of the NameNode's web server, which also answers WebHDFS; of two, the first one's.
func (c *Cluster) NameNodeWebAddress() string { return c.spec.nameNodes()[0].Web }

// prepare decides everything and writes the folder, starting nothing.
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

// settle claims a folder, a place on the machine and ports for a cluster, and writes the folder. After an error nothing is
// left of that but a folder that the caller has named.
func settle(ctx context.Context, cfg Config, java string, jars artifacts.Jars) (_ *Cluster, err error) {
	dir, temp, err := claimDir(cfg.Dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil && temp { // there is no log yet that would tell why
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
	if err := reap(path); err != nil { // containers that outlived their NodeManager
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
	if err := c.waitReady(ctx, c.spec.nameNodes()...); err != nil { // now that all DataNodes run
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

// bringUpRealm starts the KDC, which the other daemons log in at.
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
