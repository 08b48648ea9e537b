package exchange

import (
	"sync"
)

// outgoing is the producing end of a channel over a connection. It takes the buffers of a
// subpartition when the consumer has given credit.
type outgoing struct {
	link *acceptedLink
	id   uint32 // on the connection

	mu       sync.Mutex // guards all below; held while the subpartition is locked
	from     *subpartition
	refusal  error // why from is nil
	credits  int
	ended    bool  // frameEnd or frameFail was sent
	released bool  // frameRelease came
	gone     error // why the connection has ended
}

// notify makes the connection's writer look at this channel.
func (o *outgoing) notify() { o.link.turns.add(o) }

func (o *outgoing) attach(s *subpartition) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.released:
		s.release()
		return
	case o.gone != nil:
		s.partition.Fail(o.gone)
		return
	}
	if o.refusal = s.attach(o); o.refusal == nil {
		o.from = s
	}
	o.notify()
}

func (o *outgoing) refuse(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refusal = err
	o.notify()
}

// prepare implements endpoint.
func (o *outgoing) prepare(*relief) bool { return false }

// produce writes one frame: a buffer, or the channel's end.
func (o *outgoing) produce(w *frameWriter) (more bool, err error) {
	d, err := o.next()
	switch {
	case err != nil:
		err = writeFailure(w, frameFail, o.id, err)
	case d.end:
		err = writeFrame(w, header{kind: frameEnd, channel: o.id}, nil)
	case d.buffer != nil:
		err = writeData(w, o.id, d.buffer, d.backlog)
		o.from.recycle(d.buffer)
		more = true
	}
	return more, err
}

// next decides what to send now.
func (o *outgoing) next() (d delivery, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ended:
		return delivery{}, nil
	case o.released:
		d.end = true
	case o.refusal != nil:
		err = o.refusal
	case o.from != nil:
		d, err = o.from.take(o.credits > 0)
	}
	if d.buffer != nil {
		o.credits--
	}
	if d.end || err != nil {
		o.ended = true
		if o.released {
			o.link.forget(o.id)
		}
	}
	return d, err
}

func (o *outgoing) credit(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.credits += n
	o.notify()
}

// release handles the consumer's last frame.
func (o *outgoing) release() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.released {
		return errAfterEnd
	}
	o.released = true
	if o.from != nil {
		o.from.release()
	}
	if o.ended {
		o.link.forget(o.id)
	} else {
		o.notify() // the writer answers with the end
	}
	return nil
}

// lost says that the connection has ended. The producing task fails unless the consumer has
// released the channel.
func (o *outgoing) lost(err error) {
	o.mu.Lock()
	o.gone = err
	from, released := o.from, o.released
	o.mu.Unlock()
	if from != nil && !released {
		from.partition.Fail(err)
	}
}
