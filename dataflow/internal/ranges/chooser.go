package ranges

import "bytes"

// Chooser chooses the bounds of ranges from weighted keys, which it gets in order: those at which the weight below is nearest to an even
// share. No range weighs more than an even share and the heaviest key together. All elements of a key are in one range.
type Chooser struct {
	share  float64 // of one range
	chosen int
	most   int
	begin  float64 // weight of the keys below the present range
	below  float64 // weight of the keys below key
	key    []byte  // the last one; nil: none came
	weight float64
	bound  []byte // the memory of the last bound, and of the next key
}

// NewChooser makes a Chooser of at most n ranges, n ≥ 1, for keys whose weights add up to total.
func NewChooser(n int, total float64) *Chooser {
	return &Chooser{share: total / float64(n), most: n - 1}
}

// Add adds weight to a key, which must not be below the last one. If it is another key, Add tells whether the last one is a bound, whose
// weight is known now: it returns the bound, or nil. The bound is valid until the next call.
func (c *Chooser) Add(key []byte, weight float64) (bound []byte) {
	if c.key != nil && bytes.Equal(key, c.key) {
		c.weight += weight
		return nil
	}
	bound = c.End()
	spare := append(c.bound[:0], key...) //nolint:gocritic // the two take turns
	if spare == nil {
		spare = []byte{}
	}
	c.bound, c.key, c.weight = c.key, spare, weight
	return bound
}

// End tells whether the last key is a bound, as Add does. No key comes after it.
func (c *Chooser) End() (bound []byte) {
	next := c.share * float64(c.chosen+1)
	if c.chosen < c.most && c.below > c.begin && next-c.below <= c.below+c.weight-next {
		c.chosen++
		c.begin, bound = c.below, c.key
	}
	c.below += c.weight
	return bound
}
