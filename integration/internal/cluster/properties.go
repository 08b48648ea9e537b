package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// master is the host of the NameNode and the ResourceManager. It is a name and not an address, because Kerberos
// principals contain it.
const master = "localhost"

// hdfsProperties returns the clients' core-site.xml and hdfs-site.xml.
func hdfsProperties(cfg Config, dir string, ports *ports) (core, hdfs map[string]string) {
	nn := ports.on(master)
	core = map[string]string{
		"fs.defaultFS":   "hdfs://" + nn,
		"hadoop.tmp.dir": filepath.Join(dir, "tmp"),
	}
	hdfs = map[string]string{
		"dfs.namenode.rpc-address":  nn,
		"dfs.namenode.http-address": ports.on(master),
		"dfs.replication":           strconv.Itoa(cfg.DataNodes),
	}
	return core, hdfs
}

// yarnProperties returns the clients' yarn-site.xml. All other properties have YARN's defaults, which users have too:
// one container for each heartbeat of a NodeManager, and heartbeats of 1 s if Config.Heartbeat is zero.
func yarnProperties(cfg Config, ports *ports) map[string]string {
	properties := map[string]string{
		"yarn.resourcemanager.hostname":                 master,
		"yarn.resourcemanager.address":                  ports.on(master),
		"yarn.resourcemanager.scheduler.address":        ports.on(master),
		"yarn.resourcemanager.resource-tracker.address": ports.on(master),
		"yarn.resourcemanager.admin.address":            ports.on(master),
		"yarn.resourcemanager.webapp.address":           ports.on(master),
		"yarn.scheduler.minimum-allocation-mb":          "128",
		"yarn.scheduler.maximum-allocation-mb":          strconv.Itoa(cfg.MemoryMB),
		"yarn.scheduler.maximum-allocation-vcores":      strconv.Itoa(cfg.VCores),
		"yarn.nodemanager.resource.memory-mb":           strconv.Itoa(cfg.MemoryMB),
		"yarn.nodemanager.resource.cpu-vcores":          strconv.Itoa(cfg.VCores),
		// With the default of 30 s, tests that stop a ResourceManager would only wait longer.
		"yarn.resourcemanager.connect.retry-interval.ms": "500",
		"yarn.log-aggregation-enable":                    "true",
		"yarn.nodemanager.remote-app-log-dir":            "/tmp/logs",
		// ACLs of queues work only with the switch for all ACLs. All users are administrators, so the switch affects
		// only the right to submit to a queue.
		"yarn.acl.enable": "true",
		"yarn.admin.acl":  "*",
	}
	if cfg.Heartbeat > 0 {
		properties["yarn.resourcemanager.nodemanagers.heartbeat-interval-ms"] = milliseconds(cfg.Heartbeat)
	}
	return properties
}

// schedulerProperties returns capacity-scheduler.xml: the queue default for all users, and the queue small, to which
// only the user small may submit.
func schedulerProperties() map[string]string {
	const prefix = "yarn.scheduler.capacity."
	return map[string]string{
		prefix + "maximum-am-resource-percent":          "0.9",
		prefix + "resource-calculator":                  "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
		prefix + "root.queues":                          "default,small",
		prefix + "root.acl_submit_applications":         " ", // nobody, because a queue's list adds to its parent's
		prefix + "root.acl_administer_queue":            " ",
		prefix + "root.default.capacity":                "90",
		prefix + "root.default.maximum-capacity":        "100",
		prefix + "root.default.user-limit-factor":       "10", // one user may use the whole queue
		prefix + "root.default.acl_submit_applications": "*",
		prefix + "root.small.capacity":                  "10",
		prefix + "root.small.maximum-capacity":          "20",
		prefix + "root.small.acl_submit_applications":   "small",
	}
}

// patience makes a daemon retry soon if it has started before a daemon that it calls. Clients keep Hadoop's defaults.
func patience() map[string]string {
	return map[string]string{
		"ipc.client.connect.max.retries":    "600",
		"ipc.client.connect.retry.interval": "200",
	}
}

// localFiles makes a daemon set the permissions of local files itself: see artifacts/java.
func localFiles() map[string]string {
	return map[string]string{
		"fs.file.impl":                    "bobbin.hadoop.PosixLocalFileSystem",
		"fs.AbstractFileSystem.file.impl": "bobbin.hadoop.PosixLocalFs",
	}
}

func nameNodeDaemon(s *spec) daemon {
	d := daemon{Name: string(nameNode), Kind: nameNode, Host: master, Web: s.HDFS["dfs.namenode.http-address"]}
	d.Core = localFiles()
	d.YARN = map[string]string{}
	d.HDFS = map[string]string{
		"dfs.namenode.name.dir":                                fileURI(s.nameDir(d)),
		"dfs.namenode.safemode.extension":                      "0",
		"dfs.namenode.fs-limits.min-block-size":                "1024", // small files with many blocks
		"dfs.namenode.datanode.registration.ip-hostname-check": "false",
		"dfs.namenode.resource.du.reserved":                    "1048576", // otherwise safe mode, with less than 100 MB free
		"dfs.namenode.block.deletion.unlock.interval.ms":       "200",     // the default wakes a thread a hundred times a second
	}
	return d
}

// dataNodeName returns the name of a DataNode. A single DataNode has no number.
func dataNodeName(i, of int) string {
	if of == 1 {
		return string(dataNode)
	}
	return fmt.Sprintf("%s%d", dataNode, i+1)
}

// dataNodeDaemon makes a DataNode that reports the host of the NodeManager with its number. So that NodeManager has
// local blocks, and NodeManagers without a DataNode have only remote ones.
func dataNodeDaemon(s *spec, name string, i int, ports *ports) daemon {
	const host = "127.0.0.1" // the remote address that the NameNode sees and tells to clients
	d := daemon{Name: name, Kind: dataNode, Host: host, Web: ports.on(host)}
	d.Core = merged(localFiles(), patience())
	d.YARN = map[string]string{}
	d.HDFS = map[string]string{
		"dfs.datanode.data.dir":     fileURI(s.Dir, d.Name, "data"),
		"dfs.datanode.address":      ports.on(host),
		"dfs.datanode.http.address": d.Web,
		"dfs.datanode.ipc.address":  ports.on(host),
		"dfs.datanode.hostname":     nodeManagerHost(i),
	}
	return d
}

func resourceManagerDaemon(s *spec) daemon {
	d := daemon{Name: string(resourceManager), Kind: resourceManager, Host: master, Web: s.YARN["yarn.resourcemanager.webapp.address"]}
	d.Core = merged(localFiles(), patience())
	d.HDFS = map[string]string{}
	d.YARN = map[string]string{
		"yarn.resourcemanager.scheduler.class":                             "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
		"yarn.resourcemanager.recovery.enabled":                            "true",
		"yarn.resourcemanager.store.class":                                 "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore",
		"yarn.resourcemanager.fs.state-store.uri":                          fileURI(s.Dir, d.Name, "state"),
		"yarn.resourcemanager.work-preserving-recovery.enabled":            "true",
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms": "1000",
		// Each of the 150 threads that wait for calls wakes up every second.
		"yarn.resourcemanager.client.thread-count":                  "10",
		"yarn.resourcemanager.scheduler.client.thread-count":        "10",
		"yarn.resourcemanager.resource-tracker.client.thread-count": "10",
		// The default is below /tmp, where ResourceManagers of other clusters write too. The two ResourceManagers of
		// one cluster share the folder.
		"yarn.node-attribute.fs-store.root-dir": fileURI(s.Dir, "node-attribute"),
		"yarn.node-labels.fs-store.root-dir":    fileURI(s.Dir, "node-labels"),
	}
	return d
}

func nodeManagerHost(i int) string { return fmt.Sprintf("127.0.0.%d", i+2) }

func nodeManagerDaemon(s *spec, environment []string, i int, ports *ports) daemon {
	d := daemon{Name: fmt.Sprintf("%s%d", nodeManager, i+1), Kind: nodeManager, Host: nodeManagerHost(i)}
	d.Web = ports.on(d.Host)
	d.Core = merged(localFiles(), patience())
	d.HDFS = map[string]string{}
	d.YARN = map[string]string{
		// With a bind host, the NodeId contains this address, and not a name that the NodeManager looks up for it.
		"yarn.nodemanager.bind-host":                 d.Host,
		"yarn.nodemanager.address":                   ports.on(d.Host),
		"yarn.nodemanager.localizer.address":         ports.on(d.Host),
		"yarn.nodemanager.collector-service.address": ports.on(d.Host),
		"yarn.nodemanager.webapp.address":            d.Web,
		"yarn.nodemanager.local-dirs":                filepath.Join(s.Dir, d.Name, "local"),
		"yarn.nodemanager.log-dirs":                  filepath.Join(s.Dir, d.Name, "userlogs"),
		"yarn.nodemanager.recovery.enabled":          "true",
		"yarn.nodemanager.recovery.supervised":       "true", // containers also survive a stop
		"yarn.nodemanager.recovery.dir":              filepath.Join(s.Dir, d.Name, "recovery"),
		"yarn.nodemanager.vmem-check-enabled":        "false",
		"yarn.nodemanager.pmem-check-enabled":        "true",
		// Hadoop 3's default of true leaves the check to cgroups, even if there are none.
		"yarn.nodemanager.resource.memory.enforced":                                     "false",
		"yarn.nodemanager.delete.debug-delay-sec":                                       "0",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
		"yarn.nodemanager.admin-env":                                                    strings.Join(append([]string{"MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX", mark(s.Dir)}, environment...), ","),
		"yarn.resourcemanager.connect.retry-interval.ms":                                "200",
	}
	return d
}

// mark returns the environment entry that every process of the cluster in dir has.
func mark(dir string) string { return markVariable + "=" + dir }

const markVariable = "BOBBIN_CLUSTER_DIR"

func fileURI(elem ...string) string { return "file://" + filepath.Join(elem...) }

// heapMB returns the largest heap of a kind of daemon. The JVM takes less while it needs less.
func (k kind) heapMB() int {
	if k == resourceManager {
		return 512
	}
	return 256
}

// jvmFlags prefer a fast start and small memory to throughput. A NodeManager starts some processes for each container.
// With VFORK, as in Java 8, these need no helper process, which later JDKs start.
func jvmFlags(s *spec, d daemon) []string {
	own := filepath.Join(s.Dir, d.Name)
	return append(append(openPackages(), s.kerberosFlags()...),
		fmt.Sprintf("-Xmx%dm", d.Kind.heapMB()),
		"-Xshare:auto", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Djdk.lang.Process.launchMechanism=VFORK",
		"-Djava.net.preferIPv4Stack=true",
		"-Djava.io.tmpdir="+filepath.Join(own, "tmp"),
		"-Dhadoop.log.dir="+filepath.Join(s.Dir, "logs"),
		"-Dyarn.log.dir="+filepath.Join(s.Dir, "logs"),
	)
}

// kerberosFlags point a JVM at the cluster's realm.
func (s *spec) kerberosFlags() []string {
	if s.Kerberos == nil {
		return nil
	}
	return []string{"-Djava.security.krb5.conf=" + s.krb5Conf()}
}

// openPackages lets Hadoop access the JDK's internals as on Java 8.
func openPackages() []string {
	var flags []string
	for _, pkg := range []string{"java.lang", "java.util", "java.io", "java.net", "java.nio"} {
		flags = append(flags, "--add-opens=java.base/"+pkg+"=ALL-UNNAMED")
	}
	return append(flags, "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED")
}

// environment returns the environment of a Java process: the given entries, the variables that find programs, and none
// of the tests' own HADOOP_* settings.
func environment(entries ...string) []string {
	env := entries
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "JAVA_HOME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
