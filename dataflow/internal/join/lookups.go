package join

// A large table is not in the processor's caches, so a lookup waits for memory two or three times: for the slot, the record and its
// value. The processor waits for several lookups at the same time if they are told together.

const (
	// mostLookups is the most lookups that are told together.
	mostLookups = 32
	// probesSize bounds the bytes of the records that wait for it.
	probesSize = 8 << 10
	// largeProbe is the length from which on a record is not worth a copy.
	largeProbe = probesSize / 8
	// probesMemory is what the records that wait take, in bytes.
	probesMemory = probesSize + largeProbe + mostLookups*24
	// coldSlots is the number of slots from which on a table is larger than the caches of one core.
	coldSlots = 1 << 15
	// cacheLine is what a processor reads from memory at once, in bytes.
	cacheLine = 64
)

// probes are records of the probe side that wait until their keys are looked up together.
type probes struct {
	bytes  []byte // the keys and values
	ends   []probeEnds
	hashes []uint64
}

// probeEnds says where the key and the value of a record end.
type probeEnds struct{ key, value int }

// add copies a record, and reports whether more may wait.
func (p *probes) add(hash uint64, key, value []byte) (more bool) {
	p.bytes = append(append(p.bytes, key...), value...)
	p.ends = append(p.ends, probeEnds{len(p.bytes) - len(value), len(p.bytes)})
	p.hashes = append(p.hashes, hash)
	return len(p.ends) < mostLookups && len(p.bytes) < probesSize
}

// each takes all records. They are valid until the next add.
func (p *probes) each(f func(hash uint64, key, value []byte) error) error {
	begin := 0
	for i, end := range p.ends {
		key, value := p.bytes[begin:end.key:end.key], p.bytes[end.key:end.value:end.value]
		if err := f(p.hashes[i], key, value); err != nil {
			return err
		}
		begin = end.value
	}
	p.bytes, p.ends, p.hashes = p.bytes[:0], p.ends[:0], p.hashes[:0]
	return nil
}

// cold reports whether lookups wait for memory, so that warm is worth its time.
func (t *table) cold() bool { return len(t.index) >= t.coldSlots }

// warm brings what lookups of keys with these hashes read into the caches, mostLookups at most. The table must be cold.
func (t *table) warm(hashes []uint64) {
	var refs [mostLookups]ref
	for i, hash := range hashes { // without a branch that depends on it
		refs[i] = t.index[hash&t.mask]
	}
	read := byte(0)
	for i, hash := range hashes {
		tag := hash >> tagShift << (pageBits + offsetBits)
		r := refs[i]
		for slot := hash & t.mask; r != 0; r = t.index[slot] {
			if uint64(r)&tagMask == tag {
				page, offset := t.place(r)
				last := len(page) - 1
				// A record of 100 bytes lies in three lines. Its length would have to be waited for.
				read += page[offset] + page[min(offset+cacheLine, last)] + page[min(offset+2*cacheLine, last)]
				break
			}
			slot = (slot + 1) & t.mask
		}
	}
	t.warmed = read
}
