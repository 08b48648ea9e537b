package exchange

import (
	"bufio"
	"io"
)

// readAhead is what an intake reads ahead, in bytes. Larger payloads bypass it.
const readAhead = 4 << 10

// intake reads frames from a connection. Small frames come many at a time through the bufio.Reader. A large payload goes from the
// connection into its buffer, with the header of the next frame: so a stream of full buffers costs one read for each, and no copy.
type intake struct {
	*bufio.Reader
	below *below
}

func newIntake(conn io.Reader) *intake {
	b := &below{conn: conn}
	return &intake{bufio.NewReaderSize(b, readAhead), b}
}

// payload reads length bytes, the payload of a frame, into an empty buffer. length is at most maxPayload.
func (in *intake) payload(b *buffer, length int) error {
	b.end = headerSize + length
	to := b.payload()
	if have := in.Buffered(); length-have >= readAhead {
		if _, err := io.ReadFull(in, to[:have]); err != nil {
			return err
		}
		return in.below.readWith(to[have:], b.data[b.end:][:headerSize])
	}
	_, err := io.ReadFull(in, to)
	return err
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
