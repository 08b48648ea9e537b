package exchange

import (
	"encoding/binary"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	bufferSize = msg.BufferBytes // of all fields of a buffer: Go takes 40 KiB for a little more
	// payloadAt is where the payload begins in the memory of a buffer. It is aligned to a cache line, because some processors copy
	// from a socket to other memory many times slower.
	payloadAt = 64
	// maxPayload bounds the payload of a buffer. The header stands before it, so a frame is one write. Behind it is room for the
	// header of the next frame that arrives; see intake.
	maxPayload = bufferSize - payloadAt - headerSize
	// fewPerChannel bounds the buffers of one end of a channel: one guaranteed buffer, and up to seven floating ones.
	fewPerChannel = 8
	// maxPerChannel bounds them while half of the host's buffers is free. With so many the two ends seldom wait for each other, and to
	// wake up a goroutine costs as much as to move a buffer.
	maxPerChannel = 32
	// wakeAt is how many buffers wake up a task that waits for data, while others are on their way.
	wakeAt = fewPerChannel / 2
)

// buffer is a data frame that is being filled, sent or read.
type buffer struct {
	end  int // of the written bytes of data; the payload begins at headerSize
	_    [payloadAt - headerSize - 8]byte
	data [headerSize + maxPayload + headerSize]byte
}

func (b *buffer) payload() []byte { return b.data[headerSize:b.end] }

func (b *buffer) room() int { return headerSize + maxPayload - b.end }

// add writes a whole record after its length. The caller has checked that there is room.
func (b *buffer) add(record []byte) {
	b.addLength(len(record))
	to := b.data[b.end:]
	b.end += len(record)
	if n := len(record); 8 <= n && n <= 16 { // two words that may overlap cost less than a call of memmove
		copy(to[:8], record[:8])
		copy(to[n-8:n], record[n-8:n])
		return
	}
	copy(to, record)
}

// addLength writes the length of a record. The caller has checked that there is room.
func (b *buffer) addLength(n int) {
	if n < 0x80 {
		b.data[b.end] = byte(n)
		b.end++
		return
	}
	b.end += binary.PutUvarint(b.data[b.end:], uint64(n))
}

// pool counts the buffers of the host. It allocates them when they are needed.
type pool struct {
	mu       sync.Mutex // guards all below; a leaf: nothing is locked under it
	free     []*buffer
	made     int // allocated buffers
	capacity int // buffers for which the host has memory
	reserved int // guarantees of open channels, and lent
	lent     int // buffers whose memory blocking outputs use: these are not made
	floating int // buffers in use beyond the guarantees
}

// poolOf makes a pool of the given number of bytes; 0: defaultMemory.
func poolOf(bytes int) *pool {
	p := new(pool)
	p.resize(bytes)
	return p
}

// resize changes how much memory the host has for buffers. Buffers in use stay until they are put back.
func (p *pool) resize(bytes int) {
	if bytes == 0 {
		bytes = defaultMemory
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.capacity = bytes / bufferSize
	p.trim()
}

// trim drops free buffers for which there is no memory.
func (p *pool) trim() {
	for last := len(p.free) - 1; last >= 0 && p.tooMany(); last-- {
		p.free[last] = nil
		p.free = p.free[:last]
		p.made--
	}
}

func (p *pool) tooMany() bool { return p.made+p.lent > max(p.capacity, p.reserved) }

// usage returns the buffers in use, and those for which the host has memory.
func (p *pool) usage() (used, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made - len(p.free) + p.lent, p.capacity
}

// budget returns the memory of the host for buffers, in bytes.
func (p *pool) budget() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.capacity * bufferSize
}

// reserve adds the guarantees of channels, or with a negative count removes them. It tells whether
// this call made the guarantees exceed the pool's capacity.
func (p *pool) reserve(channels int) (grown bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.guarantee(channels)
}

func (p *pool) guarantee(buffers int) (grown bool) {
	before := p.reserved
	p.reserved += buffers
	p.trim()
	return before <= p.capacity && p.reserved > p.capacity
}

// lend gives the memory of so many buffers to a blocking output, or with a negative count takes it back. It returns what reserve does.
func (p *pool) lend(buffers int) (grown bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lent += buffers
	return p.guarantee(buffers)
}

// borrow takes one floating buffer if there is one. A channel that has few takes any, one that has many only what plenty gives.
func (p *pool) borrow(many bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left() <= 0 || many && p.plenty() <= 0 {
		return false
	}
	p.floating++
	return true
}

// spare returns the buffers that borrow could give now, and how many of them to channels that have many.
func (p *pool) spare() (few, many int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.left(), 0), max(p.plenty(), 0)
}

// left is the number of floating buffers that nobody has; negative if the guarantees exceed the capacity.
func (p *pool) left() int { return p.capacity - p.reserved - p.floating }

// plenty is how many of them can be given before half of the buffers is in use.
func (p *pool) plenty() int { return p.left() - p.capacity/2 }

func (p *pool) giveBack(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.floating -= n
}

// get gives an empty buffer; the quota of the caller covers it.
func (p *pool) get() *buffer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.free) - 1; last >= 0 {
		b := p.free[last]
		p.free[last] = nil // put may drop it
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
	if p.tooMany() { // channels were opened while other buffers floated
		p.made--
		return
	}
	p.free = append(p.free, b)
}

// quota counts the buffers that one end of a channel holds or has announced. Its owner's mutex
// guards it.
type quota struct {
	pool *pool
	held int
}

// take allows one more buffer: the first one always, others if the pool has floating ones, and many only while it has plenty.
func (q *quota) take() bool {
	if q.held > 0 && (q.held >= maxPerChannel || !q.pool.borrow(q.held >= fewPerChannel)) {
		return false
	}
	q.held++
	return true
}

// floating is how many of the buffers are the pool's floating ones.
func (q *quota) floating() int { return max(q.held-1, 0) }

// give ends the use of n buffers.
func (q *quota) give(n int) {
	borrowed := q.floating()
	q.held -= n
	if back := borrowed - q.floating(); back > 0 {
		q.pool.giveBack(back)
	}
}
