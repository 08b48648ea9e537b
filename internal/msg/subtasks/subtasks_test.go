package subtasks

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// attempts draws an attempt.
func attempts(t *rapid.T) msg.TaskAttempt {
	a := msg.TaskAttempt{Number: rapid.IntRange(0, 100).Draw(t, "number"), State: rapid.SampledFrom(msg.ExecutionStates()).Draw(t, "state")}
	if rapid.Bool().Draw(t, "deployed") {
		a.Resource, a.Node = ids.ResourceID(rapid.StringN(0, 3, -1).Draw(t, "resource")), rapid.StringN(0, 3, -1).Draw(t, "node")
	}
	for i := range a.Entered {
		a.Entered[i] = rapid.Int64Range(-2_000_000_000_000, 2_000_000_000_000).Draw(t, "time")
	}
	for _, n := range traffic(&a.Traffic) {
		*n = rapid.Int64().Draw(t, "traffic")
	}
	for _, d := range times(&a.Times) {
		*d = time.Duration(rapid.Int64Range(0, 1<<40).Draw(t, "ms")) * time.Millisecond
	}
	return a
}

// TestSubtasksAreReadAsTheyWere would catch a figure of a task that changes when its job ends, and cut bytes that are taken
// for fewer tasks.
func TestSubtasksAreReadAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := make([]msg.Subtask, rapid.IntRange(0, 4).Draw(t, "subtasks"))
		for i := range want {
			want[i].TaskAttempt = attempts(t)
			for range rapid.IntRange(0, 3).Draw(t, "earlier") {
				want[i].Earlier = append(want[i].Earlier, attempts(t))
			}
		}
		data := Encode(want)
		got, err := Decode(data)
		if len(want) == 0 {
			want = nil
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(msg.Traffic{})); err != nil || diff != "" {
			t.Fatalf("error %v, (-want +got):\n%s", err, diff)
		}
		for n := 1; n < len(data); n++ {
			if _, err := Decode(data[:n]); !errors.Is(err, ErrMalformed) {
				t.Fatalf("%d of %d bytes: error %v", n, len(data), err)
			}
		}
		if len(data) > 0 {
			if _, err := Decode(append(slices.Clone(data), 0)); !errors.Is(err, ErrMalformed) {
				t.Fatalf("a byte too many: error %v", err)
			}
		}
	})
}

// many is what is left of a large vertex.
func many(n int) []msg.Subtask {
	tasks := make([]msg.Subtask, n)
	for i := range tasks {
		begun := 1_795_356_515_783 + int64(i%977)
		tasks[i].TaskAttempt = msg.TaskAttempt{
			State: msg.ExecutionFinished, Resource: ids.ResourceID(fmt.Sprintf("container_1795356515783_0001_01_%06d", i/8)), Node: fmt.Sprintf("node-%03d.example.com", i/8),
			Entered: msg.StateTimes{begun, begun + 3, begun + 4000 + int64(i%313), begun + 4300, begun + 600_000 + int64(i%7919)},
			Traffic: msg.Traffic{ReadRecords: 1_000_000 + int64(i), WriteRecords: 50_000, ReadBytes: 128 << 20, WriteBytes: 1 << 20, ReadBuffers: 4096, WriteBuffers: 32},
			Times:   msg.TaskTimes{Busy: 9 * time.Minute, Idle: 40 * time.Second, BackPressured: 20 * time.Second},
		}
	}
	return tasks
}

// TestALargeVertexFits would catch an encoding that grew, so that large jobs are not kept.
func TestALargeVertexFits(t *testing.T) {
	t.Parallel()
	if size := len(Encode(many(15_000))); size > msg.MaxEndedSubtasks {
		t.Errorf("15,000 subtasks take %d bytes, more than %d", size, msg.MaxEndedSubtasks)
	} else {
		t.Logf("15,000 subtasks take %d bytes", size)
	}
}

// FuzzDecode would catch stored bytes that crash a master, or that take much memory for little data.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(many(2)))
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, data []byte) {
		tasks, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrMalformed) || tasks != nil {
				t.Fatalf("%d subtasks, error %v", len(tasks), err)
			}
			return
		}
		again, err := Decode(Encode(tasks))
		if diff := cmp.Diff(tasks, again, cmpopts.EquateEmpty(), cmp.AllowUnexported(msg.Traffic{})); err != nil || diff != "" {
			t.Fatalf("error %v, (-first +again):\n%s", err, diff)
		}
	})
}
