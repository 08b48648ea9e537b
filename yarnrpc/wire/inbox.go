package wire

// Inbox cuts a stream of bytes, which come in pieces of any size, into frames. It takes
// memory as bytes come and not as lengths announce them. The zero value but for Limit is
// an Inbox; it is for one goroutine at a time.
type Inbox struct {
	// Limit bounds frames, in bytes without their length.
	Limit int

	bytes []byte // what has come; that before start is cut off
	start int
	full  bool // the last Room was
}

// How much an Inbox holds, in bytes: at first, at most for the sake of fewer reads, and
// at most after a longer frame has been cut off.
const (
	inboxFirst = 4 << 10
	inboxGrown = 64 << 10
	inboxKept  = 1 << 20
)

// Room gives where to put bytes that come, at least one; Came then says how many there
// are. What Next has given is overwritten.
func (in *Inbox) Room() []byte {
	if in.start == len(in.bytes) && cap(in.bytes) > inboxKept {
		in.bytes, in.start = nil, 0
	}
	if in.start > 0 { // to the front
		in.bytes, in.start = in.bytes[:copy(in.bytes, in.bytes[in.start:])], 0
	}
	if size := cap(in.bytes); len(in.bytes) == size || in.full && size < inboxGrown {
		in.bytes = append(make([]byte, 0, max(inboxFirst, 2*size)), in.bytes...)
	}
	return in.bytes[len(in.bytes):cap(in.bytes)]
}

// Came adds the first n bytes of the last Room.
func (in *Inbox) Came(n int) {
	in.bytes = in.bytes[:len(in.bytes)+n]
	in.full = len(in.bytes) == cap(in.bytes)
}

// Put adds bytes.
func (in *Inbox) Put(b []byte) {
	for len(b) > 0 {
		n := copy(in.Room(), b)
		in.Came(n)
		b = b[n:]
	}
}

// Next cuts off a frame, without its length, whose bytes are good until the next Room.
// It gives nil where the frame has not come in whole.
func (in *Inbox) Next() ([]byte, error) {
	waiting := in.bytes[in.start:]
	if len(waiting) < lengthSize {
		return nil, nil
	}
	length, err := frameLength(waiting, in.Limit)
	if err != nil || len(waiting)-lengthSize < length {
		return nil, err
	}
	in.start += lengthSize + length
	return waiting[lengthSize : lengthSize+length], nil
}

// Torn reports whether a frame has come in part.
func (in *Inbox) Torn() bool { return in.start < len(in.bytes) }
