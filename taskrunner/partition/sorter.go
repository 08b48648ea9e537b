package partition

import "encoding/binary"

const (
	pageSize     = 32 << 10
	indexed      = pageSize / 8        // entries in a page of the index
	memoryPerRow = 4                   // bytes of order for each record
	leastMemory  = 3 * pageSize        // a page of records and one of the index, with their order
	maxCollected = 1<<32 - 2*MaxRecord // bytes that one region may have, so that its places fit into 32 bits
)

// entry is a collected record: its subpartition, and the place of its length and bytes in the pages.
type entry struct{ subpartition, at uint32 }

// sorter collects framed records in pages of memory, and gives them by subpartition, each in the order of add.
type sorter struct {
	budget int      // bytes
	pages  [][]byte // kept for the next records
	end    int      // of the records in the pages
	index  [][]entry
	count  int      // records
	ends   []uint32 // by subpartition: the end of its part of order
	order  []uint32 // the places of all records, sorted
}

func newSorter(subpartitions, budget int) *sorter {
	return &sorter{budget: min(max(budget, leastMemory), maxCollected), ends: make([]uint32, subpartitions)}
}

// add adds a record; false if there is no room for it.
func (s *sorter) add(subpartition int, record []byte) bool {
	at := s.end
	if pageSize-at%pageSize < maxPrefix {
		at += pageSize - at%pageSize
	}
	pages := (at + maxPrefix + len(record) + pageSize - 1) / pageSize
	index := s.count/indexed + 1
	if memoryOf(pages, index, s.count+1) > s.budget {
		return false
	}
	if memoryOf(max(pages, len(s.pages)), max(index, len(s.index)), max(s.count+1, cap(s.order))) > s.budget {
		s.trim(pages, index)
	}
	for pages > len(s.pages) {
		s.pages = append(s.pages, make([]byte, pageSize))
	}
	if s.count == len(s.index)*indexed {
		s.index = append(s.index, make([]entry, indexed))
	}
	s.index[s.count/indexed][s.count%indexed] = entry{uint32(subpartition), uint32(at)}
	s.count++
	s.ends[subpartition]++

	at += binary.PutUvarint(s.pages[at/pageSize][at%pageSize:], uint64(len(record)))
	for len(record) > 0 {
		n := copy(s.pages[at/pageSize][at%pageSize:], record)
		at, record = at+n, record[n:]
	}
	s.end = at
	return true
}

// memoryOf is the memory of pages of records, pages of the index, and an order of so many records, in bytes.
func memoryOf(pages, index, rows int) int { return (pages+index)*pageSize + rows*memoryPerRow }

// trim frees memory of earlier rounds, whose records were longer or shorter than those of this one.
func (s *sorter) trim(pages, index int) {
	pages, index = min(pages, len(s.pages)), min(index, len(s.index))
	clear(s.pages[pages:])
	clear(s.index[index:])
	s.pages, s.index, s.order = s.pages[:pages], s.index[:index], nil
}

// sort makes the records ready for copyTo. It counts the records of each subpartition, so it takes linear time.
func (s *sorter) sort() {
	if cap(s.order) < s.count {
		s.order = make([]uint32, s.count)
	}
	s.order = s.order[:s.count]
	begin := uint32(0)
	for i, n := range s.ends {
		s.ends[i] = begin // of its part, which grows below to its end
		begin += n
	}
	for i := range s.count {
		e := s.index[i/indexed][i%indexed]
		s.order[s.ends[e.subpartition]] = e.at
		s.ends[e.subpartition]++
	}
}

// copyTo appends the records of a subpartition to blocks. sort comes before.
func (s *sorter) copyTo(to *blocks, subpartition int) error {
	begin := uint32(0)
	if subpartition > 0 {
		begin = s.ends[subpartition-1]
	}
	for _, place := range s.order[begin:s.ends[subpartition]] {
		page, at := int(place/pageSize), int(place%pageSize)
		length, size := binary.Uvarint(s.pages[page][at:])
		at += size
		if err := to.begin(int(length)); err != nil {
			return err
		}
		for left := int(length); ; page, at = page+1, 0 {
			part := s.pages[page][at:min(at+left, pageSize)]
			if err := to.write(part); err != nil {
				return err
			}
			if left -= len(part); left == 0 {
				break
			}
		}
	}
	return nil
}

// reset removes all records and keeps the memory.
func (s *sorter) reset() {
	s.end, s.count = 0, 0
	clear(s.ends)
}
