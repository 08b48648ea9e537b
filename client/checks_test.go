package client

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func options(t *testing.T, pairs ...string) config.Config {
	t.Helper()
	layer := config.Layer{Source: "test", Values: make(map[string]string)}
	for _, pair := range pairs {
		name, value, err := config.ParseDefinition(pair)
		if err != nil {
			t.Fatal(err)
		}
		layer.Values[name] = value
	}
	c, err := config.New(layer)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestContainersTooSmallAreRefusedHere would catch sizes that only the ApplicationMaster refuses, in a log that
// nobody has yet.
func TestContainersTooSmallAreRefusedHere(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
		want    error
		says    string
	}{
		{"the defaults fit", nil, nil, ""},
		{"the least that fits", []string{"jobmanager.memory.process.size=64m", "taskmanager.memory.process.size=138m"}, nil, ""},
		{"no room for a slot", []string{"taskmanager.memory.process.size=137m"}, memory.ErrTooSmall, "138m or more"},
		{"too many slots", []string{"taskmanager.numberOfTaskSlots=100"}, memory.ErrTooSmall, "-s"},
		{"a ceiling below one worker", []string{"slotmanager.max-total-resource.memory=1000m"}, config.ErrInvalid, "slotmanager.max-total-resource.memory: 1000m is less than one TaskExecutor"},
		{"a floor above a ceiling", []string{"slotmanager.number-of-slots.min=3", "slotmanager.max-total-resource.cpu=2"}, config.ErrInvalid, "slotmanager.number-of-slots.min: 3 needs 3 TaskExecutors, and option slotmanager.max-total-resource.cpu: 2 allows 2"},
		{"no room for the master", []string{"jobmanager.memory.process.size=63m"}, ErrMasterTooSmall, "-jm"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ContainersOf(options(t, c.options...), launch.PerJob)
			if !errors.Is(err, c.want) || c.want != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %v with %q", err, c.want, c.says)
			}
		})
	}
}

// TestTheMastersLimitIsItsHeap would catch an ApplicationMaster with the limit of another mode, which leaves no
// room for users' programs, and an option of the heap without an effect.
func TestTheMastersLimitIsItsHeap(t *testing.T) {
	for _, c := range []struct {
		mode    launch.Mode
		options []string
		limit   string
		size    int64
	}{
		{launch.PerJob, []string{"jobmanager.memory.process.size=500m"}, "400MiB", 500},
		{launch.Session, []string{"jobmanager.memory.process.size=1000m"}, "500MiB", 1000},
		{launch.Application, []string{"jobmanager.memory.heap.size=300m", "jobmanager.memory.off-heap.size=100m"}, "300MiB", 500},
		{launch.PerJob, []string{"jobmanager.memory.flink.size=400m"}, "400MiB", 500},
	} {
		p, err := local(t).plan(Deployment{Mode: c.mode, Config: options(t, c.options...)})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.environment["GOMEMLIMIT"]; got != c.limit || p.submission.Resource.MemoryMB != c.size {
			t.Errorf("%s, %v: limit %s in %d MB, want %s in %d", c.mode, c.options, got, p.submission.Resource.MemoryMB, c.limit, c.size)
		}
	}
	if _, err := ContainersOf(options(t, "jobmanager.memory.heap.size=1g", "jobmanager.memory.process.size=512m", "taskmanager.memory.task.heap.size=2g"), launch.PerJob); !errors.Is(err, config.ErrInvalid) ||
		!strings.Contains(err.Error(), "jobmanager.memory.heap.size: 1g") || !strings.Contains(err.Error(), "taskmanager.memory.task.heap.size: 2g") {
		t.Errorf("contradictions of both containers: %v", err)
	}
}

// within compares what options ask for with YARN's maximum.
func within(t *testing.T, maximum records.Resource, pairs ...string) error {
	t.Helper()
	c := options(t, pairs...)
	asked, err := ContainersOf(c, launch.PerJob)
	if err != nil {
		t.Fatal(err)
	}
	place, err := launch.PlaceOf(c)
	if err != nil {
		t.Fatal(err)
	}
	return asked.Within(maximum, place)
}

// TestContainersBeyondYARNsMaximumAreRefused would catch a job that waits forever for a container that no node
// has.
func TestContainersBeyondYARNsMaximumAreRefused(t *testing.T) {
	maximum := records.Resource{MemoryMB: 1024, VCores: 2}
	if err := within(t, maximum, "taskmanager.numberOfTaskSlots=2"); err != nil {
		t.Errorf("all of YARN's largest container: %v", err)
	}
	for option, says := range map[string]string{
		"jobmanager.memory.process.size=1025m": "ApplicationMaster asks for 1025 MB, YARN's largest container has 1024 MB: lower it (-jm",
		"taskmanager.memory.process.size=2g":   "TaskExecutor asks for 2048 MB, YARN's largest container has 1024 MB: lower it (-tm",
		"taskmanager.numberOfTaskSlots=3":      "TaskExecutor asks for 3 vcores, YARN's largest container has 2: lower it (-s",
		"yarn.containers.vcores=3":             "TaskExecutor asks for 3 vcores",
		"yarn.appmaster.vcores=3":              "ApplicationMaster asks for 3 vcores",
	} {
		err := within(t, maximum, option)
		if !errors.Is(err, ErrResources) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", option, err)
		}
	}
}

// TestGroupsBeyondYARNsMaximumAreRefused would catch a job that is uploaded although YARN never gives the workers of
// one of its slot sharing groups, a check of the default worker instead of the group's, and a message that does not
// name the group.
func TestGroupsBeyondYARNsMaximumAreRefused(t *testing.T) {
	maximum := records.Resource{MemoryMB: 2048, VCores: 2}.With("yarn.io/gpu", records.ResourceAmount{Value: 4})
	gpu := []string{"external-resources=gpu", "external-resource.gpu.amount=1", "external-resource.gpu.yarn.config-key=yarn.io/gpu"}
	for _, c := range []struct {
		name    string
		options []string
		jobgraph.Resources
		says []string // none: it fits
	}{
		{"it fits", gpu, jobgraph.Resources{CPU: 2, TaskHeap: 1 << 30, External: map[string]int64{"gpu": 4}}, nil},
		{"memory", nil, jobgraph.Resources{CPU: 1, TaskHeap: 2 << 30}, []string{
			"a TaskExecutor of slot sharing group large (slots: 1, each with 1 cores, 2048 MB task heap) asks for ",
			" MB, YARN's largest container has 2048 MB and 2 vcores: lower it (dataflow.Resources of the group)",
		}},
		{"vcores", nil, jobgraph.Resources{CPU: 2.5, TaskHeap: 1 << 20}, []string{"group large", " asks for 3 vcores, YARN's largest container has 2048 MB and 2 vcores: lower it"}},
		{"an external resource", gpu, jobgraph.Resources{CPU: 1, TaskHeap: 1 << 20, External: map[string]int64{"gpu": 5}}, []string{
			"group large", " asks for 5 of yarn.io/gpu, YARN's largest container has 4: lower it (dataflow.Resources of the group)",
		}},
		{"a resource that YARN does not have", append(gpu[:2:2], "external-resource.gpu.yarn.config-key=fpga"), jobgraph.Resources{CPU: 1, TaskHeap: 1 << 20, External: map[string]int64{"gpu": 1}}, []string{
			"group large", " asks for fpga, which YARN does not offer: name another (external-resource.*.yarn.config-key): YARN has yarn.io/gpu",
		}},
		{"a resource that options do not have", gpu, jobgraph.Resources{CPU: 1, TaskHeap: 1 << 20, External: map[string]int64{"tpu": 1}}, []string{
			"group large", " asks for tpu, which is not in external-resources: add it there, and set external-resource.tpu.yarn.config-key",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			graph := jobgraph.JobGraph{
				Groups: []jobgraph.Group{
					{Name: "little", Resources: &jobgraph.Resources{CPU: 0.1, TaskHeap: 1 << 20}}, {Name: "large", Resources: &c.Resources},
				},
				Vertices: []jobgraph.Vertex{{Parallelism: 2}, {Parallelism: 1, Group: 1}},
			}
			p, err := local(t).plan(Deployment{Mode: launch.PerJob, Config: options(t, c.options...), Graph: graph})
			if err != nil {
				t.Fatal(err)
			}
			err = p.limits(maximum).Check(p.workers)
			if (err == nil) != (c.says == nil) || err != nil && (!errors.Is(err, ErrResources) || strings.Contains(err.Error(), "little")) {
				t.Fatalf("%v, want %q", err, c.says)
			}
			for _, says := range c.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%q is not in %q", says, err)
				}
			}
		})
	}
}

// TestAGroupsWorkerIsMissedOnNodes would catch a warning about the room for a default worker, which a job whose
// groups have resources does not use.
func TestAGroupsWorkerIsMissedOnNodes(t *testing.T) {
	c := options(t)
	asked, err := ContainersOf(c, launch.PerJob)
	if err != nil {
		t.Fatal(err)
	}
	nodes := []records.NodeReport{{Capability: records.Resource{MemoryMB: 1600}}}
	for heap, says := range map[int64]string{1 << 20: "", 3 << 30: " MB free for a TaskExecutor of slot sharing group large now, the emptiest has 1600 MB"} {
		graph := jobgraph.JobGraph{Groups: []jobgraph.Group{{Name: "large", Resources: &jobgraph.Resources{CPU: 1, TaskHeap: heap}}}, Vertices: []jobgraph.Vertex{{Parallelism: 1}}}
		workers := launch.WorkersOf(c, launch.WorkerSize{Memory: asked.WorkerMemory, VCores: 1}, &graph)
		if got := asked.crowded(workers, nodes); (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("a heap of %d MB: %q, want %q", heap>>20, got, says)
		}
	}
}

// TestHeartbeatsThatYARNWouldMissAreRefused would catch an ApplicationMaster that YARN takes
// for dead again and again.
func TestHeartbeatsThatYARNWouldMissAreRefused(t *testing.T) {
	slow := (&hadoopconf.Conf{}).With("test", map[string]string{"yarn.am.liveness-monitor.expiry-interval-ms": "20000"})
	for _, c := range []struct {
		conf    *hadoopconf.Conf
		options []string
		says    string
	}{
		{&hadoopconf.Conf{}, nil, ""},
		{&hadoopconf.Conf{}, []string{"yarn.heartbeat.interval=9 min"}, ""},
		{&hadoopconf.Conf{}, []string{"yarn.heartbeat.interval=10 min"}, "sends no heartbeat for 10m0s"},
		{slow, []string{"yarn.heartbeat.interval=19"}, ""},
		{slow, []string{"yarn.heartbeat.interval=20"}, "sends no heartbeat for 20s (yarn.am.liveness-monitor.expiry-interval-ms)"},
	} {
		err := CheckHeartbeats(options(t, c.options...), c.conf)
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: %v, want %q", c.options, err, c.says)
		}
	}
}

// TestContradictionsAreFoundBeforeTheClusterIsAsked would catch an upload, or a call to a server, although the
// options cannot work: this cluster has neither files nor YARN.
func TestContradictionsAreFoundBeforeTheClusterIsAsked(t *testing.T) {
	c := &Cluster{Conf: new(hadoopconf.Conf)}
	_, err := c.Deploy(t.Context(), Deployment{Config: options(t, "heartbeat.interval=50 s", "yarn.heartbeat.interval=50 ms", "jobmanager.memory.process.size=1m")})
	for _, part := range []string{"option heartbeat.interval: 50 s (test) is not less than heartbeat.timeout, 50 s (default)", "yarn.heartbeat.container-request-interval", ErrMasterTooSmall.Error()} {
		if err == nil || !errors.Is(err, config.ErrInvalid) || !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
}

// TestWhatElseIsAskedForIsCheckedToo would catch a job that waits forever for a GPU that no node has, and
// amounts in other units than YARN's.
func TestWhatElseIsAskedForIsCheckedToo(t *testing.T) {
	maximum := records.Resource{MemoryMB: 4096, VCores: 4}.With("yarn.io/gpu", records.ResourceAmount{Value: 4}).With("disk", records.ResourceAmount{Value: 10, Units: "Gi"})
	for _, c := range []struct{ kind, amount, says string }{
		{"yarn.io/gpu", "4", ""},
		{"yarn.io/gpu", "5", "TaskExecutor asks for 5 of yarn.io/gpu, YARN's largest container has 4: lower it (external-resource.*.amount"},
		{"disk", "10", ""},
		{"disk", "11", "asks for 11Gi of disk, YARN's largest container has 10Gi"},
		{"yarn.io/fpga", "1", "yarn.io/fpga, which YARN does not offer: name another (external-resource.*.yarn.config-key): YARN has disk, yarn.io/gpu"},
	} {
		err := within(t, maximum, "external-resources=x", "external-resource.x.amount="+c.amount, "external-resource.x.yarn.config-key="+c.kind)
		if (err == nil) != (c.says == "") || err != nil && (!errors.Is(err, ErrResources) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s of %s: %v, want %q", c.amount, c.kind, err, c.says)
		}
	}
}

// TestQueuesAreCheckedForTheUser would catch an upload before a refusal, and a refusal because a scheduler
// reports no rights.
func TestQueuesAreCheckedForTheUser(t *testing.T) {
	leaf := records.QueueInfo{Name: "small", Path: "root.small", State: records.QueueRunning}
	stopped := leaf
	stopped.State = records.QueueStopped
	parent := records.QueueInfo{Name: "root", Path: "root", State: records.QueueRunning, Children: []records.QueueInfo{{Name: "a"}, {Name: "b"}}}
	submit := []records.QueueACL{records.QueueSubmitApplications}
	for _, c := range []struct {
		name   string
		queue  records.QueueInfo
		rights []records.QueueUserACL
		says   string // "": the queue may be used
	}{
		{"open to the user", leaf, []records.QueueUserACL{{Queue: "root"}, {Queue: "root.small", ACLs: submit}}, ""},
		{"its administrator", leaf, []records.QueueUserACL{{Queue: "small", ACLs: []records.QueueACL{records.QueueAdminister}}}, ""},
		{"no rights are told", leaf, nil, ""},
		{
			"closed to the user", leaf,
			[]records.QueueUserACL{{Queue: "root.default", ACLs: submit}, {Queue: "root.small"}},
			"user alice may not submit to root.small: choose one of root.default (-qu",
		},
		{"all are closed, by their short names", leaf, []records.QueueUserACL{{Queue: "small"}}, "ask for the right"},
		{"stopped", stopped, []records.QueueUserACL{{Queue: "root.small", ACLs: submit}}, "root.small is STOPPED"},
		{"a parent", parent, nil, "choose one of a, b (-qu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := checkQueue("alice", c.queue, c.rights)
			if c.says == "" && err != nil || c.says != "" && (!errors.Is(err, ErrQueue) || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}

// homes answers like the local disk.
type homes struct{}

func (homes) Home() (string, error)              { return "file:///home/alice", nil }
func (homes) Qualify(uri string) (string, error) { return uri, nil }

// TestFilesAreStagedWhereOthersSeeThem would catch a job whose files are on the disk of one machine, while
// containers look for them on another.
func TestFilesAreStagedWhereOthersSeeThem(t *testing.T) {
	conf := (&hadoopconf.Conf{}).With("core-site.xml", map[string]string{"fs.defaultFS": "file:///"})
	for _, c := range []struct {
		configured string
		says       []string // empty: the directory is accepted
	}{
		{"", []string{"fs.defaultFS is file:///", "core-site.xml", "set it to the cluster's HDFS"}},
		{"file:///tmp", []string{"yarn.staging-directory is file:///tmp", "name a directory on the cluster's HDFS"}},
		{"hdfs://ns/tmp", nil},
	} {
		_, err := StagingHome(homes{}, conf, c.configured)
		if (err == nil) != (c.says == nil) || err != nil && !errors.Is(err, errFileSystem) {
			t.Errorf("%q: %v", c.configured, err)
		}
		for _, want := range c.says {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in %q", want, err)
			}
		}
	}
}

// TestTheShorterTimeCounts would catch a disabled time limit that counts as the shortest.
func TestTheShorterTimeCounts(t *testing.T) {
	for _, c := range [][3]time.Duration{{1, 2, 1}, {2, 1, 1}, {0, 5, 5}, {-1, 5, 5}} {
		if got := shorter(c[0], c[1]); got != c[2] {
			t.Errorf("shorter(%d, %d) = %d", c[0], c[1], got)
		}
	}
}

// TestNobodyWaitsLongByDefault would catch a default with which a command is silent for too long.
func TestNobodyWaitsLongByDefault(t *testing.T) {
	if got := options(t).Duration(config.ClientTimeout); got <= 0 || got > 30*time.Second {
		t.Errorf("servers that do not answer are tried for %v", got)
	}
}
