package collect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// ErrMalformed says that bytes are no encoded Buffer.
var ErrMalformed = errors.New("it is no collected result")

// AppendTo appends the Buffer of a job that has ended, encoded. Its cursors stay valid. All numbers are uvarints.
//
//	┌───────┬─────────────────┬───────────────────┬─ for each batch ─────┐
//	│ epoch │ batches dropped │ number of batches │ length  │  records   │
//	└───────┴─────────────────┴───────────────────┴──────────────────────┘
func (b *Buffer) AppendTo(to []byte) []byte {
	to = binary.AppendUvarint(to, uint64(b.start/epochSize))
	to = binary.AppendUvarint(to, uint64(b.base-b.start))
	to = binary.AppendUvarint(to, uint64(len(b.batches)))
	for _, batch := range b.batches {
		to = append(binary.AppendUvarint(to, uint64(len(batch))), batch...)
	}
	return to
}

// EncodedSize is at least the number of bytes that AppendTo appends.
func (b *Buffer) EncodedSize() int { return b.size + (3+len(b.batches))*binary.MaxVarintLen64 }

// Keep makes a decoded Buffer keep what its client reads, as New does: see there.
func (b *Buffer) Keep(limit int) { b.limit, b.keep = max(limit, LeastBuffered), true }

// Decode reads the Buffer at the beginning of data, and returns the rest. The Buffer does not refer to data, and is the
// result of a job that has ended: nothing may be added. Error: ErrMalformed.
func Decode(data []byte) (b *Buffer, rest []byte, err error) {
	d := decoder{rest: data}
	b = &Buffer{ended: true}
	b.start = int64(d.number(masters*masterSize-1)) * epochSize
	dropped := d.number(maxTotal)
	b.base = b.start + int64(dropped)
	b.read = b.base
	for count := d.number(maxTotal - dropped); count > 0 && d.err == nil; count-- {
		batch := bytes.Clone(d.take(d.number(operator.MaxCollectBatch)))
		b.batches = append(b.batches, batch)
		if b.size += len(batch); len(batch) == 0 || b.size > MaxBuffered {
			d.fail(fmt.Sprintf("batch %d has %d of %d bytes", len(b.batches), len(batch), b.size))
		}
	}
	if d.err != nil {
		return nil, nil, d.err
	}
	return b, d.rest, nil
}

// decoder takes parts off the beginning of bytes. After an error it takes nothing.
type decoder struct {
	rest []byte
	err  error // the first
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrMalformed, why)
	}
}

// number takes a number.
func (d *decoder) number(most uint64) uint64 {
	n, length := binary.Uvarint(d.rest)
	if length <= 0 || n > most {
		d.fail(fmt.Sprintf("there is no number up to %d", most))
		return 0
	}
	d.rest = d.rest[length:]
	return n
}

// take takes a number of bytes.
func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.rest)) {
		d.fail(fmt.Sprintf("%d bytes are missing", n-uint64(len(d.rest))))
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}
