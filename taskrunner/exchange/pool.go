package exchange

import "sync"

const (
	bufferSize = 32 << 10
	// maxPayload is what a buffer holds beside the header that precedes it on the
	// wire. The header has its place in the buffer so that a frame is one write.
	maxPayload = bufferSize - headerSize
	// maxPerChannel bounds the buffers of one end of a channel: one guaranteed,
	// the others floating.
	maxPerChannel = 8
)

// buffer is a data frame in the making, on its way, or being read.
type buffer struct {
	end  int // of what is written; the payload begins at headerSize
	data [bufferSize]byte
}

func (b *buffer) payload() []byte { return b.data[headerSize:b.end] }

func (b *buffer) room() int { return len(b.data) - b.end }

// pool counts out the host's buffers. They are made when first needed.
type pool struct {
	mu       sync.Mutex // guards all below; a leaf: nothing is locked under it
	free     []*buffer
	made     int // buffers in existence
	capacity int // buffers the host was given memory for
	reserved int // guarantees of open channels
	floating int // buffers in use beyond the guarantees
}

// reserve adds channels' guarantees, or with a negative count takes them back. It
// tells whether the guarantees exceed the pool's capacity now and did not before.
func (p *pool) reserve(channels int) (grown bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.reserved
	p.reserved += channels
	return before <= p.capacity && p.reserved > p.capacity
}

// borrow takes one floating buffer's worth of the pool, if there is any.
func (p *pool) borrow() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.floating >= p.capacity-p.reserved {
		return false
	}
	p.floating++
	return true
}

func (p *pool) giveBack(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floating -= n
}

// get gives an empty buffer to one whose quota covers it.
func (p *pool) get() *buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		b := p.free[last]
		p.free = p.free[:last]
		return b
	}
	p.made++
	return &buffer{end: headerSize}
}

func (p *pool) put(b *buffer) {
	b.end = headerSize
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.made > max(p.capacity, p.reserved) { // channels were opened while others floated
		p.made--
		return
	}
	p.free = append(p.free, b)
}

// quota counts the buffers that one end of a channel holds or has announced. It
// is guarded by its owner's mutex.
type quota struct {
	pool *pool
	held int
}

// take allows one more buffer: always the first, others as the pool can spare.
func (q *quota) take() bool {
	if q.held > 0 && (q.held >= maxPerChannel || !q.pool.borrow()) {
		return false
	}
	q.held++
	return true
}

// give ends the use of n buffers.
func (q *quota) give(n int) {
	borrowed := max(q.held-1, 0)
	q.held -= n
	if back := borrowed - max(q.held-1, 0); back > 0 {
		q.pool.giveBack(back)
	}
}
