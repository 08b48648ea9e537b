package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// TestTheDivisionOfMemoryIsShown would catch a table from which a part is missing, and another division than that of the
// containers.
func TestTheDivisionOfMemoryIsShown(t *testing.T) {
	t.Parallel()
	cfg, err := config.New(config.Layer{Source: "test", Values: map[string]string{
		"execution.target": "yarn-application", "taskmanager.numberOfTaskSlots": "2", "taskmanager.memory.task.off-heap.size": "100m",
	}})
	if err != nil {
		t.Fatal(err)
	}
	mode := newCluster(cfg)
	if mode != launch.Application {
		t.Fatalf("a cluster of kind %q", mode)
	}
	asked, err := client.ContainersOf(cfg, mode)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	divided, err := memoryOf(cfg, asked)
	if err != nil {
		t.Fatal(err)
	}
	if err := divided.write(&out); err != nil {
		t.Fatal(err)
	}
	want := `
TaskExecutor: 1024 MB (taskmanager.memory.process.size), slots: 2
PART            MEMORY  SLOT    OPTION
framework heap  32 MB           taskmanager.memory.framework.heap.size
task heap       306 MB  153 MB  taskmanager.memory.process.size
task off-heap   100 MB  50 MB   taskmanager.memory.task.off-heap.size
managed         350 MB  175 MB  taskmanager.memory.managed.fraction
network         87 MB   43 MB   taskmanager.memory.network.fraction
overhead        147 MB          taskmanager.memory.jvm-overhead.fraction

ApplicationMaster: 512 MB (jobmanager.memory.process.size)
PART      MEMORY  SLOT  OPTION
heap      256 MB        jobmanager.memory.process.size
off-heap  153 MB        jobmanager.memory.off-heap.size
overhead  102 MB        jobmanager.memory.jvm-overhead.fraction
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(divided)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"taskManager":{"container":1073741824,"decidedBy":"taskmanager.memory.process.size","slots":2,`, `{"name":"task off-heap","size":104857600,"option":"taskmanager.memory.task.off-heap.size"}`, `"jobManager":{"container":536870912,`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
}

// TestContradictionsAreToldBeforeAProgramPlans would catch options that are refused only after the program has run,
// and a plan of bobbin info for options that bobbin run refuses.
func TestContradictionsAreToldBeforeAProgramPlans(t *testing.T) {
	for _, words := range []string{"run -t yarn-per-job", "run -t yarn-application", "info -t yarn-per-job", "info -t yarn-application"} {
		for _, refused := range []struct{ set, want []string }{
			{
				[]string{"taskmanager.memory.task.heap.size=2g"},
				[]string{"taskmanager.memory.task.heap.size: 2g (-D)", "taskmanager.memory.process.size: 1g (default)"},
			},
			{
				[]string{"taskmanager.memory.network.min=200m", "taskmanager.memory.network.max=100m"},
				[]string{"taskmanager.memory.network.min: 200m (-D) is more than taskmanager.memory.network.max, 100m (-D)"},
			},
			{[]string{"heartbeat.interval=60s"}, []string{"heartbeat.interval: 60s (-D) is not less than heartbeat.timeout"}},
			{[]string{"yarn.taskmanager.placement-constraint=nonsense"}, []string{"option yarn.taskmanager.placement-constraint"}},
		} {
			args := strings.Fields(words)
			for _, option := range refused.set {
				args = append(args, "-D", option)
			}
			code, _, stderr := command(t, nil, append(args, "missing-program")...)
			for _, want := range refused.want {
				if code != ExitUsage || !strings.Contains(stderr, want) {
					t.Errorf("%v: exit code %d, want %q: %s", args, code, want, stderr)
				}
			}
		}
	}
}
