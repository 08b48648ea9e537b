package msg_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
)

// TestTheSizeOfAChangeHasRoomForIt would catch a new field for which Size has no room: a message of several changes, or of one, is then
// longer than its receiver accepts, or a worker keeps more memory than it counts.
func TestTheSizeOfAChangeHasRoomForIt(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt64
	id := ids.ExecutionAttemptID{Epoch: math.MaxUint32, Vertex: most, Subtask: most, Attempt: most}
	plain := msg.TaskStateChange{Execution: id, State: msg.ExecutionFinished}
	reflectMost(reflect.ValueOf(&plain.Metrics).Elem())
	parts := plain
	parts.Counters = map[string]int64{}
	for n := range 200 {
		parts.Partitions = append(parts.Partitions, msg.WrittenPartition{Output: most, Dir: most, Records: most, Bytes: most})
		parts.Inputs = append(parts.Inputs, math.MaxUint64)
		parts.Counters[strings.Repeat("n", n)] = math.MinInt64
	}
	for name, c := range map[string]msg.TaskStateChange{"plain": plain, "with all parts": parts} {
		data, err := codec.Encode(msg.TaskStatesChanged{Changes: []msg.TaskStateChange{c}})
		if err != nil || len(data) > c.Size() {
			t.Errorf("%s: a change of %d bytes is taken for one of %d: %v", name, len(data), c.Size(), err)
		}
	}
	memory := int(reflect.TypeFor[msg.TaskStateChange]().Size()) + len(parts.Inputs)*8 +
		len(parts.Partitions)*int(reflect.TypeFor[msg.WrittenPartition]().Size())
	if memory > parts.Size() {
		t.Errorf("a change with %d bytes of memory is taken for one of %d", memory, parts.Size())
	}
}

// reflectMost makes all integers of a struct as long as they can be.
func reflectMost(v reflect.Value) {
	for _, f := range v.Fields() {
		switch {
		case f.Kind() == reflect.Struct:
			reflectMost(f)
		case f.CanInt():
			f.SetInt(math.MaxInt64 >> (64 - f.Type().Bits()))
		}
	}
}
