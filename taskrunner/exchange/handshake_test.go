package exchange

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// answering is a connection to a host that has said all that it will.
type answering struct {
	net.Conn
	answer *bytes.Reader
	heard  bytes.Buffer
}

func (c *answering) Read(b []byte) (int, error)  { return c.answer.Read(b) }
func (c *answering) Write(b []byte) (int, error) { return c.heard.Write(b) }

// answered is what a producers' host answers a greeting with.
func answered(version int, refusal string) []byte {
	b := binary.BigEndian.AppendUint16([]byte(magic), uint16(version))
	b = binary.BigEndian.AppendUint16(b, uint16(len(refusal)))
	return append(b, refusal...)
}

// FuzzGreet has the other host answer a greeting with anything. It would catch a consumer's host that feels welcome where it
// is not, that takes frames for a part of the answer, and that passes over why it was refused.
func FuzzGreet(f *testing.F) {
	const version, head = jobgraph.ProtocolVersion, len(magic) + 4
	welcomed := answered(version, "")
	for _, says := range [][]byte{
		nil, welcomed, welcomed[:head-1], append(welcomed[:head:head], frame(frameData, 0, 0, 1, 'x')...), answered(version+1, ""),
		answered(version, "this host runs job k, not j"), answered(version+1, strings.Repeat("x", maxRefusal)), answered(version, strings.Repeat("x", maxRefusal+1)),
		answered(version, "cut short")[:head+3], []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
		{0x16, 3, 3, 0, 7, 2, 0, 0},
	} {
		f.Add(says)
	}
	f.Fuzz(func(t *testing.T, says []byte) {
		g := greeting{version, "j", "a", "b"}
		conn := &answering{answer: bytes.NewReader(says)}
		err := greet(conn, g)
		if !bytes.Equal(conn.heard.Bytes(), hello(t, g)) {
			t.Errorf("the other host hears %x", conn.heard.Bytes())
		}
		read := says[:len(says)-conn.answer.Len()]
		welcome := bytes.HasPrefix(says, welcomed)
		switch {
		case welcome != (err == nil), welcome && len(read) != head:
			t.Errorf("%x is %v after %d bytes", says, err, len(read))
		case errors.Is(err, errRefused):
			refusal := read[min(head, len(read)):]
			if len(refusal) == 0 || len(refusal) > maxRefusal || int(binary.BigEndian.Uint16(read[head-2:])) != len(refusal) || !strings.HasSuffix(err.Error(), string(refusal)) {
				t.Errorf("%x is read as %v", read, err)
			}
		case err != nil && !errors.Is(err, ErrProtocol) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Errorf("%x is %v, neither a fault nor the connection's end", says, err)
		}
	})
}
