package capture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
)

// maxFrame is larger than loopback's segments of 64 KiB with their headers.
const maxFrame = 256 << 10

// Pattern is a text to search for.
type Pattern struct {
	Name string // its name in results
	Text []byte
}

// leastSecret is the length in bytes from which a secret does not occur by accident.
const leastSecret = 8

// Secret returns the patterns of a secret's encodings: the bytes themselves, hexadecimal, and base64 at any place in a
// longer text. A secret of fewer than 8 bytes is an error, because it would occur by accident.
func Secret(name string, secret []byte) ([]Pattern, error) {
	if len(secret) < leastSecret {
		return nil, fmt.Errorf("secret %s has only %d bytes, too few to search for", name, len(secret))
	}
	lower := hex.AppendEncode(nil, secret)
	patterns := []Pattern{{name, secret}, {name + " in hexadecimal", lower}, {name + " in hexadecimal", bytes.ToUpper(lower)}}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // offset in the three bytes that four characters hold
			text := encoding.AppendEncode(nil, append(make([]byte, before), secret...))
			// Without the characters that also hold bits of other bytes.
			text = text[(before*8+5)/6 : (before+len(secret))*8/6]
			patterns = append(patterns, Pattern{name + " in base64", text})
		}
	}
	return patterns, nil
}

// Found is the result of a search.
type Found struct {
	Frames int                      // all frames of the recording
	Bytes  int64                    // bytes of TCP connections, without headers
	To     map[netip.AddrPort]int64 // the same by their destination
	// Places says for each pattern where it was found first. It has no entry for a pattern that was not found.
	Places map[string]string
}

// Search searches a recording: Ethernet frames, each after its length in four bytes. It also finds a pattern that two
// segments of a connection divide.
func Search(recording io.Reader, patterns []Pattern) (Found, error) {
	s := search{
		byStart: make(map[uint16][]Pattern), tails: make(map[connection][]byte),
		found: Found{To: make(map[netip.AddrPort]int64), Places: make(map[string]string)},
	}
	for _, p := range patterns {
		if len(p.Text) < 2 {
			return Found{}, fmt.Errorf("pattern %s has only %d bytes, too few to search for", p.Name, len(p.Text))
		}
		start := startOf(p.Text)
		s.begins[start] = true
		s.byStart[start] = append(s.byStart[start], p)
		s.tail = max(s.tail, len(p.Text)-1)
	}
	frame := make([]byte, maxFrame)
	for {
		var length [4]byte
		if _, err := io.ReadFull(recording, length[:]); errors.Is(err, io.EOF) {
			return s.found, nil
		} else if err != nil {
			return Found{}, fmt.Errorf("read recording: %w", err)
		}
		n := int(binary.BigEndian.Uint32(length[:]))
		if n > maxFrame {
			return Found{}, fmt.Errorf("read recording: a frame of %d bytes", n)
		}
		if _, err := io.ReadFull(recording, frame[:n]); err != nil {
			return Found{}, fmt.Errorf("read recording: %w", err)
		}
		s.found.Frames++
		s.look(frame[:n])
	}
}

// connection is one direction of a TCP connection.
type connection struct{ from, to netip.AddrPort }

// search reads the data once for all patterns, because a secret has nine patterns and a job sends megabytes.
type search struct {
	begins  [1 << 16]bool         // the first two bytes of a pattern
	byStart map[uint16][]Pattern  // patterns by their first two bytes
	tail    int                   // number of last bytes that may begin a pattern which the next segment completes
	tails   map[connection][]byte // the last such bytes of each connection
	text    []byte                // a tail with the bytes after it; kept to reuse its memory
	found   Found
}

func startOf(text []byte) uint16 { return binary.BigEndian.Uint16(text) }

func (s *search) look(frame []byte) {
	at, payload, closes, ok := segment(frame)
	if !ok { // not TCP: there is no stream to assemble
		s.match(frame, "a frame that is not TCP")
		return
	}
	s.found.Bytes += int64(len(payload))
	s.found.To[at.to] += int64(len(payload))
	if len(payload) > 0 {
		s.text = append(append(s.text[:0], s.tails[at]...), payload...)
		s.match(s.text, fmt.Sprintf("from %s to %s", at.from, at.to))
		s.tails[at] = append(s.tails[at][:0], s.text[max(0, len(s.text)-s.tail):]...)
	}
	if closes { // another connection may use its ports next
		delete(s.tails, at)
	}
}

func (s *search) match(text []byte, where string) {
	for ; len(text) > 1; text = text[1:] {
		start := startOf(text)
		if !s.begins[start] {
			continue
		}
		for _, p := range s.byStart[start] {
			if _, known := s.found.Places[p.Name]; !known && bytes.HasPrefix(text, p.Text) {
				s.found.Places[p.Name] = where
			}
		}
	}
}

// segment parses a frame: Ethernet (14 bytes), IPv4 (RFC 791 §3.1) or IPv6 without extensions (RFC 8200 §3), TCP (RFC
// 9293 §3.1).
func segment(frame []byte) (at connection, payload []byte, closes, ok bool) {
	const ethernet, protocolTCP = 14, 6
	if len(frame) < ethernet+20 {
		return at, nil, false, false
	}
	ip := frame[ethernet:]
	var from, to netip.Addr
	var tcp []byte
	switch binary.BigEndian.Uint16(frame[12:]) {
	case 0x0800:
		header, total := int(ip[0]&0x0f)*4, int(binary.BigEndian.Uint16(ip[2:]))
		if total == 0 { // longer than the length field can say
			total = len(ip)
		}
		if ip[9] != protocolTCP || header < 20 || total < header || total > len(ip) {
			return at, nil, false, false
		}
		from, to = netip.AddrFrom4([4]byte(ip[12:])), netip.AddrFrom4([4]byte(ip[16:]))
		tcp = ip[header:total]
	case 0x86dd:
		const header = 40
		if len(ip) < header || ip[6] != protocolTCP {
			return at, nil, false, false
		}
		from, to = netip.AddrFrom16([16]byte(ip[8:])), netip.AddrFrom16([16]byte(ip[24:]))
		tcp = ip[header:]
	default:
		return at, nil, false, false
	}
	if len(tcp) < 20 {
		return at, nil, false, false
	}
	data := int(tcp[12]>>4) * 4
	if data < 20 || data > len(tcp) {
		return at, nil, false, false
	}
	at = connection{netip.AddrPortFrom(from, binary.BigEndian.Uint16(tcp)), netip.AddrPortFrom(to, binary.BigEndian.Uint16(tcp[2:]))}
	const fin, rst = 1, 4
	return at, tcp[data:], tcp[13]&(fin|rst) != 0, true
}
