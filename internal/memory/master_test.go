package memory_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// TestTheMasterIsDivided checks the numbers of docs/memory.md, and Flink's order of the options. Flink
// divides 1600 MB into 192 MB of overhead, 256 MB of metaspace, 128 MB off-heap and 1024 MB of heap. Here
// metaspace has no meaning, so its room counts as overhead.
func TestTheMasterIsDivided(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options  []string
		programs int
		want     memory.Master
	}{
		{nil, 0, memory.Master{Process: 512 * mb, Heap: 429496730, Overhead: 107374182}},
		{nil, 4, memory.Master{Process: 512 * mb, Heap: 256*mb + 1, OffHeap: 161061273, Overhead: 107374182}},
		{[]string{"process.size=1600m", "off-heap.size=128m", "jvm-overhead.min=448m"}, 1, memory.Master{Process: 1600 * mb, Heap: 1024 * mb, OffHeap: 128 * mb, Overhead: 448 * mb}},
		{[]string{"flink.size=1152m", "off-heap.size=128m", "jvm-overhead.min=448m"}, 1, memory.Master{Process: 1600 * mb, Heap: 1024 * mb, OffHeap: 128 * mb, Overhead: 448 * mb}},
		{[]string{"heap.size=1024m", "off-heap.size=128m", "jvm-overhead.min=448m"}, 1, memory.Master{Process: 1600 * mb, Heap: 1024 * mb, OffHeap: 128 * mb, Overhead: 448 * mb}},
		{[]string{"heap.size=400m"}, 0, memory.Master{Process: 500 * mb, Heap: 400 * mb, Overhead: 100 * mb}},
		{[]string{"heap.size=400m"}, 1, memory.Master{Process: 800 * mb, Heap: 400 * mb, OffHeap: 240 * mb, Overhead: 160 * mb}},
		{[]string{"heap.size=400m", "flink.size=500m", "process.size=700m"}, 1, memory.Master{Process: 700 * mb, Heap: 400 * mb, OffHeap: 100 * mb, Overhead: 200 * mb}},
		{[]string{"process.size=1g", "jvm-overhead.max=64m"}, 0, memory.Master{Process: 1024 * mb, Heap: 960 * mb, Overhead: 64 * mb}},
	} {
		got, err := memory.MasterOf(options(t, "jobmanager.memory.", test.options...), test.programs)
		if err != nil {
			t.Errorf("%v, %d programs: %v", test.options, test.programs, err)
			continue
		}
		test.want.Programs, test.want.By = test.programs, got.By
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%v, %d programs (-want +got):\n%s", test.options, test.programs, diff)
		}
		if sum := got.Heap + got.OffHeap + got.Overhead; sum != got.Process {
			t.Errorf("%v, %d programs: the parts are %d together", test.options, test.programs, sum)
		}
	}
}

// TestErrorsNameTheOptionThatDecides would catch an error that asks to raise an option that has no effect on
// the memory that is lacking, because another one decides it.
func TestErrorsNameTheOptionThatDecides(t *testing.T) {
	t.Parallel()
	for want, given := range map[config.MemoryKey][]string{
		config.JobManagerProcessSize: {"", "process.size=1g"},
		config.JobManagerFlinkSize:   {"flink.size=400m", "flink.size=400m process.size=500m"},
		config.JobManagerHeapSize:    {"heap.size=400m", "heap.size=400m flink.size=500m", "heap.size=400m process.size=1g"},
	} {
		for _, one := range given {
			c := options(t, "jobmanager.memory.", strings.Fields(one)...)
			m, err := memory.MasterOf(c, 1)
			if got := memory.MasterSizedBy(c); err != nil && !errors.Is(err, config.ErrInvalid) || got != want || m.By != want {
				t.Errorf("%q: %s decides, and divides by %s, %v; want %s", one, got, m.By, err, want)
			}
		}
	}
}

// TestContradictionsOfTheMasterNameBothOptions would catch sizes that only the container refuses.
func TestContradictionsOfTheMasterNameBothOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		options []string
		says    []string
	}{
		{[]string{"heap.size=600m", "process.size=512m"}, []string{"heap.size: 600m (-D)", "process.size: 512m (-D)", "960 MB"}},
		{[]string{"heap.size=600m", "flink.size=512m"}, []string{"heap.size: 600m", "flink.size: 512m"}},
		{[]string{"heap.size=300m", "off-heap.size=100m", "flink.size=512m"}, []string{"off-heap.size: 100m", "flink.size: 512m", "heap 300 MB and off-heap 100 MB"}},
		{[]string{"off-heap.size=600m"}, []string{"off-heap.size: 600m", "process.size: 512m (default)"}},
		{[]string{"flink.size=500m", "process.size=512m", "jvm-overhead.min=64m"}, []string{"flink.size: 500m", "process.size: 512m", "they leave 12 MB", "jvm-overhead.min: 64m"}},
		{[]string{"jvm-overhead.min=1g"}, []string{"jvm-overhead.min: 1g", "process.size: 512m (default)"}},
		{[]string{"heap.size=8000000t"}, []string{"heap.size", "out of range"}},
	} {
		_, err := memory.MasterOf(options(t, "jobmanager.memory.", test.options...), 1)
		if !errors.Is(err, config.ErrInvalid) {
			t.Errorf("%v: got error %v, want a contradiction", test.options, err)
			continue
		}
		for _, want := range test.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %q is not in: %v", test.options, want, err)
			}
		}
	}
}

// TestAProgramHasRoomToPlan would catch a share of a small container in which no program can plan.
func TestAProgramHasRoomToPlan(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		size     string
		programs int
		want     config.Bytes
	}{{"512m", 1, 128}, {"512m", 4, 32}, {"64m", 4, 24}, {"4g", 4, 256}} {
		m, err := memory.MasterOf(options(t, "jobmanager.memory.", "process.size="+test.size), test.programs)
		if err != nil || (m.Program()+mb/2)/mb != test.want {
			t.Errorf("%s, %d programs: got %d, %v, want %d MB", test.size, test.programs, m.Program(), err, test.want)
		}
	}
	if m, err := memory.MasterOf(config.Config{}, 0); err != nil || m.Program() != 0 {
		t.Errorf("without programs: got %d, %v", m.Program(), err)
	}
}
