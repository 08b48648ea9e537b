package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// kind is the kind of a daemon.
type kind string

const (
	nameNode        kind = "namenode"
	dataNode        kind = "datanode"
	resourceManager kind = "resourcemanager"
	nodeManager     kind = "nodemanager"
	zooKeeper       kind = "zookeeper"
	keyCenter       kind = "kdc" // no JVM: MIT's krb5kdc
)

// keyCenterName is the KDC's name as a daemon, and the name of its folder.
const keyCenterName = string(keyCenter)

// mainClass returns the Java class with which a kind of daemon is started.
func (k kind) mainClass() string {
	switch k {
	case nameNode:
		return "org.apache.hadoop.hdfs.server.namenode.NameNode"
	case dataNode:
		return "org.apache.hadoop.hdfs.server.datanode.DataNode"
	case resourceManager:
		return "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
	case nodeManager:
		return "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
	case zooKeeper:
		return "org.apache.zookeeper.server.ZooKeeperServerMain"
	default:
		panic(fmt.Sprintf("daemons of kind %q have no main class", string(k)))
	}
}

// daemon is one server of the cluster: a JVM, or the KDC.
type daemon struct {
	Name string // the kind, for NodeManagers with a number from 1
	Kind kind
	Host string // the loopback address or name on which it listens
	Web  string // host:port of its HTTP server; for the KDC and ZooKeeper, of their service
	// Core, HDFS and YARN are properties of this daemon in addition to the clients'.
	Core, HDFS, YARN map[string]string
}

// spec holds all decisions made when the cluster was created. It is stored in the cluster's folder, so that another
// process can attach to the cluster.
type spec struct {
	Dir          string
	Version      string
	Java         string // path of the program
	Jars         artifacts.Jars
	NodeManagers int
	HA           bool      `json:",omitempty"` // two ResourceManagers
	NameNodeHA   bool      `json:",omitempty"` // two NameNodes
	OtherHDFS    bool      `json:",omitempty"` // a second HDFS
	Zone         bool      `json:",omitempty"` // an encryption zone
	Kerberos     *Kerberos `json:",omitempty"` // nil: none
	Users        []string
	ClassLists   string `json:",omitempty"` // folder; "": daemons do not list their classes
	// The clients' configuration with the caller's additions.
	Core, HDFS, YARN, Scheduler map[string]string
	Daemons                     []daemon
}

// newSpec chooses addresses and settings.
func newSpec(cfg Config, dir, java string, jars artifacts.Jars, ports *ports) (*spec, error) {
	s := &spec{
		Dir: dir, Version: jars.Version, Java: java, Jars: jars,
		NodeManagers: cfg.NodeManagers, HA: cfg.HA, NameNodeHA: cfg.NameNodeHA, OtherHDFS: cfg.OtherHDFS,
		Kerberos: cfg.Kerberos, Users: cfg.Users, ClassLists: cfg.classLists,
	}
	s.Core, s.HDFS = hdfsProperties(cfg, dir, ports)
	s.YARN = yarnProperties(cfg, ports)
	s.Scheduler = schedulerProperties()
	if cfg.Zone {
		s.addZone()
	}
	if s.NameNodeHA {
		makeNameNodeHA(s.Core, s.HDFS, ports)
		s.Daemons = []daemon{haNameNodeDaemon(s, "nn1"), haNameNodeDaemon(s, "nn2")}
	} else {
		s.Daemons = []daemon{nameNodeDaemon(s)}
	}
	for i := range cfg.DataNodes {
		s.Daemons = append(s.Daemons, dataNodeDaemon(s, dataNodeName(i, cfg.DataNodes), i, ports))
	}
	if s.OtherHDFS {
		s.addOtherHDFS(ports)
	}
	if s.HA {
		makeHA(s.YARN, ports)
		zk := zooKeeperDaemon(ports)
		s.Daemons = append(s.Daemons, zk, haResourceManagerDaemon(s, "rm1", zk), haResourceManagerDaemon(s, "rm2", zk))
	} else {
		s.Daemons = append(s.Daemons, resourceManagerDaemon(s))
		if cfg.ZooKeeper {
			s.Daemons = append(s.Daemons, zooKeeperDaemon(ports))
		}
	}
	for i := range cfg.NodeManagers {
		s.Daemons = append(s.Daemons, nodeManagerDaemon(s, cfg.ContainerEnvironment, i, ports))
	}
	if s.Kerberos != nil {
		kdc := daemon{Name: keyCenterName, Kind: keyCenter, Host: "127.0.0.1", Web: ports.on("127.0.0.1")}
		s.secure()
		s.Daemons = append([]daemon{kdc}, s.Daemons...)
	}
	if ports.err != nil {
		return nil, ports.err
	}
	maps.Copy(s.Core, cfg.Core)
	maps.Copy(s.HDFS, cfg.HDFS)
	maps.Copy(s.YARN, cfg.YARN)
	maps.Copy(s.Scheduler, cfg.Scheduler)
	for _, d := range s.hadoopDaemons() {
		maps.Copy(d.Core, cfg.Core)
		maps.Copy(d.HDFS, cfg.HDFS)
		maps.Copy(d.YARN, cfg.YARN)
	}
	return s, nil
}

func (s *spec) confDir() string            { return filepath.Join(s.Dir, "conf") }
func (s *spec) daemonConf(d daemon) string { return filepath.Join(s.Dir, d.Name, "conf") }
func (s *spec) logFile(d daemon) string    { return filepath.Join(s.Dir, "logs", d.Name+".log") }
func (s *spec) pidFile(d daemon) string    { return filepath.Join(s.Dir, "run", d.Name+".pid") }
func specFile(dir string) string           { return filepath.Join(dir, "cluster.json") }

// javaDaemons returns all daemons except the KDC.
func (s *spec) javaDaemons() []daemon {
	return slices.DeleteFunc(slices.Clone(s.Daemons), func(d daemon) bool { return d.Kind == keyCenter })
}

// hadoopDaemons returns the daemons that read Hadoop's configuration.
func (s *spec) hadoopDaemons() []daemon {
	return slices.DeleteFunc(s.javaDaemons(), func(d daemon) bool { return d.Kind == zooKeeper })
}

// daemon returns the daemon with this name.
func (s *spec) daemon(name string) (daemon, error) {
	for _, d := range s.Daemons {
		if d.Name == name {
			return d, nil
		}
	}
	var names []string
	for _, d := range s.Daemons {
		names = append(names, d.Name)
	}
	return daemon{}, fmt.Errorf("no daemon is named %q; the daemons are %v", name, names)
}

// write writes the folder's content: configuration for clients and daemons, and at last the spec itself.
func (s *spec) write() error {
	for _, sub := range []string{"logs", "run"} {
		if err := os.MkdirAll(filepath.Join(s.Dir, sub), 0o755); err != nil {
			return err
		}
	}
	client := siteFiles{core: s.Core, hdfs: s.HDFS, yarn: s.YARN}
	if _, err := client.write(s.confDir(), "WARN"); err != nil {
		return err
	}
	if s.Kerberos != nil {
		if err := s.writeRealms(); err != nil {
			return err
		}
	}
	for _, d := range s.hadoopDaemons() {
		if _, err := s.writeDaemon(d); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(s.Dir, d.Name, "tmp"), 0o755); err != nil {
			return err
		}
	}
	if zk, err := s.daemon(string(zooKeeper)); err == nil {
		if err := s.writeZooKeeper(zk); err != nil {
			return err
		}
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(specFile(s.Dir), append(text, '\n'), 0o644)
}

// writeDaemon writes the configuration of one of Hadoop's daemons, and reports whether it was different before.
func (s *spec) writeDaemon(d daemon) (changed bool, err error) {
	own := siteFiles{
		core:      merged(s.Core, d.Core),
		hdfs:      merged(s.HDFS, d.HDFS),
		yarn:      merged(s.YARN, d.YARN),
		scheduler: s.Scheduler,
	}
	return own.write(s.daemonConf(d), "INFO")
}

// readSpec reads the file that write has written. The error is os.ErrNotExist if the folder has no cluster.
func readSpec(dir string) (*spec, error) {
	text, err := os.ReadFile(specFile(dir))
	if err != nil {
		return nil, err
	}
	var s spec
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read %s: %w", specFile(dir), err)
	}
	if abs, err := filepath.Abs(dir); err != nil || abs != s.Dir {
		return nil, errors.Join(err, fmt.Errorf("%s belongs to a cluster made in %s: a cluster's folder cannot be moved", specFile(dir), s.Dir))
	}
	return &s, nil
}

// removeData removes the data of the daemons.
func (s *spec) removeData() error {
	errs := []error{os.RemoveAll(filepath.Join(s.Dir, "run")), os.RemoveAll(s.zoneDir())}
	for _, d := range s.Daemons {
		errs = append(errs, os.RemoveAll(filepath.Join(s.Dir, d.Name)))
	}
	return errors.Join(errs...)
}

// removeAll removes all files of a cluster from its folder, and no others.
func (s *spec) removeAll() error {
	return errors.Join(
		s.removeData(),
		os.RemoveAll(filepath.Join(s.Dir, "logs")),
		os.RemoveAll(s.confDir()),
		os.Remove(specFile(s.Dir)),
	)
}

// merged returns base with some properties added or changed.
func merged(base, with map[string]string) map[string]string {
	all := make(map[string]string, len(base)+len(with))
	maps.Copy(all, base)
	maps.Copy(all, with)
	return all
}
