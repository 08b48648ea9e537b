package placement

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// ErrMalformed says that Decode was given bytes that are no table of its job.
var ErrMalformed = errors.New("malformed placement of producers")

// A table needs at most these bytes, if the texts of each host are shorter than 512 bytes together. Each task and its partitions may
// be in two hosts.
const (
	bytesPerTask = 2 * (512 + 9*binary.MaxVarintLen32)
	leastBytes   = 1 << 10
)

// Decode decodes a table that Encode wrote for a job. parallelism has the number of subtasks of each
// vertex of the job. It bounds the memory that a table takes: a longer one, or one with other
// subtasks, is ErrMalformed. nil gives an empty table. Decode does not keep data.
func Decode(data []byte, parallelism []int) (*Table, error) {
	t := &Table{runs: make([][]run, 2*len(parallelism))}
	if len(data) == 0 {
		return t, nil
	}
	tasks := 0
	for _, n := range parallelism {
		tasks += n
	}
	inflated, err := inflate(data, leastBytes+tasks*bytesPerTask)
	if err != nil {
		return nil, err
	}
	d := decoder{left: inflated}
	t.hosts = make([]Host, d.number(2*tasks))
	for i := range t.hosts {
		id, name, port := d.text(), d.text(), d.number(math.MaxUint16+1)
		t.hosts[i] = Host{ID: ids.HostID(id), Address: joined(name, uint64(port))}
	}
	for len(d.left) > 0 && d.err == nil {
		list := d.number(2*len(parallelism) - 1)
		if len(t.runs[list]) > 0 {
			d.fail("list %d comes twice", list)
		}
		t.runs[list] = d.runs(parallelism[list/2], len(t.hosts))
	}
	if d.err != nil {
		return nil, d.err
	}
	return t, nil
}

// inflate gives the bytes of a table after the first one.
func inflate(data []byte, most int) ([]byte, error) {
	switch data[0] {
	case plain:
		if len(data) <= most {
			return data[1:], nil
		}
	case deflated:
		var into bytes.Buffer
		n, err := io.Copy(&into, io.LimitReader(flate.NewReader(bytes.NewReader(data[1:])), int64(most)+1))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if n <= int64(most) {
			return into.Bytes(), nil
		}
	default:
		return nil, fmt.Errorf("%w: it begins with %d", ErrMalformed, data[0])
	}
	return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrMalformed, most)
}

// decoder reads the parts of a table. After an error, it reads nothing, and numbers are 0.
type decoder struct {
	left []byte
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err, d.left = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...), nil
	}
}

// number reads a number of at most this value.
func (d *decoder) number(most int) int {
	n, size := binary.Uvarint(d.left)
	if size <= 0 || most < 0 || n > uint64(most) {
		d.fail("number %d of %d bytes, want at most %d", n, size, most)
		return 0
	}
	d.left = d.left[size:]
	return int(n)
}

// step reads the distance from one number to the next, which is at most most.
func (d *decoder) step(from, most int) int {
	step, size := binary.Varint(d.left)
	if size <= 0 || step < -int64(from) || step > int64(most-from) {
		d.fail("step %d of %d bytes from %d, want at most %d", step, size, from, most)
		return 0
	}
	d.left = d.left[size:]
	return from + int(step)
}

func (d *decoder) text() string {
	n := d.number(len(d.left))
	if n > len(d.left) {
		d.fail("text of %d bytes, of which there are %d", n, len(d.left))
		return ""
	}
	text := string(d.left[:n])
	d.left = d.left[n:]
	return text
}

// runs reads the runs of a vertex.
func (d *decoder) runs(parallelism, hosts int) []run {
	runs := make([]run, d.number(parallelism))
	next, host, epoch := 0, 0, 0
	for i := range runs {
		r := run{first: next + d.number(parallelism-next-1)}
		r.count = d.number(parallelism - r.first)
		epoch = d.step(epoch, math.MaxInt32)
		r.epoch = ids.Epoch(epoch)
		r.attempt = d.number(math.MaxInt32)
		host = d.step(host, hosts-1)
		if r.host = host; d.err != nil || r.count == 0 {
			d.fail("run %d of %d has no subtasks", i, len(runs))
			return nil
		}
		runs[i], next = r, r.first+r.count
	}
	return runs
}
