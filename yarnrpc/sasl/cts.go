package sasl

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
)

// cts is AES in CBC mode with ciphertext stealing and an initial state of zeros (RFC 3962
// §5): no padding, the last two blocks change places, and the last one is cut to the
// remaining length. A message has at least one block. One goroutine at a time uses it.
//
// A new chain would cost an allocation for each message, so one chain serves all messages.
// The chain begins a message with the last block of the previous ciphertext instead of
// zeros. XOR of the first block with the same bytes undoes that.
type cts struct {
	block                cipher.Block
	encrypter, decrypter cipher.BlockMode
	encrypted, decrypted [aes.BlockSize]byte // the state of their chains
}

func newCTS(key []byte) (*cts, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	c := &cts{block: block}
	c.encrypter = cipher.NewCBCEncrypter(block, c.encrypted[:])
	c.decrypter = cipher.NewCBCDecrypter(block, c.decrypted[:])
	return c, nil
}

// encrypt encrypts a message in place.
func (c *cts) encrypt(b []byte) {
	if len(b) == aes.BlockSize {
		c.block.Encrypt(b, b)
		return
	}
	whole := wholeBlocks(b)
	before, rest := b[whole-aes.BlockSize:whole], b[whole:]
	subtle.XORBytes(b, b[:aes.BlockSize], c.encrypted[:])
	c.encrypter.CryptBlocks(b[:whole], b[:whole])
	c.encrypted = [aes.BlockSize]byte(before)
	for i := range rest { // the last block, chained, changes places with the block before it
		rest[i], before[i] = before[i], before[i]^rest[i]
	}
	c.block.Encrypt(before, before)
}

// decrypt undoes encrypt.
func (c *cts) decrypt(b []byte) {
	if len(b) == aes.BlockSize {
		c.block.Decrypt(b, b)
		return
	}
	whole := wholeBlocks(b)
	early, before, rest := b[:whole-aes.BlockSize], b[whole-aes.BlockSize:whole], b[whole:]
	c.block.Decrypt(before, before)
	for i := range rest {
		rest[i], before[i] = before[i]^rest[i], rest[i]
	}
	c.block.Decrypt(before, before)
	if len(early) == 0 {
		return
	}
	last := [aes.BlockSize]byte(early[len(early)-aes.BlockSize:])
	subtle.XORBytes(before, before, last[:])
	c.decrypter.CryptBlocks(early, early)
	subtle.XORBytes(early, early[:aes.BlockSize], c.decrypted[:])
	c.decrypted = last
}

// wholeBlocks returns the length of all blocks of b except the last one, which may be
// incomplete.
func wholeBlocks(b []byte) int { return (len(b) - 1) / aes.BlockSize * aes.BlockSize }
