package options

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestContainersAreWhereOptionsWantThem would catch labels and constraints that YARN does not get,
// and requests that YARN never serves because they name nodes with other labels.
func TestContainersAreWhereOptionsWantThem(t *testing.T) {
	t.Parallel()
	elsewhere := []string{clusters.PlainNode, clusters.SSDNode}
	for _, c := range []struct {
		name            string
		flags           []string
		master, workers []string // nodes that may have them
		label           string   // the application's label in the ResourceManager's report
		widgets         int64    // widgets of each worker, according to YARN
		n               int      // number of workers
	}{
		{"a label for the application", option("yarn.application.node-label", "gpu"), []string{clusters.GPUNode}, []string{clusters.GPUNode}, "gpu", 0, 1},
		{"a label for TaskExecutors", option("yarn.taskmanager.node-label", "gpu"), elsewhere, []string{clusters.GPUNode}, "", 0, 1},
		{"a constraint on an attribute, and widgets", slices.Concat(option("yarn.taskmanager.placement-constraint", "disk=ssd"), external(2)), elsewhere, []string{clusters.SSDNode}, "", 2, 2},
		{"widgets, of which no node has enough for two", external(4), elsewhere, elsewhere, "", 4, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := suite.Dawdle(t, suite.User(t, bobbintest.Alice), slices.Concat(c.flags, []string{"-p", strconv.Itoa(c.n), "-s", "1"})...)
			v := look(t, d)
			if got := v.submission.GetNodeLabelExpression(); got != c.label || normal(v.report.NodeLabel) != c.label {
				t.Errorf("the application's label is %q, and %q by YARN's report; want %q", got, v.report.NodeLabel, c.label)
			}
			var master records.ContainerReport
			var workers []records.ContainerReport
			wait.Until(t, "YARN tells of so many workers", func() bool { // one more may be released
				master, workers = containers(t, d.User, d.Application)
				return len(workers) == c.n
			})
			for what, pair := range map[string]struct {
				got  []string
				want []string
			}{"master": {hosts(master), c.master}, "workers": {hosts(workers...), c.workers}} {
				for _, host := range pair.got {
					if !slices.Contains(pair.want, host) {
						t.Errorf("%s on %v, want them on %v", what, pair.got, pair.want)
					}
				}
			}
			for _, w := range workers {
				if got := w.Resource.Others.Amount(clusters.Widgets).Value; got != c.widgets {
					t.Errorf("worker %s has %d widgets, want %d", w.ID, got, c.widgets)
				}
			}
			d.CheckSucceeds(t)
		})
	}
	t.Run("two slot sharing groups, one with widgets", checkGroups)
}

// TestALabelWithoutNodesIsTold would catch a job that waits for ever, and whose user sees only that containers are requested.
func TestALabelWithoutNodesIsTold(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	waiting := u.Start(t, bobbintest.Small(append(option("yarn.taskmanager.node-label", "spare"), suite.SlowJob(t, u).Args...)...)...)
	waiting.Says(t, "no running node with the label spare is known")
	application := waiting.Application(t)
	if why := u.Master(t, application).Waiting(t, msg.NoNodeWithLabel); !strings.Contains(why.Remedy, "yarn.taskmanager.node-label") {
		t.Errorf("the remedy is %+v", why)
	}
	waiting.Signal(t, os.Interrupt)
	waiting.Wait(t)
	if killed := u.Run(t, "kill", application); killed.Code != 0 {
		t.Errorf("kill: %s", killed)
	}
}

// checkGroups checks the containers of a job that reads in slots without widgets, and counts in larger ones with three.
func checkGroups(t *testing.T) {
	t.Parallel()
	d := suite.DawdleInGroups(t, suite.User(t, bobbintest.Alice), 3, slices.Concat(external(4), []string{"-p", "2", "-s", "1"})...)
	var rest restapi.TaskManagersInfo
	var workers []records.ContainerReport
	wait.For(t, "YARN and REST tell of two workers for each group", func() (bool, error) {
		_, workers = containers(t, d.User, d.Application)
		err := d.Master.Get(t.Context(), "/taskmanagers", &rest)
		return len(workers) == 4 && len(rest.TaskManagers) == 4, err
	})
	const step = 128 // MB to which YARN rounds containers up
	yarn, widgets, sizes := make(map[string]records.ContainerReport), make(map[int64]int), make(map[int64]int)
	for _, w := range workers {
		yarn[w.ID.String()] = w
	}
	for _, w := range rest.TaskManagers {
		r, container := w.TotalResource, yarn[w.ID].Resource
		amount := container.Others.Amount(clusters.Widgets).Value
		widgets[amount]++
		want := map[string]float64{}
		heap, managed := 40, 0 // what dawdle asks for, in MB
		if amount > 0 {
			want["toys"], heap, managed = float64(amount), 200, 40
		}
		if !maps.Equal(r.ExtendedResources, want) || r.TaskHeapMemory != heap || r.ManagedMemory != managed || w.Slots != 1 {
			t.Errorf("REST tells of worker %s with %d slots of %+v, want one with %v, %d MB of heap and %d MB managed", w.ID, w.Slots, r, want, heap, managed)
		}
		sizes[container.MemoryMB]++
		if own := w.Memory.TotalProcessMemory >> 20; own > container.MemoryMB || own+step <= container.MemoryMB {
			t.Errorf("worker %s has %d MB, and its container %d MB", w.ID, own, container.MemoryMB)
		}
	}
	if want := map[int64]int{0: 2, 3: 2}; !maps.Equal(widgets, want) || len(sizes) != 2 {
		t.Errorf("workers by their widgets: %v, want %v; by the MB of their containers: %v, want two sizes", widgets, want, sizes)
	}
	d.CheckSucceeds(t)
}

// external requests widgets for each TaskExecutor.
func external(amount int) []string {
	return slices.Concat(option("external-resources", "toys"), option("external-resource.toys.amount", amount), option("external-resource.toys.yarn.config-key", clusters.Widgets))
}

// normal returns the label of a report. YARN has a text for no label.
func normal(label string) string {
	if label == "<Not set>" || label == "<DEFAULT_PARTITION>" {
		return ""
	}
	return label
}

func hosts(containers ...records.ContainerReport) []string {
	var names []string
	for _, c := range containers {
		names = append(names, c.Node.Host)
	}
	return names
}

// TestWhatYARNCannotGiveIsRefused would catch a mistake that shows only after the application has
// waited for its workers in vain.
func TestWhatYARNCannotGiveIsRefused(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	wordcount := []string{suite.Program(t, "wordcount"), "--input", "/tmp", "--output", "/tmp/refused"}
	groups := []string{suite.Program(t, "dawdle"), "-toys", "8", "gate", "/tmp/refused", "/tmp"}
	for name, c := range map[string]struct {
		flags   []string
		program []string
		says    string
	}{
		"more than a node has": {external(8), wordcount, "YARN's largest container has 7"},
		"what YARN has not":    {append(external(1), option("external-resource.toys.yarn.config-key", "yarn.io/gpu")...), wordcount, "YARN has " + clusters.Widgets},
		"a group with more":    {external(4), groups, "a TaskExecutor of slot sharing group count (slots: 1, each with 1 cores, 200 MB task heap, 40 MB managed memory, toys=8) asks for 8 of widgets, YARN's largest container has 7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := alice.Run(t, bobbintest.Small(slices.Concat(c.flags, c.program)...)...)
			if got.Code != 1 || !strings.Contains(got.Stderr, c.says) {
				t.Errorf("want exit code 1 and %q: %s", c.says, got)
			}
		})
	}
}
