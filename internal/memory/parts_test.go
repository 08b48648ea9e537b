package memory_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// TestAPartNamesTheOptionThatDecidesIt would catch a plan of memory that names an option whose change has no effect.
func TestAPartNamesTheOptionThatDecidesIt(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]string{
		"":                                       "task heap process.size, managed managed.fraction, network network.fraction, overhead jvm-overhead.fraction",
		"managed.size=500m":                      "task heap process.size, managed managed.size, network network.fraction, overhead jvm-overhead.fraction",
		"network.min=200m jvm-overhead.min=200m": "task heap process.size, managed managed.fraction, network network.min, overhead jvm-overhead.min",
		"network.max=70m jvm-overhead.max=70m":   "task heap process.size, managed managed.fraction, network network.max, overhead jvm-overhead.max",
		"task.heap.size=200m":                    "task heap task.heap.size, managed managed.fraction, network process.size, overhead jvm-overhead.fraction",
		"flink.size=800m":                        "task heap flink.size, managed managed.fraction, network network.fraction, overhead jvm-overhead.fraction",
		"flink.size=800m process.size=1g":        "task heap flink.size, managed managed.fraction, network network.fraction, overhead process.size",
		"task.heap.size=300m managed.size=300m":  "task heap task.heap.size, managed managed.size, network network.fraction, overhead jvm-overhead.fraction",
	} {
		c := configOf(t, "taskmanager.memory.", set)
		parts, err := memory.WorkerParts(c)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("framework heap framework.heap.size, task off-heap task.off-heap.size, "+want, told("taskmanager.memory.", parts)); diff != "" {
			t.Errorf("worker with %q (-want +got):\n%s", set, diff)
		}
	}
	for set, want := range map[string]string{
		"":                                  "heap process.size, off-heap off-heap.size, overhead jvm-overhead.fraction",
		"jvm-overhead.min=200m":             "heap process.size, off-heap off-heap.size, overhead jvm-overhead.min",
		"jvm-overhead.max=20m":              "heap process.size, off-heap off-heap.size, overhead jvm-overhead.max",
		"heap.size=300m":                    "heap heap.size, off-heap off-heap.size, overhead jvm-overhead.fraction",
		"heap.size=300m flink.size=400m":    "heap heap.size, off-heap flink.size, overhead jvm-overhead.fraction",
		"flink.size=400m process.size=500m": "heap flink.size, off-heap off-heap.size, overhead process.size",
	} {
		parts, err := memory.MasterParts(configOf(t, "jobmanager.memory.", set), 1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, told("jobmanager.memory.", parts)); diff != "" {
			t.Errorf("master with %q (-want +got):\n%s", set, diff)
		}
	}
}

// configOf has options with this prefix, which are written as "NAME=VALUE NAME=VALUE".
func configOf(t *testing.T, prefix, set string) config.Config {
	t.Helper()
	values := make(map[string]string)
	for option := range strings.FieldsSeq(set) {
		name, value, _ := strings.Cut(option, "=")
		values[prefix+name] = value
	}
	c, err := config.New(config.Layer{Source: "test", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// told lists parts with the options that decide them. Those of the framework and of off-heap memory are first.
func told(prefix string, parts []memory.Part) string {
	var first, rest []string
	for _, p := range parts {
		line := p.Name + " " + strings.TrimPrefix(p.Option, prefix)
		if p.Name == "framework heap" || p.Name == "task off-heap" {
			first = append(first, line)
		} else {
			rest = append(rest, line)
		}
	}
	return strings.Join(append(first, rest...), ", ")
}
