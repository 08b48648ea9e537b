package exchange

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// subpartition is the producing end of one channel: the buffer that is being filled, and the full
// buffers that wait for the consumer. The producing task appends, and the consumer takes.
type subpartition struct {
	partition *ResultPartition
	channel   int  // of the partition
	offered   bool // to a consumer of this host; guarded by the registry's mutex

	// fill guards filling and its content. It is apart from mu, so that a task that adds record after record does not wait for the
	// consumer. It is locked before mu.
	fill    sync.Mutex
	filling *buffer // nil, or not empty; nil once finished, released or failed; changes only under both mutexes
	records int64   // that were added; guarded by fill

	mu       sync.Mutex // guards all below; only leaves are locked under it
	quota    quota
	full     []*buffer
	refillAt int  // of full: the task that waits for room goes on when no more are left
	flush    bool // there is a buffer being filled, and it may be sent as it is
	listed   bool // it is in the list of the partition to flush
	finished bool // no more records come
	released bool // the consumer needs no more
	err      error
	consumer consumer // nil until it attaches
	passed   Traffic  // before filling; its records count apart
}

// consumer takes the buffers of a subpartition.
type consumer interface {
	// notify says that there may be something to take. The caller holds the lock of the
	// subpartition, so notify must only leave a note.
	notify()
}

// delivery is the result of take: a buffer, the end, or nothing yet.
type delivery struct {
	buffer  *buffer
	backlog int // buffers that could be taken after this one
	end     bool
}

// drained makes a channel without data for a partition that has ended.
func drained(id PartitionID) *subpartition {
	p := &ResultPartition{id: id, ended: make(chan struct{})}
	close(p.ended)
	return &subpartition{partition: p, finished: true}
}

// append adds a record. It blocks while the quota of the subpartition is used up.
func (s *subpartition) append(ctx context.Context, record []byte) error {
	s.fill.Lock()
	if b := s.filling; b != nil && b.room() >= 2*maxPrefix+len(record) { // then it is not full afterwards
		b.add(record)
		s.records++
		s.fill.Unlock() // not deferred: this is the way of nearly all records
		return nil
	}
	defer s.fill.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appendSpanning(ctx, record)
}

// lock locks all of the subpartition.
func (s *subpartition) lock() {
	s.fill.Lock()
	s.mu.Lock()
}

func (s *subpartition) unlock() {
	s.mu.Unlock()
	s.fill.Unlock()
}

// appendSpanning adds a record that may not fit into the buffer being filled, or if there is no
// such buffer. It unlocks the subpartition while it waits for room.
func (s *subpartition) appendSpanning(ctx context.Context, record []byte) error {
	b, err := s.reserve(ctx, maxPrefix)
	if b == nil {
		return err
	}
	b.addLength(len(record))
	for {
		n := copy(b.data[b.end:][:b.room()], record)
		b.end += n
		if record = record[n:]; len(record) == 0 {
			s.records++
			if b.room() < maxPrefix {
				s.seal()
			}
			return nil
		}
		if b, err = s.reserve(ctx, 1); b == nil {
			return err
		}
	}
}

// reserve gives the buffer to fill, with at least room bytes free. It gives no buffer and no error
// if the consumer needs no more.
func (s *subpartition) reserve(ctx context.Context, room int) (*buffer, error) {
	for {
		switch {
		case s.err != nil:
			return nil, s.err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case s.released:
			return nil, nil
		case s.finished:
			panic(fmt.Sprintf("exchange: record for finished partition %s", s.partition.id))
		case s.filling != nil && s.filling.room() >= room:
			return s.filling, nil
		case s.filling != nil:
			s.seal()
		case s.quota.take():
			s.filling = s.quota.pool.get()
			if !s.listed {
				s.listed = true
				s.partition.fills(s)
			}
			return s.filling, nil // it must not stay empty
		default:
			s.refillAt = len(s.full) / 2 // if the task went on for each buffer, it would be woken up for each
			s.unlock()
			err := s.partition.waitForRoom(ctx)
			s.lock()
			if err != nil {
				return nil, err
			}
		}
	}
}

// seal queues the buffer being filled. The subpartition is locked.
func (s *subpartition) seal() {
	s.passed.Bytes += int64(len(s.filling.payload()))
	s.passed.Buffers++
	s.full = append(s.full, s.filling)
	s.filling, s.flush = nil, false
	s.tell()
}

func (s *subpartition) tell() {
	if s.consumer != nil {
		s.consumer.notify()
	}
}

// requestFlush allows the consumer to take the buffer being filled. Until the consumer takes it,
// it is filled further.
func (s *subpartition) requestFlush() {
	s.lock()
	defer s.unlock()
	s.listed = false
	if s.filling != nil && !s.flush {
		s.flush = true
		s.tell()
	}
}

// finish says that no more records come.
func (s *subpartition) finish() {
	s.lock()
	defer s.unlock()
	if s.filling != nil {
		s.seal()
	}
	s.finished = true
	s.tell()
}

// attach makes c the consumer. It is an error if there is one already.
func (s *subpartition) attach(c consumer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.consumer != nil {
		return fmt.Errorf("attach to partition %s: it has a consumer already", s.partition.id)
	}
	s.consumer = c
	s.tell()
	return nil
}

// take gives the consumer the next buffer or the end. It gives a buffer only with credit. The
// consumer returns the buffer with recycle.
func (s *subpartition) take(credit bool) (delivery, error) {
	if credit && s.isFlushed() {
		s.sealFlushed()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return delivery{}, s.err
	case len(s.full) == 0 && s.finished:
		return delivery{end: true}, nil
	case !credit:
		return delivery{}, nil
	}
	if len(s.full) == 0 {
		return delivery{}, nil
	}
	b := s.full[0]
	s.full = slices.Delete(s.full, 0, 1) // of at most maxPerChannel
	return delivery{buffer: b, backlog: len(s.full)}, nil
}

// isFlushed tells whether the next buffer to take is the one being filled.
func (s *subpartition) isFlushed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush && len(s.full) == 0
}

func (s *subpartition) sealFlushed() {
	s.lock()
	defer s.unlock()
	if s.flush {
		s.seal()
	}
}

// recycle takes back a buffer that was sent or read. The task goes on if few full ones are left.
func (s *subpartition) recycle(b *buffer) {
	s.mu.Lock()
	s.drop(b)
	refill := len(s.full) <= s.refillAt
	s.mu.Unlock()
	if refill {
		s.partition.signalRoom()
	}
}

func (s *subpartition) drop(buffers ...*buffer) {
	for _, b := range buffers {
		s.quota.pool.put(b)
	}
	s.quota.give(len(buffers))
}

// release ends the channel from the consumer's side. It drops the queued buffers and all later
// records.
func (s *subpartition) release() {
	s.lock()
	first := !s.released
	s.released = true
	s.discard()
	s.unlock()
	if first {
		s.partition.channelReleased()
	}
}

// fail ends the channel from the producer's side.
func (s *subpartition) fail(err error) {
	s.lock()
	defer s.unlock()
	if s.err == nil && !s.released {
		s.err = err
		s.discard()
		s.tell()
	}
}

func (s *subpartition) discard() {
	s.drop(s.full...)
	s.full = nil
	if s.filling != nil {
		s.drop(s.filling)
		s.filling, s.flush = nil, false
	}
}

func (s *subpartition) traffic() Traffic {
	s.lock()
	defer s.unlock()
	passed := s.passed
	passed.Records = s.records
	if s.filling != nil {
		passed.Bytes += int64(len(s.filling.payload()))
	}
	return passed
}

// usage gives the buffers of the channel. The full ones wait for the consumer.
func (s *subpartition) usage() channelUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return channelUsage{queued: len(s.full), held: s.quota.held, floating: s.quota.floating(), over: s.finished || s.released || s.err != nil}
}
