package exchange

import (
	"container/list"
	"sync"
	"time"
)

const (
	// slowRead is the time after which the connection of a read goes on without it, 5 ms. Most reads of a disk that seeks take less
	// when few channels read it.
	slowRead = 5 * time.Millisecond
	// maxSlow is the number of slow reads of one disk that a Server has at a time, beside one for each connection that was reading the
	// disk when it became slow. Each keeps a thread and a block while the disk hangs.
	maxSlow = 8
)

// disk bounds the slow reads of one disk, by all connections of a Server.
type disk struct {
	mu     sync.Mutex // guards all below; only turns are locked under it
	slow   int        // reads; more than maxSlow if many became slow at the same time
	parked list.List  // of *served that want to read
}

// enter tells whether a channel may read now. If not, it gets a turn on its connection when a read has ended.
func (d *disk) enter(c *served) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.slow < maxSlow:
		d.unpark(c)
		return true
	case c.place == nil:
		c.place = d.parked.PushBack(c)
	}
	return false
}

// remove forgets a channel that does not want to read any more.
func (d *disk) remove(c *served) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unpark(c)
}

func (d *disk) unpark(c *served) {
	if c.place != nil {
		d.parked.Remove(c.place)
		c.place = nil
	}
}

// count says that a read has ended, or has become slow: it counts slow reads more or less, and gives turns to channels that may read
// now. If no read is slow, these are all: some may be on connections that do not take their turns.
func (d *disk) count(slow int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow += slow
	turns := maxSlow - d.slow
	if d.slow == 0 {
		turns = d.parked.Len()
	}
	for ; turns > 0 && d.parked.Len() > 0; turns-- {
		c := d.parked.Front().Value.(*served)
		d.unpark(c)
		c.link.turns.add(c)
	}
}

// relief replaces the goroutine that writes a connection while it waits for a slow read. Each writing goroutine has its own.
type relief struct {
	replace func() // starts another writing goroutine
	disk    *disk  // of the read
	timer   *time.Timer
}

// begin says that a read begins.
func (r *relief) begin(d *disk) {
	r.disk = d
	if r.timer != nil {
		r.timer.Reset(slowRead)
		return
	}
	r.timer = time.AfterFunc(slowRead, func() {
		r.disk.count(1)
		r.replace()
	})
}

// end says that the read has ended. It tells whether another goroutine writes the connection now.
func (r *relief) end() (replaced bool) {
	slow := 0
	if !r.timer.Stop() {
		slow = -1
		replaced = true
	}
	r.disk.count(slow) // also a read that was not slow lets another one follow
	return replaced
}
