package exchange

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// A connection begins with one greeting each way; the consumer's comes first:
//
//	┌────────┬─────────────┬───────────┬─────┬─────────────┬──────┬──────────┬────┐
//	│ "BOBX" │ version u16 │ length u8 │ job │ length u8   │ from │ length u8│ to │
//	└────────┴─────────────┴───────────┴─────┴─────────────┴──────┴──────────┴────┘
//	┌────────┬─────────────┬────────────┬─────────┐
//	│ "BOBX" │ version u16 │ length u16 │ refusal │   empty: welcome
//	└────────┴─────────────┴────────────┴─────────┘
//
// Before that, TLS has proved the identity of the peer, and the tls.Config has checked it. The
// greeting detects other builds, other jobs, and a host that got the port of an earlier one.
const magic = "BOBX"

// handshakeTimeout bounds how long a consumer's host may take to identify itself, 10 s. A host
// whose process was stopped meanwhile connects again.
const handshakeTimeout = 10 * time.Second

// maxRefusal bounds a refusal's text, in bytes.
const maxRefusal = 512

var errRefused = errors.New("connection refused by the other host")

// greeting is the first message of a consumer's host.
type greeting struct {
	version  int
	job      ids.JobID
	from, to ids.HostID
}

func (g greeting) append(to []byte) ([]byte, error) {
	to = append(to, magic...)
	to = binary.BigEndian.AppendUint16(to, uint16(g.version))
	for _, text := range []string{string(g.job), string(g.from), string(g.to)} {
		if len(text) > 255 {
			return nil, fmt.Errorf("greet with id %q: longer than 255 bytes", text)
		}
		to = append(to, byte(len(text)))
		to = append(to, text...)
	}
	return to, nil
}

func readGreeting(r io.Reader) (greeting, error) {
	version, err := readPreamble(r)
	if err != nil || version != jobgraph.ProtocolVersion { // another version may have another format
		return greeting{version: version}, err
	}
	var texts [3]string
	for i := range texts {
		var length [1]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return greeting{}, err
		}
		text := make([]byte, length[0])
		if _, err := io.ReadFull(r, text); err != nil {
			return greeting{}, err
		}
		texts[i] = string(text)
	}
	return greeting{version, ids.JobID(texts[0]), ids.HostID(texts[1]), ids.HostID(texts[2])}, nil
}

// readPreamble reads the common start of both greetings.
func readPreamble(r io.Reader) (version int, err error) {
	var raw [len(magic) + 2]byte
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return 0, err
	}
	if string(raw[:len(magic)]) != magic {
		guess := ""
		if raw[0] == 0x16 { // RFC 8446 §5.1, handshake record
			guess = " (the other host speaks TLS, and this host does not)"
		}
		return 0, fmt.Errorf("greeting begins with %q, want %q%s: %w", raw[:len(magic)], magic, guess, errProtocol)
	}
	return int(binary.BigEndian.Uint16(raw[len(magic):])), nil
}

// greet is the consumer's side of the greeting.
func greet(conn net.Conn, g greeting) error {
	hello, err := g.append(nil)
	if err != nil {
		return err
	}
	if _, err := conn.Write(hello); err != nil {
		return fmt.Errorf("send greeting: %w", err)
	}
	version, err := readPreamble(conn)
	if err != nil {
		return fmt.Errorf("read answer to greeting: %w", err)
	}
	var length [2]byte
	if _, err := io.ReadFull(conn, length[:]); err != nil {
		return fmt.Errorf("read answer to greeting: %w", err)
	}
	size := binary.BigEndian.Uint16(length[:])
	if size > maxRefusal {
		return fmt.Errorf("read answer to greeting: refusal of %d bytes: %w", size, errProtocol)
	}
	refusal := make([]byte, size)
	if _, err := io.ReadFull(conn, refusal); err != nil {
		return fmt.Errorf("read answer to greeting: %w", err)
	}
	switch {
	case size > 0:
		return fmt.Errorf("%w, which speaks protocol version %d: %w", errRefused, version, said(string(refusal)))
	case version != jobgraph.ProtocolVersion: // a host of this version would have refused
		return fmt.Errorf("read answer to greeting: it has protocol version %d, want %d: %w", version, jobgraph.ProtocolVersion, errProtocol)
	}
	return nil
}

// welcome answers a greeting. refuse says why its sender is not welcome, or "". It tells the
// doorstep that the peer is known before it writes the answer, because after the answer the peer
// relies on the connection.
func welcome(conn net.Conn, refuse func(greeting) string) (greeting, error) {
	g, err := readGreeting(conn)
	if err != nil {
		return g, fmt.Errorf("read greeting: %w", err)
	}
	refusal := fmt.Sprintf("protocol version %d, want %d; build the program and bobbin with the same version of the SDK", g.version, jobgraph.ProtocolVersion)
	if g.version == jobgraph.ProtocolVersion {
		refusal = refuse(g)
	}
	if refusal == "" {
		doorstep.Prove(conn)
	}
	refusal = refusal[:min(len(refusal), maxRefusal)]
	answer := binary.BigEndian.AppendUint16([]byte(magic), jobgraph.ProtocolVersion)
	answer = binary.BigEndian.AppendUint16(answer, uint16(len(refusal)))
	if _, err := conn.Write(append(answer, refusal...)); err != nil {
		return g, fmt.Errorf("answer greeting: %w", err)
	}
	if refusal != "" {
		return g, fmt.Errorf("greeting of host %s: %s", g.from, refusal)
	}
	return g, nil
}

// forHost refuses greetings for another job or another host.
func forHost(job ids.JobID, host ids.HostID) func(greeting) string {
	return func(g greeting) string {
		switch {
		case g.job != job:
			return fmt.Sprintf("this host runs job %s, not %s", job, g.job)
		case g.to != host:
			return notThisHost(host, g)
		}
		return ""
	}
}

func notThisHost(host ids.HostID, g greeting) string {
	return fmt.Sprintf("this is host %s, not %s", host, g.to)
}
