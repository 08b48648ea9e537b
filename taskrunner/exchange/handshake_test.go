package exchange

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// answering is a connection to a host that has already sent all its answers.
type answering struct {
	net.Conn
	answer *bytes.Reader
	heard  bytes.Buffer
}

func (c *answering) Read(b []byte) (int, error)  { return c.answer.Read(b) }
func (c *answering) Write(b []byte) (int, error) { return c.heard.Write(b) }

// answered is the answer of a producers' host to a greeting.
func answered(version int, refusal string) []byte {
	b := binary.BigEndian.AppendUint16([]byte(magic), uint16(version))
	b = binary.BigEndian.AppendUint16(b, uint16(len(refusal)))
	return append(b, refusal...)
}

// TestAHostThatIsWelcomeIsNotSentAway would catch a job that fails on a busy machine: the host
// disconnects a peer, as if it were unknown, while it writes the answer to its greeting. The peer
// then takes the host for lost.
func TestAHostThatIsWelcomeIsNotSentAway(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		to      ids.HostID
		refused bool
	}{"welcome": {"a", false}, "refused": {"c", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := NewBubble()
				door := doorstep.New(p)
				go func() { // ends with the door
					for conn, err := door.Accept(); err == nil; conn, err = door.Accept() {
						go func() { // ends with the connection
							if _, err := welcome(conn, forHost("j", "a")); err != nil {
								conn.Close()
							}
						}()
					}
				}()
				dial := func() net.Conn {
					near, far := net.Pipe()
					t.Cleanup(func() { near.Close() })
					go func() {
						select {
						case p.conns <- far:
						case <-p.closed:
						}
					}()
					return near
				}
				host := dial()
				if _, err := host.Write(hello(t, greeting{jobgraph.ProtocolVersion, "j", "b", test.to})); err != nil {
					t.Fatal(err)
				}
				for range 3 * doorstep.Places {
					dial()
				}
				time.Sleep(time.Minute)
				answer := make([]byte, len(answered(jobgraph.ProtocolVersion, "")))
				if _, err := io.ReadFull(host, answer); (err != nil) != test.refused {
					t.Errorf("the host reads %x, %v", answer, err)
				}
				p.Close()
			})
		})
	}
}

// FuzzGreet answers a greeting with random bytes. It would catch a consumer's host that takes a
// refusal for a welcome, takes frames for a part of the answer, or drops the reason of a refusal.
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
		case err != nil && !errors.Is(err, errProtocol) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			t.Errorf("%x is %v, neither a fault nor the connection's end", says, err)
		}
	})
}
