package sasl

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
)

// AES in CBC mode with ciphertext stealing and an initial state of zeros, RFC 3962 §5:
// no padding, the last two blocks change places, and the last is cut to what is left. A
// message has at least one block.

// encryptCTS encrypts a message in place.
func encryptCTS(block cipher.Block, b []byte) {
	var zeros [aes.BlockSize]byte
	if len(b) == aes.BlockSize {
		block.Encrypt(b, b)
		return
	}
	whole := (len(b) - 1) / aes.BlockSize * aes.BlockSize // all blocks but the last
	chain := cipher.NewCBCEncrypter(block, zeros[:])
	chain.CryptBlocks(b[:whole], b[:whole])
	var last [aes.BlockSize]byte
	rest := copy(last[:], b[whole:])
	chain.CryptBlocks(last[:], last[:])
	before := b[whole-aes.BlockSize : whole]
	copy(b[whole:], before[:rest])
	copy(before, last[:])
}

// decryptCTS undoes encryptCTS.
func decryptCTS(block cipher.Block, b []byte) {
	var state [aes.BlockSize]byte
	if len(b) == aes.BlockSize {
		block.Decrypt(b, b)
		return
	}
	whole := (len(b) - 1) / aes.BlockSize * aes.BlockSize
	early, before, rest := b[:whole-aes.BlockSize], b[whole-aes.BlockSize:whole], b[whole:]
	if len(early) > 0 {
		next := [aes.BlockSize]byte(early[len(early)-aes.BlockSize:])
		cipher.NewCBCDecrypter(block, state[:]).CryptBlocks(early, early)
		state = next
	}
	var last, stolen [aes.BlockSize]byte
	block.Decrypt(last[:], before)
	stolen = last
	copy(stolen[:], rest) // what the encryption of the block before began with
	subtle.XORBytes(rest, rest, last[:])
	block.Decrypt(before, stolen[:])
	subtle.XORBytes(before, before, state[:])
}
