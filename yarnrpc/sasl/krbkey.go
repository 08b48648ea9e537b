package sasl

import (
	"crypto/aes"
	"crypto/hmac"
	"crypto/rand"
	"errors"
	"fmt"
	"hash"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/crypto/common"
	"github.com/jcmturner/gokrb5/v8/crypto/etype"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/types"
)

// ErrEncryptionType says that the mechanism does not support the ticket's session key.
// RC4 and DES keys use another form of tokens.
var ErrEncryptionType = errors.New("the session key of the ticket is not an AES key: give the service's account a key of aes256-cts or aes128-cts")

// EncryptionTypes returns the numbers of the supported encryption types of session keys,
// best first.
func EncryptionTypes() []int32 {
	return []int32{
		etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA1_96,
		etypeID.AES256_CTS_HMAC_SHA384_192, etypeID.AES128_CTS_HMAC_SHA256_128,
	}
}

// profile returns the algorithms of a key. withCipher says that the checksum covers the
// ciphertext (RFC 8009 §5) instead of the plain text (RFC 3961 §5.3).
func profile(key types.EncryptionKey) (kind etype.EType, withCipher bool, err error) {
	size := 16
	switch key.KeyType {
	case etypeID.AES128_CTS_HMAC_SHA1_96:
	case etypeID.AES256_CTS_HMAC_SHA1_96:
		size = 32
	case etypeID.AES128_CTS_HMAC_SHA256_128:
		withCipher = true
	case etypeID.AES256_CTS_HMAC_SHA384_192:
		size, withCipher = 32, true
	default:
		return nil, false, fmt.Errorf("%w: its type is %d", ErrEncryptionType, key.KeyType)
	}
	if len(key.KeyValue) != size {
		return nil, false, fmt.Errorf("%w: a key of %d bytes and type %d", ErrChallenge, len(key.KeyValue), key.KeyType)
	}
	kind, err = crypto.GetEtype(key.KeyType)
	return kind, withCipher, err
}

// messageKey protects messages for one usage (RFC 3961 §5.3). It derives the keys once
// for all messages. One goroutine at a time uses it.
type messageKey struct {
	kind       etype.EType
	withCipher bool
	encryption *cts
	integrity  hash.Hash // of sealed messages
	checksum   hash.Hash // of messages that are not encrypted
	initial    [aes.BlockSize]byte
	sum        [maxHash]byte // the last computed one
}

const (
	// confounder is the length of the random bytes at the beginning of an encrypted
	// message: one block.
	confounder = aes.BlockSize
	// maxHash is the length of the longest hash, SHA-384, in bytes.
	maxHash = 48
)

func newMessageKey(key types.EncryptionKey, usage uint32) (*messageKey, error) {
	kind, withCipher, err := profile(key)
	if err != nil {
		return nil, err
	}
	k := &messageKey{kind: kind, withCipher: withCipher}
	derive := func(constant []byte) (derived []byte) {
		if err == nil {
			derived, err = kind.DeriveKey(key.KeyValue, constant)
		}
		return derived
	}
	encryption := derive(common.GetUsageKe(usage))
	k.integrity = hmac.New(kind.GetHashFunc(), derive(common.GetUsageKi(usage)))
	k.checksum = hmac.New(kind.GetHashFunc(), derive(common.GetUsageKc(usage)))
	if err == nil {
		k.encryption, err = newCTS(encryption)
	}
	if err != nil {
		return nil, fmt.Errorf("derive key for usage %d: %w", usage, err)
	}
	return k, nil
}

// macSize returns the length of checksums, in bytes.
func (k *messageKey) macSize() int { return k.kind.GetHMACBitLength() / 8 }

// mac returns a checksum of parts, which is valid until the next call.
func (k *messageKey) mac(h hash.Hash, parts ...[]byte) []byte {
	h.Reset()
	for _, part := range parts {
		h.Write(part) // hashes do not fail
	}
	return h.Sum(k.sum[:0])[:k.macSize()]
}

// sign returns the checksum of a message that is not encrypted. It is valid until the
// next call.
func (k *messageKey) sign(parts ...[]byte) []byte { return k.mac(k.checksum, parts...) }

// seal encrypts a message, which is the concatenation of parts, and adds it to b.
func (k *messageKey) seal(b []byte, parts ...[]byte) []byte {
	start := len(b)
	b = append(b, make([]byte, confounder)...)
	rand.Read(b[start:]) // never fails
	for _, part := range parts {
		b = append(b, part...)
	}
	if k.withCipher {
		k.encryption.encrypt(b[start:])
		return append(b, k.sumOfCipher(b[start:])...)
	}
	sum := k.sumOfPlain(b[start:])
	k.encryption.encrypt(b[start:])
	return append(b, sum...)
}

// open decrypts, in place, the output of seal.
func (k *messageKey) open(sealed []byte) ([]byte, error) {
	body := len(sealed) - k.macSize()
	if body < confounder {
		return nil, fmt.Errorf("%w: %d bytes are too few", ErrTampered, len(sealed))
	}
	text, sum := sealed[:body], sealed[body:]
	var want []byte
	if k.withCipher {
		want = k.sumOfCipher(text)
	}
	k.encryption.decrypt(text)
	if !k.withCipher {
		want = k.sumOfPlain(text)
	}
	if !hmac.Equal(sum, want) {
		return nil, fmt.Errorf("%w: checksum", ErrTampered)
	}
	return text[confounder:], nil
}

func (k *messageKey) sumOfPlain(text []byte) []byte { return k.mac(k.integrity, text) }

func (k *messageKey) sumOfCipher(text []byte) []byte {
	return k.mac(k.integrity, k.initial[:], text)
}
