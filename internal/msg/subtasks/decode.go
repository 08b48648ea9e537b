package subtasks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// ErrMalformed says that Decode was given bytes that are no subtasks.
var ErrMalformed = errors.New("malformed subtasks")

// leastAttempt is the length of the shortest attempt, in bytes. It bounds the memory that a forged number takes.
const leastAttempt = 3 + len(msg.StateTimes{}) + 6 + 3

// Decode decodes subtasks that Encode wrote. It does not keep data. The memory that it takes is proportional to the data.
// The error is ErrMalformed.
func Decode(data []byte) ([]msg.Subtask, error) {
	if len(data) == 0 {
		return nil, nil
	}
	d := decoder{left: data, states: msg.ExecutionStates()}
	workers := make([]worker, d.number(len(data)/2))
	for i := range workers {
		workers[i] = worker{ids.ResourceID(d.text()), d.text()}
	}
	tasks := make([]msg.Subtask, d.number(len(d.left)/leastAttempt))
	for i := range tasks {
		tasks[i].TaskAttempt = d.attempt(workers)
		if earlier := d.number(len(d.left) / leastAttempt); earlier > 0 && d.err == nil {
			tasks[i].Earlier = make([]msg.TaskAttempt, earlier)
		}
		for k := range tasks[i].Earlier {
			tasks[i].Earlier[k] = d.attempt(workers)
		}
		if d.err != nil {
			return nil, d.err
		}
	}
	switch {
	case d.err != nil:
		return nil, d.err
	case len(d.left) > 0:
		return nil, fmt.Errorf("%w: %d bytes too many", ErrMalformed, len(d.left))
	}
	return tasks, nil
}

// decoder reads from the front of left. After an error it reads zeros.
type decoder struct {
	left   []byte
	last   int64 // the time that was read last
	states []msg.ExecutionState
	err    error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
	}
	d.left = nil
}

func (d *decoder) uvarint() uint64 {
	n, size := binary.Uvarint(d.left)
	if size <= 0 {
		d.fail("they are cut off")
		return 0
	}
	d.left = d.left[size:]
	return n
}

// number reads a number from 0 to most.
func (d *decoder) number(most int) int {
	n := d.uvarint()
	if n > uint64(most) {
		d.fail("%d is more than %d", n, most)
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.uvarint()
	if n > uint64(len(d.left)) {
		d.fail("they are cut off")
		return ""
	}
	text := string(d.left[:n])
	d.left = d.left[n:]
	return text
}

func (d *decoder) attempt(workers []worker) (a msg.TaskAttempt) {
	a.Number = d.number(math.MaxInt32)
	a.State = d.states[d.number(len(d.states)-1)]
	if w := d.number(len(workers)); w > 0 {
		a.Resource, a.Node = workers[w-1].resource, workers[w-1].node
	}
	for i := range a.Entered {
		n := d.uvarint()
		if n == 0 {
			continue
		}
		n--
		d.last += int64(n>>1) ^ -int64(n&1)
		if a.Entered[i] = d.last; d.last == 0 {
			d.fail("a time is 0")
		}
	}
	for _, to := range traffic(&a.Traffic) {
		*to = d.varint()
	}
	for _, to := range times(&a.Times) {
		ms := d.varint()
		if *to = time.Duration(ms) * time.Millisecond; to.Milliseconds() != ms {
			d.fail("a time of %d ms", ms)
		}
	}
	return a
}

func (d *decoder) varint() int64 {
	n, size := binary.Varint(d.left)
	if size <= 0 {
		d.fail("they are cut off")
		return 0
	}
	d.left = d.left[size:]
	return n
}
