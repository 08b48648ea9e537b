package sasl

// sequence numbers the messages of one direction.
type sequence struct {
	first uint32
	count uint64 // of messages so far
}

// maxMessages is the maximum number of messages under one key. Numbers have 32 bits. With
// a repeated number, an old message could pass for a new one.
const maxMessages = 1 << 32

// next returns the number of the next message.
func (s *sequence) next() (uint32, error) {
	if s.count == maxMessages {
		return 0, ErrExhausted
	}
	return s.first + uint32(s.count), nil
}

// advance moves to the following number.
func (s *sequence) advance() { s.count++ }
