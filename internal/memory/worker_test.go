package memory_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

const mb = config.Mebibyte

// options makes a configuration of options without the prefix "taskmanager.memory.". "slots=2" is
// taskmanager.numberOfTaskSlots.
func options(t interface {
	Helper()
	Fatal(args ...any)
}, prefix string, pairs ...string,
) config.Config {
	t.Helper()
	values := make(map[string]string)
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		if name == "slots" {
			values[config.TaskSlots.Name()] = value
			continue
		}
		if name == "total" {
			values[config.MaxTotalMemory.Name()] = value
			continue
		}
		values[prefix+name] = value
	}
	c, err := config.New(config.Layer{Source: "-D", Values: values})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func worker(t *testing.T, pairs ...string) memory.Worker {
	t.Helper()
	w, err := memory.WorkerOf(options(t, "taskmanager.memory.", pairs...))
	if err != nil {
		t.Fatalf("%v: %v", pairs, err)
	}
	return w
}

// TestTheTableOfThePage checks the numbers in docs/memory.md.
func TestTheTableOfThePage(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size                                             string
		slots                                            int
		overhead, limit, heap, managed, network, process int // MB, the last five of a slot
	}{
		{"512m", 1, 89, 390, 179, 168, 42, 512},
		{"1g", 1, 115, 876, 422, 363, 90, 1024},
		{"1g", 2, 147, 422, 203, 175, 43, 1024},
		{"2g", 4, 262, 438, 215, 178, 44, 2048},
	} {
		w := worker(t, "process.size="+test.size, fmt.Sprintf("slots=%d", test.slots))
		s := w.Slot()
		got := []config.Bytes{w.Overhead / mb, s.Limit() / mb, s.Heap / mb, s.Managed / mb, s.Network / mb, w.Process / mb}
		want := []config.Bytes{
			config.Bytes(test.overhead), config.Bytes(test.limit), config.Bytes(test.heap),
			config.Bytes(test.managed), config.Bytes(test.network), config.Bytes(test.process),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, %d slots: overhead, limit, heap, managed, network, container (-want +got):\n%s", test.size, test.slots, diff)
		}
	}
}

// TestFlinksWorkedExample is the division of 1728 MB in Flink's documentation: overhead 192 MB,
// metaspace 256 MB, and 1280 MB of Flink memory, of which network 128 MB, managed 512 MB, framework
// 128 MB heap and 128 MB off-heap, task heap 384 MB. Here metaspace has no meaning, so its room counts
// as overhead; and the framework has no off-heap memory, so its heap has both.
func TestFlinksWorkedExample(t *testing.T) {
	t.Parallel()
	want := memory.Worker{
		Process: 1728 * mb, Slots: 1, Framework: 256 * mb, Overhead: (192 + 256) * mb,
		Tasks: memory.Slot{Heap: 384 * mb, Managed: 512 * mb, Network: 128 * mb},
		By:    config.TaskManagerProcessSize,
	}
	flinks := []string{"framework.heap.size=256m", "network.min=64m"}
	got := worker(t, append(flinks, "process.size=1728m", "jvm-overhead.min=448m", "jvm-overhead.max=448m")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by process.size (-want +got):\n%s", diff)
	}
	want.By = config.TaskManagerFlinkSize
	got = worker(t, append(flinks, "flink.size=1280m", "jvm-overhead.min=448m", "jvm-overhead.max=448m")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by flink.size (-want +got):\n%s", diff)
	}
	want.By = config.TaskManagerTaskHeapSize
	got = worker(t, append(flinks, "task.heap.size=384m", "managed.size=512m", "jvm-overhead.min=448m", "jvm-overhead.max=448m")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by task heap and managed memory (-want +got):\n%s", diff)
	}
}

// TestOptionsDecideInFlinksOrder would catch an option that has no effect because another one is set,
// or a default that counts before an option.
func TestOptionsDecideInFlinksOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options []string
		want    memory.Worker
	}{
		{
			"a total without overhead decides before the default of the container",
			[]string{"flink.size=2000m", "jvm-overhead.fraction=0"},
			memory.Worker{Process: 2064 * mb, Framework: 32 * mb, Overhead: 64 * mb, Tasks: memory.Slot{Heap: 968 * mb, Managed: 800 * mb, Network: 200 * mb}, By: config.TaskManagerFlinkSize},
		},
		{
			"the overhead is between two totals",
			[]string{"flink.size=1000m", "process.size=1200m"},
			memory.Worker{Process: 1200 * mb, Framework: 32 * mb, Overhead: 200 * mb, Tasks: memory.Slot{Heap: 468 * mb, Managed: 400 * mb, Network: 100 * mb}, By: config.TaskManagerFlinkSize},
		},
		{
			"parts decide before both totals, and network memory is the rest",
			[]string{"flink.size=1000m", "process.size=1200m", "task.heap.size=600m", "managed.size=300m"},
			memory.Worker{Process: 1200 * mb, Framework: 32 * mb, Overhead: 200 * mb, Tasks: memory.Slot{Heap: 600 * mb, Managed: 300 * mb, Network: 68 * mb}, By: config.TaskManagerTaskHeapSize},
		},
		{
			"with the heap of tasks alone, network memory is the rest",
			[]string{"process.size=1064m", "jvm-overhead.fraction=0", "task.heap.size=300m", "managed.fraction=0.5"},
			memory.Worker{Process: 1064 * mb, Framework: 32 * mb, Overhead: 64 * mb, Tasks: memory.Slot{Heap: 300 * mb, Managed: 500 * mb, Network: 168 * mb}, By: config.TaskManagerProcessSize},
		},
		{
			"managed memory by its size, and off-heap memory, leave less heap",
			[]string{"process.size=1064m", "jvm-overhead.fraction=0", "managed.size=0b", "task.off-heap.size=400m"},
			memory.Worker{Process: 1064 * mb, Framework: 32 * mb, Overhead: 64 * mb, Tasks: memory.Slot{Heap: 468 * mb, OffHeap: 400 * mb, Network: 100 * mb}, By: config.TaskManagerProcessSize},
		},
		{
			"network memory within its bounds, and a larger framework",
			[]string{"process.size=1064m", "jvm-overhead.fraction=0", "network.max=50m", "framework.heap.size=64m"},
			memory.Worker{Process: 1064 * mb, Framework: 64 * mb, Overhead: 64 * mb, Tasks: memory.Slot{Heap: 486 * mb, Managed: 400 * mb, Network: 50 * mb}, By: config.TaskManagerProcessSize},
		},
		{
			"overhead within its bounds",
			[]string{"process.size=2000m", "jvm-overhead.fraction=0.5", "jvm-overhead.max=200m", "managed.fraction=0", "network.fraction=0"},
			memory.Worker{Process: 2000 * mb, Framework: 32 * mb, Overhead: 200 * mb, Tasks: memory.Slot{Heap: 1760 * mb, Network: 8 * mb}, By: config.TaskManagerProcessSize},
		},
	} {
		test.want.Slots = 1
		if diff := cmp.Diff(test.want, worker(t, test.options...)); diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, test.options, diff)
		}
	}
}

// TestContradictionsNameBothOptions would catch sizes that only a container refuses, or that one option
// silently overrides.
func TestContradictionsNameBothOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options []string
		says    []string
	}{
		{"a part larger than the container", []string{"task.heap.size=2g"}, []string{"task.heap.size: 2g (-D)", "process.size: 1g (default)", "lower taskmanager.memory.task.heap.size or raise"}},
		{"off-heap memory larger than the container", []string{"task.off-heap.size=2g", "process.size=1500m"}, []string{"task.off-heap.size: 2g", "process.size: 1500m (-D)", "off-heap 2048 MB"}},
		{"fractions of more than the whole", []string{"managed.fraction=0.9", "network.fraction=0.2"}, []string{"managed.fraction: 0.9", "network.fraction: 0.2", "process.size: 1g"}},
		{"parts larger than the total", []string{"task.heap.size=600m", "managed.size=600m", "flink.size=1g"}, []string{"task.heap.size: 600m", "managed.size: 600m", "flink.size: 1g", "need 1232 MB"}},
		{"two totals without room for the overhead", []string{"flink.size=1000m", "process.size=1010m"}, []string{"flink.size: 1000m", "process.size: 1010m", "numberOfTaskSlots: 1", "64 MB"}},
		{"parts larger than the container", []string{"task.heap.size=600m", "managed.size=600m", "process.size=1g"}, []string{"task.heap.size: 600m", "process.size: 1g"}},
		{"two totals, and an overhead above its bound", []string{"flink.size=1g", "process.size=3g", "jvm-overhead.max=1g"}, []string{"flink.size: 1g", "process.size: 3g", "they leave 2048 MB for the overhead, more than", "jvm-overhead.max: 1g"}},
		{"two totals, and an overhead below its bound", []string{"flink.size=1g", "process.size=1200m", "jvm-overhead.min=192m"}, []string{"they leave 176 MB for the overhead, less than", "jvm-overhead.min: 192m"}},
		{"an overhead of more than the container", []string{"process.size=100m", "jvm-overhead.fraction=0.9"}, []string{"jvm-overhead.fraction: 0.9", "managed 0b", "leaves 0b for them"}},
		{"a total that is too small, inside of a container", []string{"flink.size=100m", "process.size=200m", "slots=4"}, []string{
			"100 MB for 4 slots: container is too small", "flink.size: 160m (the least that the slots need)", "process.size: 200m (-D)", "raise or remove taskmanager.memory.process.size",
		}},
		{"too little network memory", []string{"task.heap.size=510m"}, []string{"task.heap.size: 510m", "process.size: 1g", "they leave 3 MB for buffers", "network.min: 8m (default)"}},
		{"too much network memory", []string{"task.heap.size=100m", "network.max=64m"}, []string{"task.heap.size: 100m", "more than", "network.max: 64m"}},
		{"overhead smaller than its processes", []string{"jvm-overhead.max=64m", "slots=2"}, []string{"jvm-overhead.max: 64m", "numberOfTaskSlots: 2", "96 MB"}},
		{"a container above a ceiling", []string{"flink.size=1g", "total=1g"}, []string{"slotmanager.max-total-resource.memory: 1g is less than one TaskExecutor", "1146m"}},
		{"more than any machine has", []string{"task.heap.size=8000000t", "managed.size=8000000t"}, []string{"task.heap.size: 8000000t", "out of range"}},
	} {
		_, err := memory.WorkerOf(options(t, "taskmanager.memory.", test.options...))
		if !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%s: %v: got error %v, want a contradiction", test.name, test.options, err)
			continue
		}
		for _, want := range test.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: %q is not in: %v", test.name, test.options, want, err)
			}
		}
	}
}

// TestTooSmallAContainerNamesOneThatDoes would catch a remedy that does not help, or asks for too much.
func TestTooSmallAContainerNamesOneThatDoes(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"process.size", "flink.size"} {
		for slots := 1; slots <= 8; slots++ {
			pair := fmt.Sprintf("slots=%d", slots)
			_, err := memory.WorkerOf(options(t, "taskmanager.memory.", by+"=40m", pair))
			if !errors.Is(err, memory.ErrTooSmall) || !strings.Contains(err.Error(), "taskmanager.memory."+by) {
				t.Fatalf("%d slots in 40 MB: got error %v", slots, err)
			}
			var size int
			if _, err := fmt.Sscanf(err.Error()[strings.Index(err.Error(), " of ")+4:], "%dm", &size); err != nil {
				t.Fatal(err)
			}
			if _, err := memory.WorkerOf(options(t, "taskmanager.memory.", fmt.Sprintf("%s=%dm", by, size), pair)); err != nil {
				t.Errorf("%d slots in the %d MB that were asked for: %v", slots, size, err)
			}
			if _, err := memory.WorkerOf(options(t, "taskmanager.memory.", fmt.Sprintf("%s=%dm", by, size-1), pair)); err == nil {
				t.Errorf("%d slots: %d MB were asked for, though less does", slots, size)
			}
		}
	}
}

// TestThePartsOfAWorkerMakeUpTheWhole would catch memory that is promised twice or never, for any
// options.
func TestThePartsOfAWorkerMakeUpTheWhole(t *testing.T) {
	t.Parallel()
	divided := 0
	rapid.Check(t, func(t *rapid.T) {
		pairs := []string{fmt.Sprintf("slots=%d", rapid.IntRange(1, 64).Draw(t, "slots"))}
		for _, size := range []string{
			"process.size", "flink.size", "framework.heap.size", "task.heap.size", "task.off-heap.size", "managed.size",
			"network.min", "network.max", "jvm-overhead.min", "jvm-overhead.max",
		} {
			if rapid.IntRange(0, 3).Draw(t, "has "+size) == 0 {
				pairs = append(pairs, fmt.Sprintf("%s=%dk", size, rapid.IntRange(32<<10, 1<<22).Draw(t, size)))
			}
		}
		for _, fraction := range []string{"managed.fraction", "network.fraction", "jvm-overhead.fraction"} {
			if rapid.Bool().Draw(t, "has "+fraction) {
				pairs = append(pairs, fmt.Sprintf("%s=%g", fraction, rapid.Float64Range(0, 0.99).Draw(t, fraction)))
			}
		}
		w, err := memory.WorkerOf(options(t, "taskmanager.memory.", pairs...))
		if errors.Is(err, memory.ErrTooSmall) || errors.Is(err, config.ErrInvalid) {
			checkRemedy(t, err, pairs)
			return
		} else if err != nil {
			t.Fatal(err)
		}
		divided++
		parts := []config.Bytes{w.Framework, w.Tasks.Heap, w.Tasks.OffHeap, w.Tasks.Managed, w.Tasks.Network, w.Overhead}
		var sum config.Bytes
		for _, part := range parts {
			if part < 0 {
				t.Errorf("%+v of %v: a part is less than nothing", w, pairs)
			}
			sum += part
		}
		if sum != w.Process || w.Process%mb != 0 {
			t.Errorf("%+v of %v: together %d", w, pairs, sum)
		}
		n := config.Bytes(w.Slots)
		if used := w.Framework + memory.ProcessOverhead + n*w.Slot().Share(); used > w.Process {
			t.Errorf("%+v of %v: processes may hold %d", w, pairs, used)
		}
	})
	if divided == 0 {
		t.Error("no options were divided")
	}
}

// checkRemedy fails if the size that an error asks for does not help, or if it tells of a size of less than nothing.
func checkRemedy(t *rapid.T, err error, pairs []string) {
	t.Helper()
	if strings.Contains(err.Error(), " -") {
		t.Errorf("%v: %v", pairs, err)
	}
	_, remedy, names := strings.Cut(err.Error(), ", want taskmanager.memory.")
	if !names || errors.Is(err, config.ErrInvalid) {
		return
	}
	option, size, _ := strings.Cut(remedy, " of ")
	size, _, _ = strings.Cut(size, " or more")
	if _, err := memory.WorkerOf(options(t, "taskmanager.memory.", append(pairs, option+"="+size)...)); err != nil {
		t.Errorf("%v: with the %s of %s that was asked for: %v", pairs, option, size, err)
	}
}
