package wire

// Inbox cuts a stream of bytes, which arrive in pieces of any size, into frames. It
// allocates memory for the bytes that have arrived, not for announced lengths. A zero
// Inbox with Limit set is ready to use. Only one goroutine at a time may use it.
type Inbox struct {
	// Limit bounds frames, in bytes without their length.
	Limit int

	bytes []byte // received bytes; those before start were returned
	start int
	full  bool // the last read has filled Room
}

// Sizes of an Inbox's buffer, in bytes. It begins with inboxFirst. If reads fill it, it grows up
// to inboxGrown, for fewer reads. For a long frame it grows further; when it is empty again, the
// Inbox drops it if it is larger than inboxKept.
const (
	inboxFirst = 4 << 10
	inboxGrown = 64 << 10
	inboxKept  = 1 << 20
)

// Room returns a buffer of at least one byte for arriving bytes. Call Came with their
// number afterwards. Room may overwrite frames that Next has returned.
func (in *Inbox) Room() []byte {
	if in.start == len(in.bytes) && cap(in.bytes) > inboxKept {
		in.bytes, in.start = nil, 0
	}
	if in.start > 0 { // move the rest to the front
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

// Next removes the next frame and returns it without its length. Its bytes are valid
// until the next Room. Next returns nil if the frame is not complete yet.
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

// Torn reports whether the Inbox holds a part of a frame.
func (in *Inbox) Torn() bool { return in.start < len(in.bytes) }
