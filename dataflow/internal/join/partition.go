package join

import (
	"context"
	"encoding/binary"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// partition is the part of both sides that some bits of the hash select.
type partition struct {
	pages   []int // of the table, with the build records; none if the partition is in files
	records int   // in the pages
	held    int64 // bytes of the pages
	bytes   int64 // of all build records
	inFiles bool
	// The files that are written. Each side is written when the other one is not.
	files [2]*spill.Appender
	runs  [2]spill.Runs
}

// pair is a partition in files, which waits for its join.
type pair struct {
	runs  [2]spill.Runs
	level int  // how often its records were divided
	whole bool // no hash divides it, and it does not fit into memory
}

func (p *pair) close() []error { return []error{p.runs[Build].Close(), p.runs[Probe].Close()} }

// store copies a build record into the pages of its partition. It returns false if memory is full.
func (h *Hash) store(p *partition, key, value []byte) bool {
	need := recordSize(key, value)
	if !h.table.take(slotsSize) {
		return false
	}
	n := len(p.pages)
	if n == 0 || cap(h.table.pages[p.pages[n-1]])-len(h.table.pages[p.pages[n-1]]) < need {
		number, ok := h.table.newPage(need, n == 0)
		if !ok {
			h.table.give(slotsSize)
			return false
		}
		p.pages = append(p.pages, number)
		p.held += int64(cap(h.table.pages[number]))
		n++
	}
	h.table.add(p.pages[n-1], key, value)
	p.records++
	return true
}

// makeRoom moves the largest partition to a file, or p if none is in memory, and more of them while the budget wants memory back.
func (h *Hash) makeRoom(p *partition) error {
	for first := true; first || h.table.trim(); first = false {
		largest := p
		for i := range h.partitions {
			if o := &h.partitions[i]; o.held > largest.held {
				largest = o
			}
		}
		if !first && largest.held == 0 {
			break
		}
		if err := h.move(largest); err != nil {
			return err
		}
	}
	return nil
}

// move moves the build records of a partition to a file.
func (h *Hash) move(p *partition) error {
	p.inFiles = true
	for _, number := range p.pages {
		page := h.table.pages[number]
		for offset := 0; offset < len(page); {
			key, value, end := parse(page, offset)
			if err := h.write(p, Build, key, value); err != nil {
				return err
			}
			offset = end
		}
	}
	h.drop(p)
	return nil
}

// drop gives the memory of a partition back.
func (h *Hash) drop(p *partition) {
	for _, number := range p.pages {
		h.table.release(number)
	}
	h.table.give(int64(p.records) * slotsSize)
	p.pages, p.records, p.held = nil, 0, 0
}

// write adds a record to the file of a partition.
func (h *Hash) write(p *partition, side Side, key, value []byte) error {
	if p.files[side] == nil {
		if h.appenders == nil {
			h.appenders = h.config.Dirs.NewAppenders()
		}
		p.files[side] = h.appenders.New()
	}
	var head [binary.MaxVarintLen64]byte
	return p.files[side].Append(head[:binary.PutUvarint(head[:], uint64(len(key)))], key, value)
}

// finish ends the files of a side, and frees their memory.
func (h *Hash) finish(side Side) (err error) {
	for i := range h.partitions {
		p := &h.partitions[i]
		if p.files[side] == nil {
			continue
		}
		if p.runs[side], err = p.files[side].Finish(); err != nil {
			return err
		}
		p.files[side] = nil
	}
	return nil
}

// makeIndex lets the table find the records in memory.
func (h *Hash) makeIndex(ctx context.Context) error {
	records := 0
	for i := range h.partitions {
		records += h.partitions[i].records
	}
	h.table.build(records)
	n := 0
	for i := range h.partitions {
		for _, number := range h.partitions[i].pages {
			page := h.table.pages[number]
			for offset := 0; offset < len(page); {
				if n++; n%burst == 0 && ctx.Err() != nil {
					return context.Cause(ctx)
				}
				key, _, end := parse(page, offset)
				hash := h.hash(key)
				h.table.link(hash, key, newRef(hash, number, offset))
				offset = end
			}
		}
	}
	return nil
}

// divided ends the join of the records in memory. The partitions in files wait for their own join.
func (h *Hash) divided() {
	for i := range h.partitions {
		p := &h.partitions[i]
		h.drop(p)
		if p.inFiles {
			stuck := p.bytes > h.table.most && p.bytes/3 > h.bytes/4 // more than three quarters
			h.waiting = append(h.waiting, pair{runs: p.runs, level: h.level + 1, whole: stuck || h.level+1 >= maxLevel})
		}
		*p = partition{}
	}
	h.table.index, h.table.most, h.bytes = nil, 0, 0
	h.table.trim()
}
