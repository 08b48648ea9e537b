package dataflow

import (
	"github.com/cespare/xxhash/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/keytable"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

const (
	// combineLimit bounds the table before the exchange, in bytes. The table combines the elements of frequent keys. It is fastest at
	// about the size of the processor's cache.
	combineLimit = 4 << 20
	// distinctLimit is the number of keys for each hundred elements from which a table is not worth its time.
	distinctLimit = 90
	// passTables is for how many tables of elements the combiner then does without one, until it tries again.
	passTables = 16
)

// combiner is the operator before the exchange. It passes on the content of its
// table when the table is full, and at the end. If hardly any elements of a full table
// had the same key, it passes on the next ones one by one: Flink's table.exec.local-hash-agg.adaptive.
type combiner[K, T, A any] struct {
	idle
	caller
	memory *budget
	table  *keytable.Table[A]
	taken  int // elements since the table was empty
	single int // elements that it still passes on one by one
	keys   *Codec[K]
	accs   *Codec[A]
	fold   func(*A, T, bool) error
	emit   func(keyedRecord)
	record []byte // scratch
}

// taker returns the function that takes elements. A key that is its own encoding costs no call of keyEncoder, and with an accumulator
// of a fixed size mostly no call of add: together some 4 ns of 37 for each word of a word count.
func (b *combiner[K, T, A]) taker(keyOf func(T) K) func(T) {
	if view := b.keys.View; view != nil {
		return func(v T) {
			key := view(keyOf(v))
			if b.single > 0 || b.accs.Size != nil {
				b.add(key, v)
				return
			}
			acc, fresh := b.table.Upsert(key)
			if acc == nil {
				b.add(key, v)
				return
			}
			b.taken++
			if err := b.fold(acc, v, fresh); err != nil {
				b.foldFailed(v, err)
			}
		}
	}
	encode := keyEncoder(b.keys, keyOf)
	return func(v T) {
		key, err := encode(v)
		if err != nil {
			b.chain.fail(failedAt(b.caller, v, err))
			return
		}
		b.add(key, v)
	}
}

func (b *combiner[K, T, A]) add(key []byte, v T) {
	if b.single > 0 {
		b.single--
		b.addSingle(key, v)
		return
	}
	acc, fresh := b.table.Upsert(key)
	if acc == nil {
		b.flush()
		if acc, fresh = b.table.Upsert(key); acc == nil { // the key is larger than the whole table
			b.addSingle(key, v)
			return
		}
	}
	before := held(b.accs, acc, fresh)
	b.taken++
	if err := b.fold(acc, v, fresh); err != nil {
		b.foldFailed(v, err)
	}
	if b.accs.Size == nil {
		return
	}
	b.table.Charge(held(b.accs, acc, false) - before)
	if b.table.Over() {
		b.flush()
	}
}

func (b *combiner[K, T, A]) foldFailed(v T, err error) { b.chain.fail(failedAt(b.caller, v, err)) }

// addSingle passes on an element without the table.
func (b *combiner[K, T, A]) addSingle(key []byte, v T) {
	hash := b.begin(key) // before the fold: the key may be a part of the element, which the user's function may change
	var acc A
	if err := b.fold(&acc, v, true); err != nil {
		b.foldFailed(v, err)
		return
	}
	b.pass(hash, acc)
}

// event implements stage.
func (b *combiner[K, T, A]) event(_ int, e operator.Item) error {
	if e == operator.EndOfData {
		b.flush()
		b.table.Release()
		b.memory.NoMore()
	}
	return nil
}

// flush passes on all keys of a full table, or of the last one, and empties it.
func (b *combiner[K, T, A]) flush() {
	for i := range b.table.Len() {
		key, acc := b.table.At(i)
		b.pass(b.begin(key), *acc)
	}
	if b.table.Len() > b.taken*distinctLimit/100 {
		b.single = passTables * b.taken
	}
	b.taken = 0
	if b.memory.Excess() > 0 { // others need it
		b.table.Release()
	} else {
		b.table.Reset()
	}
}

// begin begins a record with its key, and returns the hash.
func (b *combiner[K, T, A]) begin(key []byte) uint64 {
	b.record = codec.AppendKey(b.record[:0], key)
	return xxhash.Sum64(key)
}

// pass completes the record, and passes it on.
func (b *combiner[K, T, A]) pass(hash uint64, acc A) {
	record, err := b.accs.Append(b.record, acc)
	if err != nil {
		b.fail(err)
		return
	}
	b.record = record
	b.emit(keyedRecord{hash, record})
}
