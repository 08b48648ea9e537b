package client

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// small is a job with two tasks.
func small() jobgraph.JobGraph {
	return jobgraph.JobGraph{Vertices: []jobgraph.Vertex{{Parallelism: 2}, {Parallelism: 1}}}
}

// TestSmallJobsHaveOneContainer would catch a container that is too small for both, or has no program; a master
// that does not know of the room; a job that fails because both do not fit; a worker that lacks what its own
// container would have; and a user who is not told why there are two containers.
func TestSmallJobsHaveOneContainer(t *testing.T) {
	t.Parallel()
	const both = "taskmanager.memory.process.size=1g"
	for _, c := range []struct {
		name    string
		mode    launch.Mode
		options []string
		says    string // why there are two
		silent  bool   // there are two, and nothing is said
	}{
		{"both fit", launch.PerJob, []string{both}, "", false},
		{"by default", launch.PerJob, []string{"yarn.application.uber=never"}, "", true},
		{"a session", launch.Session, nil, "", true},
		{"too few slots", launch.PerJob, []string{"taskmanager.numberOfTaskSlots=1"}, "it needs 2 slots, and a worker has 1 (taskmanager.numberOfTaskSlots)", false},
		{"too much memory", launch.PerJob, []string{"taskmanager.memory.process.size=3500m"}, "both take 4012 MB and 2 vcores, and YARN's largest container has 4000 MB and 3 vcores", false},
		{"an external resource", launch.PerJob, []string{"external-resources=g", "external-resource.g.amount=1", "external-resource.g.yarn.config-key=gpu"}, "(external-resources)", false},
		{"a placement", launch.PerJob, []string{"yarn.taskmanager.placement-constraint=notin,node,taskmanager"}, "(yarn.taskmanager.placement-constraint)", false},
		{"opportunistic", launch.PerJob, []string{"yarn.taskmanager.execution-type=OPPORTUNISTIC"}, "(yarn.taskmanager.execution-type)", false},
		{"other nodes", launch.PerJob, []string{"yarn.taskmanager.node-label=gpu"}, "(yarn.taskmanager.node-label)", false},
		{"the same nodes", launch.PerJob, []string{"yarn.taskmanager.node-label=gpu", "yarn.application.node-label=gpu"}, "", false},
		{"spare workers", launch.PerJob, []string{"slotmanager.redundant-taskmanager-num=1"}, "(slotmanager.redundant-taskmanager-num)", false},
		{"a floor of one", launch.PerJob, []string{"slotmanager.number-of-slots.min=2"}, "", false},
		{"a floor of two", launch.PerJob, []string{"slotmanager.number-of-slots.min=3"}, "(slotmanager.number-of-slots.min: 3)", false},
		{"a floor of one worker's memory", launch.PerJob, []string{both, "slotmanager.min-total-resource.memory=1g"}, "", false},
		{"a floor of more memory", launch.PerJob, []string{both, "slotmanager.min-total-resource.memory=1025m"}, "the cluster has at least 2 workers (slotmanager.min-total-resource.memory: 1025m)", false},
		{"a floor of one worker's cores", launch.PerJob, []string{"slotmanager.min-total-resource.cpu=2"}, "", false},
		{"a floor of more cores", launch.PerJob, []string{"slotmanager.min-total-resource.cpu=2.5"}, "the cluster has at least 2 workers (slotmanager.min-total-resource.cpu: 2.5)", false},
		{"a variable of the master", launch.PerJob, []string{"containerized.master.env.A=b"}, "(containerized.master.env.*)", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			options := options(t, append([]string{"yarn.application.uber=auto", "taskmanager.numberOfTaskSlots=2"}, c.options...)...)
			p, err := local(t).plan(Deployment{Mode: c.mode, Config: options, Graph: small()})
			if err != nil {
				t.Fatal(err)
			}
			u := p.uber.within(p.containers, records.Resource{MemoryMB: 4000, VCores: 3})
			if together := c.says == "" && !c.silent; u.together() != together {
				t.Fatalf("one container: %t, want %t (%s)", u.together(), together, u.apart)
			}
			if advice := u.advice(); (advice == "") != (c.says == "") || !strings.HasSuffix(advice, c.says) {
				t.Errorf("the user is told %q, want …%q", advice, c.says)
			}
			known := facts{uber: u, grant: grant{credentials: creds.New()}}
			resource := launch.Resource{URI: "hdfs://nn/file"}
			made, err := p.launchContext(staged{bobbin: resource, program: resource}, known)
			if err != nil {
				t.Fatal(err)
			}
			told, err := launch.Decode[launch.AppMaster](made.Environment[launch.Variable])
			if err != nil {
				t.Fatal(err)
			}
			_, program := made.LocalResources[launch.ProgramLink]
			if told.Uber != u.together() || program != u.together() {
				t.Errorf("the master is told of the room: %t, and has the program: %t; want %t", told.Uber, program, u.together())
			}
			size := records.Resource{MemoryMB: 512, VCores: 1}
			if u.together() {
				size = records.Resource{MemoryMB: 1536, VCores: 2}
			}
			if got := p.submissionContext(known, made).Resource; !got.Fits(size) || !size.Fits(got) {
				t.Errorf("YARN is asked for %v, want %v", got, size)
			}
			if got, want := made.Environment["GOMEMLIMIT"], memory.GoLimit(p.containers.MasterMemory.Heap); got != want {
				t.Errorf("the master's own limit is %s, want %s", got, want)
			}
		})
	}
}

// TestGroupsWithResourcesHaveTheirWorkers would catch a container for a worker of the usual size that serves no group.
func TestGroupsWithResourcesHaveTheirWorkers(t *testing.T) {
	t.Parallel()
	graph := small()
	graph.Groups = []jobgraph.Group{{Name: "a", Resources: &jobgraph.Resources{CPU: 1, TaskHeap: 1 << 20}}}
	p, err := local(t).plan(Deployment{Mode: launch.PerJob, Config: options(t, "yarn.application.uber=auto", "taskmanager.numberOfTaskSlots=2"), Graph: graph})
	if err != nil {
		t.Fatal(err)
	}
	if p.uber.together() || !strings.Contains(p.uber.advice(), "slot sharing groups have resources") {
		t.Errorf("one container: %t, and the user is told %q", p.uber.together(), p.uber.advice())
	}
}

// TestOneContainerIsCrowdedElsewhere would catch a hint about a second container that nobody asks for.
func TestOneContainerIsCrowdedElsewhere(t *testing.T) {
	t.Parallel()
	p, err := local(t).plan(Deployment{Mode: launch.PerJob, Config: options(t, "yarn.application.uber=auto", "taskmanager.numberOfTaskSlots=2"), Graph: small()})
	if err != nil {
		t.Fatal(err)
	}
	nodes := []records.NodeReport{{Capability: records.Resource{MemoryMB: 1600}}}
	if hint := p.crowded(p.uber, nodes); hint != "" {
		t.Errorf("1536 MB on a node of 1600: %s", hint)
	}
	nodes[0].Used.MemoryMB = 100
	if hint := p.crowded(p.uber, nodes); !strings.Contains(hint, "1536 MB free for the ApplicationMaster") {
		t.Errorf("1536 MB on a node with 1500: %q", hint)
	}
}

// TestAQueueThatAllowsLessGetsTwo would catch a job that fails because the queue's largest container is smaller than
// YARN's.
func TestAQueueThatAllowsLessGetsTwo(t *testing.T) {
	t.Parallel()
	fake := fakeCluster(t, yarnfake.Config{Maximum: records.Resource{MemoryMB: 1024, VCores: 4}})
	c := local(t)
	c.YARN = seenBy(t, "alice", fake, c.Conf).YARN
	p, err := c.plan(Deployment{Mode: launch.PerJob, Config: options(t, "yarn.application.uber=auto", "taskmanager.numberOfTaskSlots=2"), Graph: small()})
	if err != nil {
		t.Fatal(err)
	}
	created, err := c.YARN.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := facts{id: created.ID, uber: p.uber, grant: grant{credentials: creds.New()}}
	app := &Application{ID: created.ID, c: c, asked: 1536}
	resource := launch.Resource{URI: "hdfs://nn/file"}
	s, err := app.offer(t.Context(), p, staged{bobbin: resource, program: resource}, &known)
	if err != nil {
		t.Fatal(err)
	}
	if s.Resource.MemoryMB != 512 || app.asked != 512 || !strings.Contains(known.uber.advice(), "YARN refuses a container for both") {
		t.Errorf("YARN is asked for %v (%d MB), and the user is told %q", s.Resource, app.asked, known.uber.advice())
	}
	if report, err := c.Report(t.Context(), created.ID); err != nil || report.ID != created.ID {
		t.Errorf("the application is %v, error %v", report.ID, err)
	}
}

// TestTheOptionIsExplained would catch a doctor that does not say what counts against the queue's share, says it of
// jobs that get two containers, or speaks of an option that is not set.
func TestTheOptionIsExplained(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options  []string
		says     string
		together bool
	}{
		{nil, "", false},
		{[]string{"yarn.application.uber=auto"}, "one container of 1536 MB and 1 vcores (yarn.application.uber). YARN counts all of it", true},
		{[]string{"yarn.application.uber=auto"}, "(yarn.scheduler.capacity.maximum-am-resource-percent): with the default share, 10 %, the queue runs about one of these applications for each 15360 MB", true},
		{[]string{"yarn.application.uber=auto", "taskmanager.memory.process.size=4g"}, "both take 4608 MB", false},
	} {
		options := options(t, c.options...)
		containers, err := ContainersOf(options, launch.PerJob)
		if err != nil {
			t.Fatal(err)
		}
		place, err := launch.PlaceOf(options)
		if err != nil {
			t.Fatal(err)
		}
		line, together := CheckUber(options, place, containers, records.Resource{MemoryMB: 4096, VCores: 4})
		if together != c.together || !strings.Contains(line, c.says) || (line == "") != (c.says == "") {
			t.Errorf("%v: %q, one container: %t; want %q, %t", c.options, line, together, c.says, c.together)
		}
	}
}
