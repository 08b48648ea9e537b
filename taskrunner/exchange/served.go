package exchange

import (
	"container/list"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// A block of a file fits into a buffer, and its records are no larger.
const (
	_ = uint(maxPayload - partition.MaxBlock)
	_ = uint(MaxRecord - partition.MaxRecord)
)

// servedState says what a channel waits for.
type servedState int

const (
	servedIdle    servedState = iota // credit, or its disk
	servedReading                    // a read
	servedReady                      // the connection's writer
	servedResting                    // the end of the pause after a fault
	servedOver                       // nothing: its last frame is written, or the connection has ended
)

// served is one channel of a finished partition, at the Server.
type served struct {
	link      *servedLink
	id        uint32 // on the connection
	partition PartitionID
	channel   int
	refused   bool // there is no room for it: it only waits for the frame that says so

	place  *list.Element // in disk.parked, or nil; the disk's mutex guards it
	faults int           // reads in a row that have failed; for the connection's writer only

	// For the reading goroutine only:
	begun  bool // cursor is set
	cursor partition.Cursor

	mu       sync.Mutex // guards all below; the shelf, disks and turns are locked under it
	state    servedState
	disk     *disk // of the last read, or nil
	credits  int
	released bool    // frameRelease came
	fetched  fetched // if state is servedReady
}

// fetched is the outcome of a read.
type fetched struct {
	block *buffer // nil: no records
	over  bool    // nothing follows
	err   error
}

// prepare reads the next block, if the channel wants one. The writer of its connection calls it before produce. After a slow read
// another goroutine writes the connection, and the channel has a turn there.
func (c *served) prepare(r *relief) (replaced bool) {
	d, credit := c.begin()
	if d == nil {
		return false
	}
	s := c.link.server
	s.reading.Add(1)
	defer s.reading.Done()
	b := s.blocks.Get().(*buffer)
	r.begin(d)
	n, over, err := c.read(credit, b)
	replaced = r.end()
	if n == 0 || err != nil {
		s.blocks.Put(b)
		b = nil
	}
	c.end(fetched{b, over, err})
	if replaced {
		c.link.turns.add(c)
	}
	return replaced
}

// begin gives the disk if a read begins. The first read needs no credit, because the subpartition may be empty.
func (c *served) begin() (d *disk, credit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state != servedIdle || c.released || c.begun && c.credits == 0 {
		return nil, false
	}
	d, err := c.link.server.shelf.diskOf(c.link.job, c.partition)
	if err != nil {
		c.state, c.fetched = servedReady, fetched{err: err}
		return nil, false
	}
	if c.disk != d { // the file has moved
		c.leave()
		c.disk = d
	}
	if !d.enter(c) {
		return nil, false
	}
	c.state = servedReading
	return d, c.credits > 0
}

// end ends a read. Nothing is left of it if the channel has ended meanwhile.
func (c *served) end(f fetched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == servedOver:
		c.drop(f)
	case f == fetched{}: // there was no credit
		c.state = servedIdle
	default:
		c.state, c.fetched = servedReady, f
	}
}

// read reads the next records into a buffer, if there is credit. over tells whether nothing follows.
func (c *served) read(credit bool, b *buffer) (n int, over bool, err error) {
	s := c.link.server
	v, err := s.shelf.borrow(c.link.job, c.partition)
	if err != nil {
		return 0, false, err
	}
	defer s.shelf.giveBack(v)
	if !c.begun {
		if c.cursor, err = v.file.Cursor(c.channel); err != nil {
			return 0, false, err
		}
		c.begun = true
	}
	if credit && !c.cursor.Done() {
		room := s.rooms.Get().(*partition.Room)
		defer s.rooms.Put(room)
		n, err = v.file.Read(&c.cursor, b.data[headerSize:][:maxPayload], room)
		b.end = headerSize + n
	}
	return n, c.cursor.Done(), err
}

// produce writes what was read, or the channel's end.
func (c *served) produce(w *frameWriter) (more bool, err error) {
	f, write := c.take()
	defer c.drop(f) // after w has the data
	switch {
	case !write:
		return false, nil
	case f.err != nil:
		return false, c.failed(w, f.err)
	}
	c.faults = 0
	if f.block != nil {
		backlog := maxPerChannel - 1
		if f.over {
			backlog = 0
		}
		err = writeData(w, c.id, f.block, backlog)
	}
	if err != nil || !f.over {
		return err == nil, err
	}
	c.link.drop(c)
	return false, writeFrame(w, header{kind: frameEnd, channel: c.id}, nil)
}

// take decides what to write now.
func (c *served) take() (f fetched, write bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released && c.state != servedOver {
		c.drop(c.fetched)
		c.state, c.fetched = servedReady, fetched{over: true}
	}
	if c.state != servedReady {
		return fetched{}, false
	}
	f, c.fetched = c.fetched, fetched{}
	if f.block != nil {
		c.credits--
	}
	switch {
	case f.err != nil:
		c.state = servedResting
	case f.over:
		c.state = servedOver
	default:
		c.state = servedIdle
	}
	return f, true
}

// drop ends the use of what was read.
func (c *served) drop(f fetched) {
	if f.block != nil {
		c.link.server.blocks.Put(f.block)
	}
}

// failed tries again after a pause, or writes why the channel ends. The others on the connection go on.
func (c *served) failed(w *frameWriter, err error) error {
	c.faults++
	kind, again := verdict(err, c.faults)
	if again {
		time.AfterFunc(faultPause, c.resume)
		return nil
	}
	c.mu.Lock()
	c.state = servedOver
	c.mu.Unlock()
	c.link.drop(c)
	return writeFailure(w, kind, c.id, err)
}

// resume ends the pause after a fault.
func (c *served) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == servedResting {
		c.state = servedIdle
		c.link.turns.add(c)
	}
}

// credit allows so many more buffers.
func (c *served) credit(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.credits += n
	c.link.turns.add(c)
}

// release handles the consumer's last frame.
func (c *served) release() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return errAfterEnd
	}
	c.released = true
	c.leave()
	c.link.turns.add(c) // the writer answers with the end
	return nil
}

// leave waits for the disk no more.
func (c *served) leave() {
	if c.disk != nil {
		c.disk.remove(c)
	}
}

// lost implements endpoint. Nothing waits for the consumer.
func (c *served) lost(error) {
	c.mu.Lock()
	c.state = servedOver
	c.leave()
	c.mu.Unlock()
	c.link.server.guests.shut(c.link.job, c.refused)
}
