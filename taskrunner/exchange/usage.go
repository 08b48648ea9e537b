package exchange

// Usage says how many buffers of the pool an input or an output of a task uses. The buffers of a channel between two tasks of one
// host belong to the output.
type Usage struct {
	Queued int // full buffers that wait: for Next, or for the consumers
	Held   int // buffers with data: those, the one being filled or read, and those being sent
	Most   int // buffers that it may hold now, with the pool's free ones
}

// usageCount adds up the channels of a gate or a partition.
type usageCount struct {
	Usage
	low, high int // buffers that its channels may borrow until each has few, and beyond
}

// channelUsage is the part of one channel.
type channelUsage struct {
	queued, held int
	floating     int  // buffers that are held or announced beyond the guaranteed one
	over         bool // it takes no further buffers
}

// Add adds the usage of another gate or partition.
func (u *Usage) Add(other Usage) {
	u.Queued += other.Queued
	u.Held += other.Held
	u.Most += other.Most
}

// count adds a channel that has a guaranteed buffer.
func (u *usageCount) count(c channelUsage) {
	u.Queued += c.queued
	u.Held += c.held
	has := c.floating + 1
	u.Most += has
	if c.over {
		return
	}
	u.low += max(fewPerChannel-has, 0)
	u.high += maxPerChannel - max(has, fewPerChannel)
}

// with adds what the channels may take of the pool's free buffers, if each takes few before one takes many.
func (u usageCount) with(p *pool) Usage {
	few, many := p.spare()
	u.Most += min(few, u.low+min(max(many-u.low, 0), u.high))
	return u.Usage
}
