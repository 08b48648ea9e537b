package dataflow

import (
	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/keytable"
)

const (
	// lookupBytes bounds the records of lookups, with the last one.
	lookupBytes = 8 << 10
	// largeRecord is the length from which on a record is not worth a copy.
	largeRecord = lookupBytes / 8
)

// lookups are encoded pairs that wait until their keys are looked up together: see keytable.Table.Warm.
type lookups struct {
	records      []byte
	ends         []int // of each record
	keys, values [][]byte
}

// add copies a record, and reports whether more may wait.
func (l *lookups) add(record []byte) (more bool) {
	l.records = append(l.records, record...)
	l.ends = append(l.ends, len(l.records))
	return len(l.ends) < keytable.MostWarm && len(l.records) < lookupBytes
}

// take takes all. They are valid until the next add.
func (l *lookups) take() (keys, values [][]byte, err error) {
	l.keys, l.values = l.keys[:0], l.values[:0]
	begin := 0
	for _, end := range l.ends {
		key, value, err := codec.SplitKV(l.records[begin:end])
		if err != nil {
			return nil, nil, err
		}
		l.keys, l.values = append(l.keys, key), append(l.values, value)
		begin = end
	}
	l.records, l.ends = l.records[:0], l.ends[:0]
	return l.keys, l.values, nil
}
