package exchange

import (
	"bufio"
	"fmt"
	"io"
)

// readAhead is what an intake reads ahead, in bytes. Larger payloads bypass it.
const readAhead = 4 << 10

// intake reads frames from a connection. Small frames come many at a time through the bufio.Reader. A large payload goes from the
// connection into its buffer, with the header of the next frame: so a stream of full buffers costs one read for each, and no copy.
type intake struct {
	*bufio.Reader
	below  *below
	checks bool // frames have a check
}

func newIntake(conn io.Reader) *intake {
	b := &below{conn: conn}
	return &intake{bufio.NewReaderSize(b, readAhead), b, isPlain(conn)}
}

// payload reads the payload of a data frame into an empty buffer. Its length is at most maxPayload.
func (in *intake) payload(b *buffer, h header) error {
	b.end = headerSize + h.length
	if err := in.fill(b); err != nil {
		return fmt.Errorf("buffer of %d bytes cut short: %w", h.length, err)
	}
	if in.checks {
		return h.verify(b.payload())
	}
	return nil
}

func (in *intake) fill(b *buffer) error {
	to := b.payload()
	if have := in.Buffered(); len(to)-have >= readAhead {
		if _, err := io.ReadFull(in, to[:have]); err != nil {
			return err
		}
		return in.below.readWith(to[have:], b.data[b.end:][:headerSize])
	}
	_, err := io.ReadFull(in, to)
	return err
}

// small reads the payload of another frame.
func (in *intake) small(h header) ([]byte, error) {
	payload := make([]byte, h.length)
	if _, err := io.ReadFull(in, payload); err != nil {
		return nil, err
	}
	if in.checks {
		return payload, h.verify(payload)
	}
	return payload, nil
}

// below is a connection below a bufio.Reader, with bytes that were read past it.
type below struct {
	conn  io.Reader
	extra [headerSize]byte
	from  int // extra[from:to] are those bytes
	to    int
}

// Read gives the bytes that were read too far, and then those of the connection.
func (b *below) Read(p []byte) (n int, err error) {
	if b.from == b.to {
		return b.conn.Read(p)
	}
	n = copy(p, b.extra[b.from:b.to])
	b.from += n
	return n, nil
}

// readWith fills p, and keeps what comes with it in the room behind p, which is a header's. There are no bytes that were read too
// far: the header of this frame came after them.
func (b *below) readWith(p, room []byte) error {
	n, err := io.ReadAtLeast(b.conn, p[:len(p)+len(room)], len(p))
	b.from, b.to = 0, copy(b.extra[:], room[:max(n-len(p), 0)])
	return err
}
