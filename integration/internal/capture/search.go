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

// maxFrame is more than loopback's segments of 64 KiB have, with their headers.
const maxFrame = 256 << 10

// Pattern is something to look for.
type Pattern struct {
	Name string // what to call it where it is found
	Text []byte
}

// leastSecret is the length from which on a secret is not found by accident, in bytes.
const leastSecret = 8

// Secret gives the patterns by which a secret is found however it is written: as it is, in hexadecimal, and in base64
// wherever in a longer text it stands. One that is shorter than 8 bytes would be found everywhere and is an error.
func Secret(name string, secret []byte) ([]Pattern, error) {
	if len(secret) < leastSecret {
		return nil, fmt.Errorf("secret %s has only %d bytes, too few to search for", name, len(secret))
	}
	lower := hex.AppendEncode(nil, secret)
	patterns := []Pattern{{name, secret}, {name + " in hexadecimal", lower}, {name + " in hexadecimal", bytes.ToUpper(lower)}}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // bytes, of the three that four characters hold
			text := encoding.AppendEncode(nil, append(make([]byte, before), secret...))
			// Without the characters that hold bits of others.
			text = text[(before*8+5)/6 : (before+len(secret))*8/6]
			patterns = append(patterns, Pattern{name + " in base64", text})
		}
	}
	return patterns, nil
}

// Found is what a recording holds.
type Found struct {
	Frames int                      // all there are
	Bytes  int64                    // that have passed in TCP connections, without headers
	To     map[netip.AddrPort]int64 // the same by where they went
	// Places says of each pattern that has passed where it was seen first. Those that have not are absent.
	Places map[string]string
}

// Search looks through a recording: frames of Ethernet, each behind its length in four bytes. A pattern that one connection's
// segments tear apart is found, too.
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

// search reads what has passed once, however many patterns there are: a secret has nine, and a job brings megabytes.
type search struct {
	begins  [1 << 16]bool         // the two bytes that a pattern begins with
	byStart map[uint16][]Pattern  // patterns by these
	tail    int                   // bytes that the next segment may complete to a pattern
	tails   map[connection][]byte // the last such bytes of each
	text    []byte                // a tail with what follows it; kept for its memory
	found   Found
}

func startOf(text []byte) uint16 { return binary.BigEndian.Uint16(text) }

func (s *search) look(frame []byte) {
	at, payload, closes, ok := segment(frame)
	if !ok { // not TCP: there is nothing to put together
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
	if closes { // its ports may be another's next
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

// segment takes a frame apart: Ethernet (14 bytes), IPv4 (RFC 791 §3.1) or IPv6 without
// extensions (RFC 8200 §3), TCP (RFC 9293 §3.1).
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
		if total == 0 { // longer than the field can say
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
