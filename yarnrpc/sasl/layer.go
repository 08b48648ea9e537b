package sasl

import (
	"crypto/cipher"
	"crypto/des" // RFC 2831 offers nothing better
	"crypto/hmac"
	"crypto/md5" // RFC 2831 knows no other hash
	"crypto/rc4" // RFC 2831 offers nothing better
	"encoding/binary"
	"fmt"
	"hash"
	"math/bits"
	"slices"
)

// Names of the implemented ciphers of RFC 2831 §2.4. DES and the short RC4 keys are left
// out: every Java that has them also has these.
const (
	cipher3DES = "3des"
	cipherRC4  = "rc4"
)

// A protected message, RFC 2831 §2.3 and §2.4:
//
//	auth-int    message                     │ mac: 10 │ 00 01 │ sequence: 4
//	auth-conf   cipher(message │ pad │ mac) │           00 01 │ sequence: 4
//
// mac is the front of HMAC-MD5 over sequence and message. An empty message is an empty
// token and takes no place in the sequence, as in Java.
const (
	macLength     = 10
	trailerLength = 2 + 4
	messageType   = 1
	// layerOverhead is an upper bound for what protection adds to a message, in bytes.
	layerOverhead = des.BlockSize + macLength + trailerLength
)

// digestLayer is the protection after a DIGEST-MD5 login.
type digestLayer struct {
	send, receive half
	maxMessage    int
}

// half is one direction of a layer.
type half struct {
	signing  hash.Hash // HMAC-MD5 under the direction's key
	sequence sequence
	seal     sealing        // nil: only integrity
	sum      [md5.Size]byte // the last computed one
}

func newHalf(signingKey [md5.Size]byte) half { return half{signing: hmac.New(md5.New, signingKey[:])} }

// sealing encrypts or decrypts one message after the other. The state of a cipher
// continues from message to message.
type sealing interface {
	// block returns the block size in bytes. crypt accepts only multiples of it.
	block() int
	crypt(b []byte)
}

// newLayer returns the agreed protection of a login; nil: none. maxBuffer is the peer's,
// in bytes.
func newLayer(l login, send, receive direction, maxBuffer int) Layer {
	if l.qop == QOPAuthentication {
		return nil
	}
	layer := &digestLayer{
		send:       newHalf(l.signingKey(send)),
		receive:    newHalf(l.signingKey(receive)),
		maxMessage: maxBuffer - layerOverhead,
	}
	if l.qop == QOPPrivacy {
		layer.send.seal = newSealing(l.cipher, l.sealingKey(send), cipher.NewCBCEncrypter)
		layer.receive.seal = newSealing(l.cipher, l.sealingKey(receive), cipher.NewCBCDecrypter)
	}
	return layer
}

func (d *digestLayer) MaxMessage() int { return d.maxMessage }

func (d *digestLayer) AppendWrap(b, message []byte) ([]byte, error) {
	if len(message) == 0 {
		return b, nil
	}
	h := &d.send
	number, err := h.sequence.next()
	if err != nil {
		return b, fmt.Errorf("wrap message: %w", err)
	}
	start := len(b)
	b = append(slices.Grow(b, len(message)+layerOverhead), message...)
	if h.seal != nil {
		b = appendPad(b, len(message), h.seal.block())
	}
	b = append(b, h.mac(number, message)...)
	if h.seal != nil {
		h.seal.crypt(b[start:])
	}
	b = appendTrailer(b, number)
	h.sequence.advance()
	return b, nil
}

func (d *digestLayer) Unwrap(token []byte) ([]byte, error) {
	if len(token) == 0 {
		return nil, nil
	}
	h := &d.receive
	number, err := h.sequence.next()
	if err != nil {
		return nil, fmt.Errorf("unwrap message: %w", err)
	}
	body := len(token) - trailerLength
	if body < macLength || h.seal != nil && body%h.seal.block() != 0 {
		return nil, fmt.Errorf("unwrap message: %w: length %d", ErrTampered, len(token))
	}
	plain, trailer := token[:body], token[body:]
	if binary.BigEndian.Uint16(trailer) != messageType || binary.BigEndian.Uint32(trailer[2:]) != number {
		return nil, fmt.Errorf("unwrap message: %w: trailer %x instead of %x", ErrTampered, trailer, appendTrailer(nil, number))
	}
	padding := 0
	if h.seal != nil {
		h.seal.crypt(plain)
		if h.seal.block() > 1 {
			padding = int(plain[body-macLength-1])
		}
	}
	message := plain[:max(body-macLength-padding, 0)]
	if !hmac.Equal(plain[body-macLength:], h.mac(number, message)) {
		return nil, fmt.Errorf("unwrap message: %w: checksum", ErrTampered)
	}
	h.sequence.advance()
	return message, nil
}

// mac returns the checksum of a message, which is valid until the next call.
func (h *half) mac(number uint32, message []byte) []byte {
	h.signing.Reset()
	h.signing.Write(binary.BigEndian.AppendUint32(h.sum[:0], number)) // hashes do not fail
	h.signing.Write(message)                                          // hashes do not fail
	return h.signing.Sum(h.sum[:0])[:macLength]
}

func appendTrailer(b []byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, messageType), number)
}

// appendPad adds the padding after a message of the given length. Message, padding and mac
// together are a multiple of block. The padding is 1 to block bytes long, and each of its
// bytes is that number. Stream ciphers have no padding.
func appendPad(b []byte, length, block int) []byte {
	if block == 1 {
		return b
	}
	pad := block - (length+macLength)%block
	for range pad {
		b = append(b, byte(pad))
	}
	return b
}

type stream struct{ *rc4.Cipher }

func (stream) block() int       { return 1 }
func (s stream) crypt(b []byte) { s.XORKeyStream(b, b) }

type chained struct{ cipher.BlockMode }

func (chained) block() int       { return des.BlockSize }
func (c chained) crypt(b []byte) { c.CryptBlocks(b, b) }

func newSealing(name string, key [md5.Size]byte, chain func(cipher.Block, []byte) cipher.BlockMode) sealing {
	if name == cipherRC4 {
		c, err := rc4.NewCipher(key[:])
		if err != nil {
			panic(fmt.Sprintf("rc4 refuses a key of %d bytes: %v", len(key), err))
		}
		return stream{c}
	}
	// Two-key triple DES: the third key is the first.
	first, second := desKey(key[0:7]), desKey(key[7:14])
	c, err := des.NewTripleDESCipher(append(append(append([]byte(nil), first...), second...), first...))
	if err != nil {
		panic(fmt.Sprintf("triple DES refuses a key of 24 bytes: %v", err))
	}
	return chained{chain(c, key[8:16])}
}

// desKey spreads 56 bits over 8 bytes. The lowest bit of each byte makes its parity odd.
func desKey(seven []byte) []byte {
	var bits56 uint64
	for _, b := range seven {
		bits56 = bits56<<8 | uint64(b)
	}
	key := make([]byte, 8)
	for i := range key {
		b := byte(bits56>>(49-7*i)) << 1
		if bits.OnesCount8(b)%2 == 0 {
			b |= 1
		}
		key[i] = b
	}
	return key
}
