package join

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"math/bits"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// maxLevel bounds how often a record is divided. The least memory divides by four, so that this is enough for 60,000 times the memory.
const maxLevel = 8

// Hash is a hybrid hash join. It belongs to one goroutine. Its calls are Add for each record of the build side, End(Build), then the
// same for the probe side, Step until it returns false, and Close at any time. After an error, only Close is left.
//
// Add passes on a pair when both records are there, with those of a few probe records before it. Add and Step allocate nothing for a
// record that finds its partners in memory.
type Hash struct {
	config     Config
	table      table
	appenders  *spill.Appenders // nil until there is a file
	partitions []partition
	fixed      int64        // bytes for the blocks of their files, the reader and the probes
	shift      int          // of a hash: the rest is the number of its partition
	seed       maphash.Seed // of this level
	level      int
	bytes      int64 // of the build records of this level
	phase      phase
	slot       int // of the index: the next one whose records may be alone

	waiting []pair // partitions of this level and those before
	pair    pair   // the one that is being joined; the first level has none
	reader  *spill.RunsReader
	merge   *Merge // joins the pair, if it is whole
	probes  probes // of this level, for the table
	matching
}

// phase says what Step does next.
type phase int

const (
	building phase = iota
	probing
	leaving // build records without a partner are passed on
	merging
	dividing // the next pair begins
)

// matching passes on the partners of one probe record.
type matching struct {
	probe []byte
	again bool
	find  func(hash uint64, key, value []byte) error // made once
	match func(build []byte) error                   // likewise
	alone func(build []byte) error                   // likewise
}

// partitionsFor is the number of partitions, a power of two between 4 and 64. The blocks of their files take a quarter of the memory
// at most, but for the least memory.
func partitionsFor(memory int64) int {
	n := max(4, min(64, memory/(4*spill.BlockSize)))
	return 1 << (bits.Len64(uint64(n)) - 1)
}

// NewHash makes a hybrid hash join. The error is extsort.ErrNoMemory if the budget does not grant MinMemory.
func NewHash(c Config) (*Hash, error) {
	h := &Hash{config: c, seed: maphash.MakeSeed(), table: table{budget: c.Budget, limit: math.MaxInt64, coldSlots: coldSlots}}
	if err := h.divide(); err != nil {
		return nil, err
	}
	h.find = h.join
	h.match = func(build []byte) error {
		again := h.again
		h.again = true
		return c.Output.Match(build, h.probe, again)
	}
	h.alone = func(build []byte) error { return c.Output.Alone(Build, build) }
	return h, nil
}

// divide makes the partitions, which are empty, as many as there is memory for their files.
func (h *Hash) divide() error {
	const others = 2*spill.BlockSize + 16 + probesMemory // of the reader, and of the probes
	share := max(h.config.Budget.Share(), MinMemory)
	n := partitionsFor(share)
	for ; ; n /= 2 {
		h.fixed = spill.AppendersMemory() + int64(n)*spill.AppenderMemory + others
		if h.config.Budget.Take(h.fixed) {
			break
		}
		if n == partitionsFor(MinMemory) {
			h.fixed = 0
			return errNoMemory
		}
	}
	h.partitions, h.shift = make([]partition, n), 64-bits.Len(uint(n-1))
	h.table.pageSize = int(max(16<<10, min(1<<offsetBits, (share-h.fixed)/int64(8*n))))
	return nil
}

// giveBack gives the memory of the table and of the partitions back.
func (h *Hash) giveBack() {
	h.config.Budget.Give(h.table.held + h.fixed)
	h.table = table{budget: h.config.Budget, limit: h.table.limit, pageSize: h.table.pageSize, coldSlots: h.table.coldSlots}
	h.fixed, h.appenders = 0, nil
}

func (h *Hash) hash(key []byte) uint64 { return maphash.Bytes(h.seed, key) }

// Add takes a record of the side that is due. It copies the record if it keeps it.
func (h *Hash) Add(_ context.Context, side Side, key, value []byte) error {
	hash := h.hash(key)
	p := &h.partitions[hash>>h.shift]
	if side == Build {
		return h.addBuild(p, key, value)
	}
	if p.inFiles {
		return h.write(p, Probe, key, value)
	}
	return h.look(hash, key, value)
}

// look looks for the partners of a probe record, or lets it wait for others.
func (h *Hash) look(hash uint64, key, value []byte) error {
	if h.table.cold() && len(key)+len(value) < largeProbe {
		if h.probes.add(hash, key, value) {
			return nil
		}
		return h.lookForWaiting()
	}
	return h.join(hash, key, value)
}

// lookForWaiting looks for the partners of the records that wait.
func (h *Hash) lookForWaiting() error {
	if h.table.cold() {
		h.table.warm(h.probes.hashes)
	}
	return h.probes.each(h.find)
}

// join passes on the pairs of a probe record.
func (h *Hash) join(hash uint64, key, value []byte) error {
	_, first, found := h.table.find(hash, key)
	if !found {
		if !h.config.Outer[Probe] {
			return nil
		}
		return h.config.Output.Alone(Probe, value)
	}
	if h.config.Outer[Build] {
		setMatched(first.same)
	}
	h.probe, h.again = value, false
	return h.table.each(first, h.match)
}

func (h *Hash) addBuild(p *partition, key, value []byte) error {
	size := int64(recordSize(key, value))
	p.bytes += size
	h.bytes += size
	for !p.inFiles {
		if h.store(p, key, value) {
			return nil
		}
		if err := h.makeRoom(p); err != nil {
			return err
		}
	}
	return h.write(p, Build, key, value)
}

// End says that a side has no more records.
func (h *Hash) End(ctx context.Context, side Side) error {
	if err := h.finish(side); err != nil {
		return err
	}
	if side == Build {
		h.phase = probing
		return h.makeIndex(ctx)
	}
	if err := h.lookForWaiting(); err != nil {
		return err
	}
	h.phase, h.slot = leaving, 0
	return nil
}

// Step does a bounded part of the work that is left when both sides have ended. It returns false when all is done.
func (h *Hash) Step(ctx context.Context) (more bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	switch h.phase {
	case building:
		return true, h.read(ctx, Build)
	case probing:
		return true, h.read(ctx, Probe)
	case leaving:
		return true, h.leave()
	case merging:
		more, err := h.merge.Step(ctx)
		if !more && err == nil {
			h.phase = dividing
			err = h.endPair()
		}
		return true, err
	default:
		return h.next()
	}
}

// leave passes on the build records in memory that have no partner.
func (h *Hash) leave() error {
	if !h.config.Outer[Build] {
		h.slot = len(h.table.index)
	}
	for range burst {
		if h.slot == len(h.table.index) {
			h.divided()
			h.phase = dividing
			return h.endPair()
		}
		r := h.table.index[h.slot]
		h.slot++
		if r == 0 {
			continue
		}
		if same, _, value := h.table.record(r); !matched(same) {
			if err := h.table.each(first{same, value}, h.alone); err != nil {
				return err
			}
		}
	}
	return nil
}

// Spilled is the number of bytes written to files.
func (h *Hash) Spilled() int64 { return h.config.Dirs.Spilled() }

// Close removes the files.
func (h *Hash) Close() error {
	errs := h.pair.close()
	for i := range h.partitions {
		p := &h.partitions[i]
		for side := range p.files {
			if p.files[side] != nil {
				errs = append(errs, p.files[side].Close())
			}
			errs = append(errs, p.runs[side].Close())
		}
	}
	for i := range h.waiting {
		errs = append(errs, h.waiting[i].close()...)
	}
	if h.merge != nil {
		errs = append(errs, h.merge.Close())
	}
	h.giveBack()
	*h = Hash{config: h.config, table: h.table}
	return errors.Join(errs...)
}
