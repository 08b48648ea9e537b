package ranges

import "bytes"

// Chooser chooses the bounds of ranges from weighted keys, which it gets in order. No range weighs more than an even share and the
// heaviest key together. All elements of a key are in one range.
type Chooser struct {
	share  float64 // of one range
	chosen int
	most   int
	below  float64 // weight of the keys so far
	last   []byte  // key
}

// NewChooser makes a Chooser of at most n ranges, n ≥ 1, for keys whose weights add up to total.
func NewChooser(n int, total float64) *Chooser {
	return &Chooser{share: total / float64(n), most: n - 1}
}

// Add reports whether the next key is a bound. The key must not be below the one before it.
func (c *Chooser) Add(key []byte, weight float64) bool {
	isNew := c.below > 0 && !bytes.Equal(key, c.last) // a bound at the second of equal keys would move the first one to the next range, too
	isBound := isNew && c.chosen < c.most && c.below >= c.share*float64(c.chosen+1)
	c.below += weight
	c.last = append(c.last[:0], key...)
	if isBound {
		c.chosen++
	}
	return isBound
}
