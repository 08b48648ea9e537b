package pki

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// Token is the bearer token by which a cluster's owner proves himself to REST.
// It prints as "(secret)"; Reveal gives the text for the wire.
type Token struct{ text string }

// NewToken draws a token of 256 bits.
func NewToken() Token {
	var b [32]byte
	rand.Read(b[:]) // never fails, by its documentation
	return Token{base64.RawURLEncoding.EncodeToString(b[:])}
}

// TokenOf makes a token of its text.
func TokenOf(text string) Token { return Token{text} }

// Reveal gives the text.
func (t Token) Reveal() string { return t.text }

// Matches compares with what a client sent, in a time that does not depend on
// it. A zero Token matches nothing.
func (t Token) Matches(sent string) bool {
	own, other := sha256.Sum256([]byte(t.text)), sha256.Sum256([]byte(sent))
	return subtle.ConstantTimeCompare(own[:], other[:]) == 1 && t.text != ""
}

func (Token) String() string { return "(secret)" }

// GoString keeps the text out of %#v.
func (Token) GoString() string { return "(secret)" }
