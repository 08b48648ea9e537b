package exchange

import "sync"

// localSource reads a subpartition of the same host. The gate takes the producer's own buffers, one
// at a time, and returns them after reading. So the producer's quota bounds the channel, as credit
// does between hosts.
type localSource struct {
	channel *inputChannel

	mu     sync.Mutex // guards all below; held while the subpartition is locked
	from   *subpartition
	err    error
	closed bool
}

func (l *localSource) attach(s *subpartition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		s.release()
		return
	}
	if l.err = s.attach(l.channel); l.err == nil {
		l.from = s
	}
	l.channel.notify()
}

func (l *localSource) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	l.channel.notify()
}

func (l *localSource) take() (delivery, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from == nil {
		return delivery{}, l.err
	}
	d, err := l.from.take(true)
	if d.end {
		l.from.release()
	}
	return d, err
}

func (l *localSource) usage() (u channelUsage, own bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.from == nil {
		return channelUsage{}, false
	}
	return channelUsage{queued: l.from.usage().queued}, false
}

func (l *localSource) recycle(b *buffer) { l.from.recycle(b) }

func (l *localSource) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.from != nil {
		l.from.release()
	}
}
