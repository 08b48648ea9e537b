// Package collect buffers what a job collects for its client. The collecting task sends batches of records
// to the JobMaster, and the client reads them page by page. The JobMaster owns a Buffer while the job runs,
// the Dispatcher after the job has ended.
//
// A Buffer is plain state: no I/O, no clock, no goroutine, no lock.
package collect

import (
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Limits of one collected result, in bytes unless the comment has another unit.
const (
	// MaxBuffered is the most that a Buffer holds between the task and the client.
	MaxBuffered = 16 << 20
	// LeastBuffered is the least room with which a task can continue. The task then waits for the client
	// after each msg.CollectWindow batches.
	LeastBuffered = msg.CollectWindow * operator.MaxCollectBatch
	// maxTotal is the most that a job may collect.
	maxTotal = 100 << 20
	// maxPage is the largest page, except a page of one larger batch.
	maxPage = 1 << 20
)

// Errors of Add.
var (
	// ErrTooLarge says that the job collects more than maxTotal, or has begun more than maxResets times.
	ErrTooLarge = errors.New("collected result is too large")
	// errOutOfOrder says that the task broke the protocol.
	errOutOfOrder = errors.New("collected batch breaks the protocol")
)

// Results are the buffers of a job, by the names of its results.
type Results map[string]*Buffer

// DropRead drops the results whose last pages were given. They are held only because an answer may be lost.
// A later request for them gets msg.ErrResultGone.
func (r Results) DropRead() {
	//bobbin:anyorder each buffer is emptied by itself
	for _, b := range r {
		if b.drained {
			b.Drop() // the job has ended: no task waits for an acknowledgement
		}
	}
}

// Buffer holds the part of a result that the client has not read. Make it with New.
type Buffer struct {
	limit   int      // of size
	keep    bool     // whether batches stay when they are read, while there is room
	resets  int      // in this master
	start   int64    // number of the epoch's first batch
	base    int64    // number of batches[0]; earlier batches were read or dropped
	read    int64    // number of the first batch that the client has not read
	batches [][]byte // oldest first
	size    int      // bytes in batches
	total   int64    // bytes of the epoch
	arrived int64    // batches of the epoch
	acked   int64    // batches of the epoch that were acknowledged
	ended   bool
	drained bool // whether the last page was given
}

// New makes an empty buffer of the given limit in bytes, but at least LeastBuffered, because the task could
// not continue with less. 0 is for a result that no client reads: the buffer holds nothing, and the task
// never waits. master is the epoch in which the job runs. keep is for a client that may begin again, under the next
// master: what it has read stays, until new batches need the room.
func New(limit int, master ids.Epoch, keep bool) *Buffer {
	if limit > 0 {
		limit = max(limit, LeastBuffered)
	}
	return begin(limit, keep, firstCursor(master))
}

// begin makes the buffer of an epoch.
func begin(limit int, keep bool, start int64) *Buffer {
	return &Buffer{limit: limit, keep: keep, start: start, base: start, read: start}
}

// Acknowledged is a range of batches, by sequence numbers From ≤ n < To. The task may send as many more.
// The caller acknowledges the range to the task.
type Acknowledged struct{ From, To int64 }

// Add adds the next batch of the collecting task. Errors: ErrTooLarge, errOutOfOrder.
func (b *Buffer) Add(sequence int64, records []byte) (Acknowledged, error) {
	switch {
	case sequence != b.arrived:
		return Acknowledged{}, fmt.Errorf("%w: batch %d arrived instead of batch %d", errOutOfOrder, sequence, b.arrived)
	case b.arrived-b.acked >= msg.CollectWindow:
		return Acknowledged{}, fmt.Errorf("%w: more than %d batches without acknowledgement", errOutOfOrder, msg.CollectWindow)
	case len(records) == 0 || len(records) > operator.MaxCollectBatch: // empty batches would not count in total
		return Acknowledged{}, fmt.Errorf("%w: a batch has %d bytes, want 1 to %d", errOutOfOrder, len(records), operator.MaxCollectBatch)
	case b.resets > maxResets:
		return Acknowledged{}, fmt.Errorf("%w: its task has been restarted more than %d times", ErrTooLarge, maxResets)
	case b.total+int64(len(records)) > maxTotal:
		return Acknowledged{}, fmt.Errorf("%w: more than %d MiB; write it to files with a file sink instead", ErrTooLarge, maxTotal>>20)
	}
	b.batches = append(b.batches, records)
	b.size += len(records)
	b.total += int64(len(records))
	b.arrived++
	if b.limit == 0 {
		return b.Drop(), nil
	}
	return b.acknowledge(), nil
}

// Reset begins a new epoch, because the collecting task starts again: what it sent before is void.
func (b *Buffer) Reset() {
	start, resets := b.start, b.resets+1
	if resets <= maxResets { // otherwise Add refuses everything
		start += epochSize
	}
	*b = *begin(b.limit, b.keep, start)
	b.resets = resets
}

// Stalled reports whether the collecting task waits for the client to read.
func (b *Buffer) Stalled() bool { return b.acked < b.arrived }

// Drop drops all batches, because no client will read them, and makes room. A later request for them gets
// msg.ErrResultGone.
func (b *Buffer) Drop() Acknowledged {
	b.base += int64(len(b.batches))
	b.batches, b.size = nil, 0
	return b.acknowledge()
}

// End notes that no batch follows, because the job has ended.
func (b *Buffer) End() { b.ended = true }

// Drained reports whether the last page was given: the client has everything.
func (b *Buffer) Drained() bool { return b.drained }

// Size returns how many bytes are held.
func (b *Buffer) Size() int { return b.size }

// Page returns the batches from a cursor on, possibly none. It drops the earlier ones, because the client
// has them, or keeps them while there is room. A cursor of an earlier epoch means the beginning of this epoch. A request with the same cursor
// returns the same batches, and perhaps more. The error is msg.ErrResultGone if the client has read past
// the cursor before, or Drop was called.
func (b *Buffer) Page(cursor int64) (msg.CollectPage, Acknowledged, error) {
	cursor = max(cursor, b.start)
	end := b.base + int64(len(b.batches))
	if cursor < b.base || cursor > end {
		return msg.CollectPage{}, Acknowledged{}, fmt.Errorf("%w: batch %d was asked for, and batches %d to %d are left",
			msg.ErrResultGone, cursor-b.start, b.base-b.start, end-b.start)
	}
	b.read = max(b.read, cursor)
	for !b.keep && b.base < cursor {
		b.dropFirst()
	}
	page := Nothing(cursor)
	for _, batch := range b.batches[cursor-b.base:] {
		if len(page.Records) > 0 && len(page.Records)+len(batch) > maxPage {
			break
		}
		page.Records = append(page.Records, batch...)
		page.Next++
	}
	page.End = b.ended && page.Next == end
	b.drained = b.drained || page.End
	return page, b.acknowledge(), nil
}

// dropFirst drops the first batch.
func (b *Buffer) dropFirst() {
	b.size -= len(b.batches[0])
	b.batches[0] = nil // frees the batch although the slice's array stays
	b.batches = b.batches[1:]
	b.base++
}

func (b *Buffer) acknowledge() Acknowledged {
	a := Acknowledged{From: b.acked, To: b.acked}
	room := max(b.limit-LeastBuffered, 0) // beside batches that are still on their way
	for b.size > room && b.base < b.read {
		b.dropFirst()
	}
	if b.size <= room {
		a.To = b.arrived
	}
	b.acked = a.To
	return a
}
