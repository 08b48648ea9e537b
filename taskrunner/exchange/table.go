package exchange

import "sync/atomic"

// pageSize is the number of channels whose places are made together.
const pageSize = 64

// table has a place for each channel of a partition. Most channels of a job with
// thousands of tasks are never used: a page of places is made with the first channel
// that is. Reading needs no lock, writing that of the partition.
type table struct{ pages []atomic.Pointer[page] }

type page [pageSize]atomic.Pointer[subpartition]

func newTable(channels int) table {
	return table{make([]atomic.Pointer[page], (channels+pageSize-1)/pageSize)}
}

// get gives a channel, nil while it was not used.
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
