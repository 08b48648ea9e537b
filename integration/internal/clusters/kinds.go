package clusters

import (
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// Kind is a kind of cluster. A run of the tests has at most one cluster of each kind.
type Kind string

// The clusters of a run.
const (
	// Open is like most users' clusters: HDFS and YARN with two NodeManagers, no Kerberos. No test changes its daemons.
	Open Kind = "open"
	// Features has all features of YARN that are off by default, and offers each protection of calls. Of its three
	// nodes, GPUNode has a label, and the others have attributes. The few tests that fill it, or kill its
	// ResourceManager, take it alone.
	Features Kind = "features"
	// Victim is for tests that kill, pause and restart daemons. It is an open cluster with two DataNodes, an encryption
	// zone, and the services of YARN that change how all applications run.
	Victim Kind = "victim"
	// OtherVictim is the Twin of Victim. With Victim alone, the tests of a run waited for each other for minutes.
	OtherVictim Kind = "othervictim"
	// Pair is an open cluster with two ResourceManagers, one NodeManager, and two NameNodes. The NameNodes issue
	// tokens.
	Pair Kind = "pair"
	// Secure is a cluster with Kerberos and privacy, and a second realm. No test changes its daemons.
	Secure Kind = "secure"
	// SecurePair is a secure cluster with two ResourceManagers, one NodeManager, two NameNodes, tickets at web servers,
	// a second HDFS, tokens issued for host names, and the queue Closed.
	SecurePair Kind = "securepair"
	// SecureVictim is Victim with Kerberos and privacy, for the long tests.
	SecureVictim Kind = "securevictim"
	// Hasty rolls keys after seconds instead of a day, and loses NodeManagers that are silent for seconds.
	Hasty Kind = "hasty"
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Open, Features, Victim, OtherVictim, Pair, Secure, SecurePair, SecureVictim, Hasty}
}

// Secured returns the kind that is like this one, but with Kerberos.
func (k Kind) Secured() Kind {
	switch k {
	case Open:
		return Secure
	case Victim:
		return SecureVictim
	case Pair:
		return SecurePair
	default:
		return k
	}
}

// Short reports whether tests use this kind in Go's short mode. Use and Change skip the tests of other kinds.
func (k Kind) Short() bool { return k == Open || k == Secure }

// Twin returns the kind of which Change takes the cluster if it becomes free first. It is "" for most kinds.
func (k Kind) Twin() Kind {
	if k == Victim {
		return OtherVictim
	}
	return ""
}

// Users with homes, and on secure clusters with principals. Tests that look at everything a user leaves behind take a
// user that no other package has.
const (
	Alice    = "alice"
	Bob      = "bob"
	Carol    = "carol"
	Small    = "small" // only this user may use the queue small
	Careless = "careless"
	Hasting  = "hasty"
	Dora     = "dora" // of the second realm, if there is one
)

// The nodes of Features.
const (
	GPUNode   = "127.0.0.2" // in the partition gpu, which is exclusive
	SSDNode   = "127.0.0.3" // with the attribute disk=ssd
	PlainNode = "127.0.0.4" // with the attributes disk=hdd, and slow without a value
)

// FeaturesNodeMB is the memory of each node of Features, in MB.
const FeaturesNodeMB = 16 << 10

// Widgets is a resource type of Features. Each node has 7.
const Widgets = "widgets"

// heartbeat is the interval of NodeManagers' reports. With YARN's 1 s, each step of an application would wait for half
// a second.
const heartbeat = 200 * time.Millisecond

// config returns the configuration of a kind. data is a folder for files that the daemons read.
func (k Kind) config(data string) (cluster.Config, error) {
	cfg := cluster.Config{
		Heartbeat: heartbeat, MemoryMB: 8192, VCores: 32, AtOnce: true,
		Users: []string{Alice, Bob, Carol, Small, Careless, Hasting},
		Core:  map[string]string{}, HDFS: map[string]string{}, YARN: map[string]string{}, Scheduler: map[string]string{},
	}
	if k != Open { // otherwise each container starts more processes, which list its folder and keep its script
		cfg.YARN["yarn.nodemanager.log-container-debug-info.enabled"] = "false"
	}
	switch k {
	case Open:
		narrow(&cfg)
	case Features:
		return cfg, features(&cfg, data)
	case Victim, OtherVictim:
		victim(&cfg)
	case SecureVictim:
		victim(&cfg)
		secure(&cfg)
	case Pair:
		oneNode(&cfg)
		cfg.HA, cfg.NameNodeHA = true, true
		cfg.HDFS["dfs.namenode.delegation.token.always-use"] = "true" // otherwise open clusters issue none
	case Secure:
		narrow(&cfg)
		secure(&cfg)
		cfg.Users = append(cfg.Users, Dora)
		cfg.Kerberos.Partners = []string{Dora}
	case SecurePair:
		oneNode(&cfg)
		cfg.HA, cfg.NameNodeHA, cfg.OtherHDFS = true, true, true
		secure(&cfg)
		cfg.Kerberos.Web = true
		closed(&cfg)
		// Tokens are issued for host names instead of addresses.
		cfg.Core["hadoop.security.token.service.use_ip"] = "false"
		// Otherwise YARN keeps the tokens of an ended job for ten minutes, in case its logs are not there yet.
		cfg.YARN["yarn.log-aggregation-enable"] = "false"
	case Hasty:
		hasty(&cfg)
	default:
		return cfg, fmt.Errorf("no kind of cluster is called %q; the kinds are %v", k, Kinds())
	}
	return cfg, nil
}

// prepare makes the changes that need the running cluster.
func (k Kind) prepare(run func(class string, args ...string) error) error {
	if k != Features {
		return nil
	}
	const (
		rmAdmin    = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
		attributes = "org.apache.hadoop.yarn.client.cli.NodeAttributesCLI"
	)
	for _, command := range [][]string{
		{rmAdmin, "-addToClusterNodeLabels", "gpu(exclusive=true),spare(exclusive=false)"}, // no node has the label spare
		{rmAdmin, "-replaceLabelsOnNode", GPUNode + "=gpu"},
		{attributes, "-add", SSDNode + ":disk(STRING)=ssd " + PlainNode + ":disk(STRING)=hdd,slow(STRING)"},
	} {
		if err := run(command[0], command[1:]...); err != nil {
			return err
		}
	}
	return nil
}

// oneNode is for clusters with two of each server: one node with the room of two.
func oneNode(cfg *cluster.Config) {
	cfg.NodeManagers, cfg.MemoryMB, cfg.VCores = 1, 2*cfg.MemoryMB, 2*cfg.VCores
}

func secure(cfg *cluster.Config) {
	cfg.Kerberos = &cluster.Kerberos{Protection: "privacy"}
	encrypt(cfg)
}

// encrypt encrypts blocks with AES. The default is 3DES, which Java decrypts at 1 MB/s, so containers would wait half a
// minute for a binary.
func encrypt(cfg *cluster.Config) {
	if cfg.HDFS == nil {
		cfg.HDFS = make(map[string]string)
	}
	cfg.HDFS["dfs.encrypt.data.transfer.cipher.suites"] = "AES/CTR/NoPadding"
}

const queue = "yarn.scheduler.capacity.root."

// Queues of Open and Secure with little room.
const (
	Narrow = "narrow" // 4 GB, of which a quarter may be ApplicationMasters'
	Full   = "full"   // 1.6 GB, which the test of the page fills
)

func narrow(cfg *cluster.Config) {
	maps.Copy(cfg.Scheduler, map[string]string{
		queue + "queues":                                "default,small," + Narrow + "," + Full,
		queue + "default.capacity":                      "55",
		queue + Narrow + ".capacity":                    "25",
		queue + Narrow + ".maximum-capacity":            "25",
		queue + Narrow + ".user-limit-factor":           "10",
		queue + Narrow + ".acl_submit_applications":     "*",
		queue + Narrow + ".maximum-am-resource-percent": "0.25",
		queue + Full + ".capacity":                      "10",
		queue + Full + ".maximum-capacity":              "10",
		queue + Full + ".user-limit-factor":             "10",
		queue + Full + ".acl_submit_applications":       "*",
	})
}

// Closed is a queue of SecurePair that only Bob may use.
const Closed = "closed"

func closed(cfg *cluster.Config) {
	maps.Copy(cfg.Scheduler, map[string]string{
		queue + "queues":                            "default,small," + Closed,
		queue + "default.capacity":                  "80",
		queue + Closed + ".capacity":                "10",
		queue + Closed + ".acl_submit_applications": Bob,
	})
}

func victim(cfg *cluster.Config) {
	cfg.DataNodes, cfg.Zone = 2, true
	maps.Copy(cfg.YARN, map[string]string{
		// The timeline service, version 2, with its collectors.
		"yarn.timeline-service.enabled":                          "true",
		"yarn.timeline-service.version":                          "2.0f",
		"yarn.timeline-service.writer.class":                     "org.apache.hadoop.yarn.server.timelineservice.storage.NoOpTimelineWriterImpl",
		"yarn.nodemanager.aux-services":                          "timeline_collector",
		"yarn.nodemanager.aux-services.timeline_collector.class": "org.apache.hadoop.yarn.server.timelineservice.collector.PerNodeTimelineCollectorsAuxService",
		// This handler rejects requests that it cannot place. The scheduler's own handler, on Features, lets them wait.
		"yarn.resourcemanager.placement-constraints.handler": "placement-processor",
	})
}

// hasty sets the shortest times that a ResourceManager accepts: the life of keys must be more than three times the
// silence after which a node or an application counts as lost. On a busy machine an ApplicationMaster may be silent for
// a second or two.
func hasty(cfg *cluster.Config) {
	cfg.NodeManagers = 1
	maps.Copy(cfg.YARN, map[string]string{
		"yarn.am.liveness-monitor.expiry-interval-ms":                        "8000",
		"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs": "25",
		"yarn.nm.liveness-monitor.expiry-interval-ms":                        "8000",
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":    "25",
		// A restarted NodeManager knows only the newest key.
		"yarn.nodemanager.recovery.enabled": "false",
	})
}

// features turns on features that are off by default. They do not affect each other, nor applications that do not use
// them.
func features(cfg *cluster.Config, data string) error {
	profiles := filepath.Join(data, "profiles.json")
	const text = `{
	"default": {"memory-mb": 256, "vcores": 1},
	"large": {"memory-mb": 2048, "vcores": 4, "widgets": 3}
}
`
	if err := os.WriteFile(profiles, []byte(text), 0o644); err != nil {
		return err
	}
	daemons, err := user.Current()
	if err != nil {
		return err
	}
	cfg.NodeManagers = 3
	cfg.MemoryMB, cfg.VCores = FeaturesNodeMB, 64 // a full node ends an opportunistic container to make room for a guaranteed one
	cfg.Core["hadoop.rpc.protection"] = "authentication,integrity,privacy"
	maps.Copy(cfg.YARN, map[string]string{
		// Otherwise all users administer YARN, and need no right to another's application. REST callers without a name
		// are dr.who.
		"yarn.admin.acl":                                                  daemons.Username + ",dr.who",
		"yarn.cluster.max-application-priority":                           "10",
		"yarn.resource-types":                                             Widgets,
		"yarn.nodemanager.resource-type." + Widgets:                       "7",
		"yarn.resourcemanager.resource-profiles.enabled":                  "true",
		"yarn.resourcemanager.resource-profiles.source-file":              profiles,
		"yarn.node-labels.enabled":                                        "true",
		"yarn.resourcemanager.reservation-system.enable":                  "true",
		"yarn.resourcemanager.placement-constraints.handler":              "scheduler",
		"yarn.resourcemanager.opportunistic-container-allocation.enabled": "true",
		"yarn.nodemanager.opportunistic-containers-max-queue-length":      "10",
		// Preemption that asks soon, and leaves the choice to the ApplicationMasters.
		"yarn.resourcemanager.scheduler.monitor.enable":                               "true",
		"yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval":        "500",
		"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill":       "600000",
		"yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round": "1.0",
		"yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor": "1.0",
		"yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity":  "0.0",
	})
	maps.Copy(cfg.Scheduler, map[string]string{
		queue + "queues":                                        "default,small,plan",
		queue + "default.capacity":                              "50",
		queue + "small.capacity":                                "25",
		queue + "small.maximum-capacity":                        "25",
		queue + "plan.capacity":                                 "25",
		queue + "plan.maximum-capacity":                         "100",
		queue + "plan.reservable":                               "true",
		queue + "plan.acl_submit_applications":                  "*",
		queue + "accessible-node-labels":                        "gpu,spare",
		queue + "accessible-node-labels.gpu.capacity":           "100",
		queue + "accessible-node-labels.spare.capacity":         "100",
		queue + "default.accessible-node-labels":                "gpu,spare",
		queue + "default.accessible-node-labels.gpu.capacity":   "100",
		queue + "default.accessible-node-labels.spare.capacity": "100",
	})
	return nil
}
