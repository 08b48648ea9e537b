package exchange

import (
	"slices"
	"sync"
)

// incoming is the consuming end of a channel over a connection: the buffers that have arrived for
// the task, and the messages for the producer.
type incoming struct {
	link    *dialedLink
	channel *inputChannel
	id      uint32 // on the connection; set by the link before anything is sent

	mu      sync.Mutex // guards all below; only leaves are locked under it
	quota   quota      // granted + arrived + the buffer that the task reads
	granted int        // credits that the producer has not used
	untold  int        // granted credits that were not sent yet
	backlog int        // the producer's waiting buffers when it last sent
	arrived []*buffer
	opened  bool // frameOpen was sent
	flows   bool // data has come
	ended   bool // frameEnd or frameFail came: nothing follows
	closed  bool // the task needs no more, or everything has arrived
	said    bool // frameRelease was sent
	err     error
}

// grant gives the producer credit for its waiting buffers and some more, as far as the quota allows. Once half of what the producer may
// send is news to it, grant asks for a turn to tell: a message for each buffer would cost both ends as much as the buffer.
func (in *incoming) grant() {
	ahead := 1
	if _, many := in.quota.pool.spare(); in.flows && many > 0 { // thousands of channels may have no data, and each would keep what it was given
		ahead = fewPerChannel
	}
	for in.granted < in.backlog+ahead && !in.closed && in.quota.take() {
		in.granted++
		in.untold++
	}
	if in.untold > 0 && 2*in.untold >= in.granted {
		in.link.turns.add(in)
	}
}

// start asks for a first turn, to open the channel.
func (in *incoming) start() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.grant()
}

// prepare implements endpoint.
func (in *incoming) prepare(*relief) bool { return false }

// produce writes the frames for the producer.
func (in *incoming) produce(w *frameWriter) (more bool, err error) {
	in.mu.Lock()
	credits := in.untold
	in.untold = 0
	open, release := !in.opened, in.closed && !in.said
	in.opened = true
	in.said = in.said || release
	over := in.said && in.ended
	in.mu.Unlock()

	switch {
	case open:
		var raw [openSize]byte
		payload := appendOpen(raw[:0], in.channel.producer.Partition, in.channel.producer.Channel)
		err = writeFrame(w, header{kind: frameOpen, channel: in.id, count: uint16(credits)}, payload)
	case credits > 0 && !release:
		err = writeFrame(w, header{kind: frameCredit, channel: in.id, count: uint16(credits)}, nil)
	}
	if err == nil && release {
		err = writeFrame(w, header{kind: frameRelease, channel: in.id}, nil)
	}
	if over {
		in.link.forget(in.id)
	}
	return false, err
}

// expect uses one credit for an arriving buffer. It gives a buffer to read into, or nil if the
// buffer is not needed any more.
func (in *incoming) expect() (*buffer, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.ended:
		return nil, errAfterEnd
	case in.closed:
		return nil, nil
	case in.granted == 0:
		return nil, errNoCredit
	}
	in.granted--
	return in.quota.pool.get(), nil
}

// deliver queues a buffer from expect that has been filled. While the producer sends more in any case, the task is not woken up for each.
func (in *incoming) deliver(b *buffer, backlog int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		in.drop(b)
		return
	}
	in.arrived = append(in.arrived, b)
	in.backlog, in.flows = backlog, true
	in.grant()
	if backlog == 0 || in.granted == 0 || len(in.arrived) >= wakeAt {
		in.channel.notify()
	}
}

// finish handles the producer's last frame: the end (nil), or the error of a failure.
func (in *incoming) finish(err error) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return errAfterEnd
	}
	in.ended = true
	in.err = err
	in.shut()
	in.channel.notify()
	in.link.turns.add(in)
	return nil
}

// refused says that the channel was not added to its connection, so no frame is sent for it.
func (in *incoming) refused(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.err = true, err
	in.channel.notify()
}

// lost says that the connection has ended. The task can still read a channel whose data has all
// arrived.
func (in *incoming) lost(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.ended && in.err == nil {
		in.err = err
		in.channel.notify()
	}
}

// shut takes back unused credit, because no more data comes.
func (in *incoming) shut() {
	in.closed = true
	in.quota.give(in.granted)
	in.granted, in.untold = 0, 0
}

func (in *incoming) take() (delivery, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err != nil {
		return delivery{}, in.err
	}
	if len(in.arrived) == 0 {
		return delivery{end: in.ended}, nil
	}
	b := in.arrived[0]
	in.arrived = slices.Delete(in.arrived, 0, 1) // of at most maxPerChannel
	return delivery{buffer: b, backlog: len(in.arrived)}, nil
}

func (in *incoming) usage() (u channelUsage, own bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return channelUsage{queued: len(in.arrived), held: in.quota.held - in.granted, floating: in.quota.floating(), over: in.closed}, true
}

func (in *incoming) recycle(b *buffer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.drop(b)
	in.grant()
}

// abandon takes back a buffer from expect that could not be filled.
func (in *incoming) abandon(b *buffer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.drop(b)
}

func (in *incoming) drop(buffers ...*buffer) {
	for _, b := range buffers {
		in.quota.pool.put(b)
	}
	in.quota.give(len(buffers))
}

// close drops the arrived buffers and tells the producer to stop.
func (in *incoming) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.drop(in.arrived...)
	in.arrived = nil
	if !in.closed {
		in.shut()
		in.link.turns.add(in)
	}
}
