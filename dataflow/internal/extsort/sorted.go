package extsort

// Sorted is the output of a Sorter. It belongs to the same goroutine, and ends with
// the Sorter's Close.
type Sorted struct {
	in    stream
	last  *buffer // the key of the last record
	begun bool
	same  bool
}

// Next returns the next record. Key and value are valid until the next call, and the
// caller may not change them. At the end the error is io.EOF. A spill file that is
// not as it was written gives spill.ErrCorrupt. After an error, only Close is left.
func (s *Sorted) Next() (key, value []byte, err error) {
	it, err := s.in.next()
	if err != nil {
		return nil, nil, err
	}
	s.same = s.begun && string(it.key) == string(s.last.bytes)
	if !s.same {
		s.begun = true
		s.last.set(append(s.last.bytes[:0], it.key...))
	}
	return it.key, it.value, nil
}

// SameKey reports whether the last record has the same key as the one before it.
func (s *Sorted) SameKey() bool { return s.same }
