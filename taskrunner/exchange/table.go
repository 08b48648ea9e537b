package exchange

import "sync/atomic"

// pageSize is the number of places in a page.
const pageSize = 64

// table has a place for each channel of a partition. In a job with thousands of tasks most channels
// are never used, so a page of places is made with its first used channel. Reading needs no lock;
// writing needs the lock of the partition.
type table struct{ pages []atomic.Pointer[page] }

type page [pageSize]atomic.Pointer[subpartition]

func newTable(channels int) table {
	return table{make([]atomic.Pointer[page], (channels+pageSize-1)/pageSize)}
}

// get gives a channel, or nil if it was never used.
func (t *table) get(channel int) *subpartition {
	if p := t.pages[channel/pageSize].Load(); p != nil {
		return p[channel%pageSize].Load()
	}
	return nil
}

func (t *table) set(channel int, s *subpartition) {
	at := &t.pages[channel/pageSize]
	p := at.Load()
	if p == nil {
		p = new(page)
		at.Store(p)
	}
	p[channel%pageSize].Store(s)
}
