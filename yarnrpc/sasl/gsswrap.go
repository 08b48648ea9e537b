package sasl

import (
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/types"
)

// A protected message, RFC 4121 §4.2.6.2:
//
//	auth-int    header: 16 │ message │ checksum(message │ header*)
//	auth-conf   header: 16 │ cipher(message │ filler │ header*)
//	header      05 04 │ flags │ FF │ extra: 2 │ rotation: 2 │ sequence: 8
//
// extra is the length of the checksum or of the filler. header* is the header with a rotation
// of 0 and, under auth-int, an extra of 0. The bytes after the header may be rotated to the
// right.
const (
	gssHeader    = 16
	flagAcceptor = 1 // sent by the server
	flagSealed   = 2
	flagSubkey   = 4 // protected with the key that the server chose
	gssOverhead  = gssHeader + confounder + gssHeader + maxMAC
	maxMAC       = 24
)

// gssLayer is the protection after a Kerberos login.
type gssLayer struct {
	send, receive gssHalf
	sealed        bool
	maxMessage    int
}

func (g *gssLayer) MaxMessage() int { return g.maxMessage }

func (g *gssLayer) AppendWrap(b, message []byte) ([]byte, error) {
	return g.send.appendWrap(b, message, g.sealed)
}

func (g *gssLayer) Unwrap(token []byte) ([]byte, error) { return g.receive.unwrap(token, g.sealed) }

// gssHalf is one direction of a security context.
type gssHalf struct {
	key      *messageKey
	flags    byte
	sequence sequence
	header   [gssHeader]byte // of the current message
}

// newGSSHalf makes the direction with these flags in its tokens.
func newGSSHalf(key types.EncryptionKey, flags byte, first uint32) (gssHalf, error) {
	usage := uint32(keyusage.GSSAPI_INITIATOR_SEAL)
	if flags&flagAcceptor != 0 {
		usage = keyusage.GSSAPI_ACCEPTOR_SEAL
	}
	derived, err := newMessageKey(key, usage)
	return gssHalf{key: derived, flags: flags, sequence: sequence{first: first}}, err
}

// next returns the next message's header, which is valid until the following call. It
// does not advance the sequence.
func (h *gssHalf) next(sealed bool) ([]byte, error) {
	number, err := h.sequence.next()
	if err != nil {
		return nil, err
	}
	h.header = [gssHeader]byte{0x05, 0x04, h.flags, 0xff}
	if sealed {
		h.header[2] |= flagSealed
	}
	binary.BigEndian.PutUint64(h.header[8:], uint64(number))
	return h.header[:], nil
}

func (h *gssHalf) appendWrap(b, message []byte, sealed bool) ([]byte, error) {
	header, err := h.next(sealed)
	if err != nil {
		return b, fmt.Errorf("wrap message: %w", err)
	}
	b = slices.Grow(b, len(message)+gssOverhead)
	if sealed {
		b = h.key.seal(append(b, header...), message, header)
	} else {
		checksum := h.key.sign(message, header)
		binary.BigEndian.PutUint16(header[4:], uint16(len(checksum)))
		b = append(append(append(b, header...), message...), checksum...)
	}
	h.sequence.advance()
	return b, nil
}

func (h *gssHalf) unwrap(token []byte, sealed bool) ([]byte, error) {
	fail := func(format string, args ...any) ([]byte, error) {
		return nil, fmt.Errorf("unwrap message: %w: %w", ErrTampered, fmt.Errorf(format, args...))
	}
	want, err := h.next(sealed)
	if err != nil {
		return nil, fmt.Errorf("unwrap message: %w", err)
	}
	if len(token) < gssHeader {
		return fail("length %d", len(token))
	}
	extra, rotation := int(binary.BigEndian.Uint16(token[4:])), int(binary.BigEndian.Uint16(token[6:]))
	if got := token[:gssHeader]; string(got[:4]) != string(want[:4]) || string(got[8:]) != string(want[8:]) {
		return fail("header %x instead of %x", got, want)
	}
	body := token[gssHeader:]
	rotateLeft(body, rotation)
	var message []byte
	if sealed {
		plain, err := h.key.open(body)
		if err != nil {
			return nil, fmt.Errorf("unwrap message: %w", err)
		}
		if len(plain) < extra+gssHeader {
			return fail("%d bytes of filler in %d", extra, len(plain))
		}
		binary.BigEndian.PutUint16(want[4:], uint16(extra))
		if string(plain[len(plain)-gssHeader:]) != string(want) {
			return fail("another header inside")
		}
		message = plain[:len(plain)-gssHeader-extra]
	} else {
		end := len(body) - extra
		if extra != h.key.macSize() || end < 0 {
			return fail("a checksum of %d bytes in %d", extra, len(body))
		}
		message = body[:end]
		if !hmac.Equal(body[end:], h.key.sign(message, want)) {
			return fail("checksum")
		}
	}
	h.sequence.advance()
	return message, nil
}

// rotateLeft undoes the rotation of b by n bytes to the right.
func rotateLeft(b []byte, n int) {
	if len(b) == 0 || n%len(b) == 0 {
		return
	}
	n %= len(b)
	slices.Reverse(b[:n])
	slices.Reverse(b[n:])
	slices.Reverse(b)
}
