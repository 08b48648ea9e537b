// Package ranges divides keys into ranges of about the same weight, for a global sort. Each producer takes a sample of its keys
// with a Reservoir. A Chooser gets all samples in order, and chooses the bounds of the ranges. Every producer then finds the range of
// each key.
//
// Keys are bytes, which compare as bytes.Compare does. The package has no goroutines, does no I/O and imports nothing of Bobbin.
package ranges

import (
	"bytes"
	"errors"
)

// MaxKey bounds a key of a sample, and so a bound, in bytes. Of a longer key, these are the first. So keys that differ only behind
// them are in the same range.
const MaxKey = 256

// ErrOrder says that a bound is not above the one before it.
var ErrOrder = errors.New("bounds of ranges are not in order")

// Ranges are the ranges between bounds. A range begins with its bound. The first one has none, so the zero value is one range.
type Ranges struct{ bounds [][]byte }

// Add copies the bound of one more range, which must be above the last one. Otherwise the error is ErrOrder.
func (r *Ranges) Add(bound []byte) error {
	if n := len(r.bounds); n > 0 && bytes.Compare(r.bounds[n-1], bound) >= 0 {
		return ErrOrder
	}
	r.bounds = append(r.bounds, bytes.Clone(bound))
	return nil
}

// Len is the number of ranges, at least 1.
func (r *Ranges) Len() int { return len(r.bounds) + 1 }

// Find returns the range of a key, 0 ≤ range < Len.
func (r *Ranges) Find(key []byte) int {
	low, high := 0, len(r.bounds)
	for low < high {
		if middle := (low + high) / 2; bytes.Compare(r.bounds[middle], key) <= 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}
