package dataflow

import (
	"bytes"
	"cmp"
)

// By compares elements by a value: the comparison function for TopN. Values compare as with cmp.Compare: a NaN is less than any
// other number. By(nil) is nil.
func By[T any, V cmp.Ordered](value func(T) V) func(a, b T) int {
	if value == nil {
		return nil // so that the operator refuses it
	}
	return func(a, b T) int { return cmp.Compare(value(a), value(b)) }
}

// ranking is the order of elements by a comparison function, the largest first. Those that are equal there come in the order of
// their encodings, so that a result does not depend on the order in which elements arrive. Elements with maps are the exception: the
// entries of a map are encoded in any order. It belongs to one subtask.
type ranking[T any] struct {
	compare func(a, b T) int
	codec   Codec[T]
	a, b    []byte // scratch
}

// before reports whether a comes before b. It is false for elements that have the same encoding.
func (r *ranking[T]) before(a, b T) (bool, error) {
	if c := r.compare(a, b); c != 0 {
		return c > 0, nil
	}
	first, err := r.codec.Append(r.a[:0], a)
	if err != nil {
		return false, err
	}
	second, err := r.codec.Append(r.b[:0], b)
	if err != nil {
		return false, err
	}
	r.a, r.b = first, second
	return bytes.Compare(first, second) < 0, nil
}
