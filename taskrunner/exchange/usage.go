package exchange

// Usage says how many buffers of the pool an input or an output of a task uses. The buffers of a channel between two tasks of one
// host belong to the output.
type Usage struct {
	Queued int // full buffers that wait: for Next, or for the consumers
	Held   int // buffers with data: those, the one being filled or read, and those being sent
	Most   int // buffers that it may hold now, with the pool's free ones
}

// channelUsage is the part of one channel.
type channelUsage struct {
	queued, held int
	floating     int // buffers that are held or announced beyond the guaranteed one
}

// Add adds the usage of another gate or partition.
func (u *Usage) Add(other Usage) {
	u.Queued += other.Queued
	u.Held += other.Held
	u.Most += other.Most
}

// count adds a channel that has a guaranteed buffer.
func (u *Usage) count(c channelUsage) {
	u.Queued += c.queued
	u.Held += c.held
	u.Most += c.floating + 1
}

// bound adds the pool's free buffers to what so many channels may hold.
func (u *Usage) bound(p *pool, channels int) {
	few, many := p.spare()
	u.Most = max(u.Most, min(u.Most+few, channels*fewPerChannel), min(u.Most+many, channels*maxPerChannel))
}
