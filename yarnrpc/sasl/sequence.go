package sasl

// sequence numbers the messages of one direction.
type sequence struct {
	first uint32
	count uint64 // of those that have passed
}

// maxMessages is how many messages there can be under one key: their numbers are of 32
// bits, and one that came twice would let an old message pass for a new one.
const maxMessages = 1 << 32

// next gives the number of the message that is due.
func (s *sequence) next() (uint32, error) {
	if s.count == maxMessages {
		return 0, ErrExhausted
	}
	return s.first + uint32(s.count), nil
}

// advance goes on to the message after that.
func (s *sequence) advance() { s.count++ }
