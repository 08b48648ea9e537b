// Package memory divides the containers of TaskExecutors (worker.go) and of the ApplicationMaster
// (master.go) by the options, and chooses the process to end before YARN ends the whole container
// (watch.go). It is pure functions. Of this module it imports only config.
//
// The model is Flink's (TaskExecutorProcessUtils, JobManagerProcessUtils) with Go's meaning. Heap,
// managed and network memory of a slot are the limit of its task host (GOMEMLIMIT). This is a soft
// limit: it counts the heap and other memory of Go's runtime, but not the pages of the program file,
// which YARN counts. Off-heap memory and the overhead are in no limit.
package memory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// ErrTooSmall says that a container has too little memory for its slots.
var ErrTooSmall = errors.New("container is too small")

const (
	// ProcessOverhead is the memory of a process beside its limit: 11 to 13 MB of program text, and
	// stacks.
	ProcessOverhead = 32 * config.Mebibyte
	// leastSlot is the least limit of a slot in which a task can run.
	leastSlot = 32 * config.Mebibyte
)

// Slot is the memory of one or more slots of a TaskExecutor, in bytes. A task host with several slots
// of its job has the memory of all of them.
type Slot struct {
	Heap    config.Bytes // objects of tasks
	OffHeap config.Bytes // cgo, mapped files and child processes of tasks
	Managed config.Bytes // tables and buffers of operators
	Network config.Bytes // buffers between tasks
}

// Limit is the part that Go manages: the GOMEMLIMIT of a task host with this memory.
func (s Slot) Limit() config.Bytes { return s.Heap + s.Managed + s.Network }

// Share is the memory that a task host with its child processes may hold of the container.
func (s Slot) Share() config.Bytes { return s.Limit() + s.OffHeap + ProcessOverhead }

// String lists the parts.
func (s Slot) String() string {
	var parts []string
	for _, part := range s.Parts() {
		parts = append(parts, part.Name+" "+Text(part.Size))
	}
	return strings.Join(parts, ", ")
}

// Plus returns the memory of both.
func (s Slot) Plus(t Slot) Slot {
	return Slot{s.Heap + t.Heap, s.OffHeap + t.OffHeap, s.Managed + t.Managed, s.Network + t.Network}
}

// sum is the whole memory of the slots.
func (s Slot) sum() config.Bytes { return s.Limit() + s.OffHeap }

// part returns a fraction of the whole.
func part(whole config.Bytes, fraction float64) config.Bytes {
	return config.Bytes(float64(whole) * fraction)
}

// aside returns the part that has this fraction of itself and the rest together.
func aside(rest config.Bytes, fraction float64) config.Bytes {
	return config.Bytes(float64(rest) * fraction / (1 - fraction))
}

// wholeMB rounds up to YARN's MB.
func wholeMB(size config.Bytes) config.Bytes {
	return config.Bytes(size.Megabytes()) * config.Mebibyte
}

// Text formats a size for people: "876 MB", or exactly if it is less than 1 MB.
func Text(size config.Bytes) string {
	if size > -config.Mebibyte && size < config.Mebibyte {
		return size.String()
	}
	return fmt.Sprintf("%d MB", size/config.Mebibyte)
}

// GoLimit formats a size for GOMEMLIMIT.
func GoLimit(size config.Bytes) string {
	if size%config.Mebibyte == 0 {
		return fmt.Sprintf("%dMiB", size/config.Mebibyte)
	}
	return fmt.Sprintf("%dB", size)
}

// options reads sizes from a configuration, and notes which option decides each part.
type options struct {
	config.Config
	by map[string]config.Key // by the name of the part
}

func read(c config.Config) options { return options{c, make(map[string]config.Key)} }

// decided adds to each part the option that decides it.
func (o options) decided(parts []Part) []Part {
	for i := range parts {
		if key := o.by[parts[i].Name]; key != nil {
			parts[i].Option = key.Name()
		}
	}
	return parts
}

// told is an option with its value and its source, for messages.
func (o options) told(key config.Key) string {
	return fmt.Sprintf("%s (%s)", o.Told(key), o.Source(key))
}

// largest bounds all sizes, so that sums of them do not overflow.
const largest = 1 << 20 * config.Gibibyte

// sane refuses sizes that no machine has.
func (o options) sane(sizes ...config.MemoryKey) error {
	for _, key := range sizes {
		if o.Memory(key) > largest {
			return &config.Fault{What: "option " + o.told(key) + " is out of range", Remedy: "want at most " + largest.String()}
		}
	}
	return nil
}

// bounds are the least and the largest size of a part.
type bounds struct{ least, most config.MemoryKey }

// clamp keeps the size of a part, which a fraction gives, within the bounds.
func (o options) clamp(part string, size config.Bytes, fraction config.Key, b bounds) config.Bytes {
	o.by[part] = fraction
	if o.IsSet(b.most) && size > o.Memory(b.most) {
		o.by[part], size = b.most, o.Memory(b.most)
	}
	if least := o.Memory(b.least); size < least {
		o.by[part], size = b.least, least
	}
	return size
}

// check refuses a size that other options give to a part, if it is outside of the part's bounds.
// The text what names these options.
func (o options) check(name string, size config.Bytes, b bounds, what string, remedy config.Key) error {
	var bound config.MemoryKey
	var how string
	switch {
	case size < o.Memory(b.least):
		bound, how = b.least, "less than"
	case o.IsSet(b.most) && size > o.Memory(b.most):
		bound, how = b.most, "more than"
	default:
		return nil
	}
	return &config.Fault{
		What:   fmt.Sprintf("%s: they leave %s for %s, %s %s", what, Text(size), name, how, o.told(bound)),
		Remedy: fmt.Sprintf("change %s or %s", remedy.Name(), bound.Name()),
	}
}
