package pki

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
)

// Token is the bearer token by which a cluster's owner authenticates to REST. It prints as
// "(secret)"; Reveal returns the text.
type Token struct{ text string }

// NewToken makes a random token of 256 bits.
func NewToken() Token {
	var b [32]byte
	rand.Read(b[:]) // never fails, by its documentation
	return Token{base64.RawURLEncoding.EncodeToString(b[:])}
}

// TokenOf returns the Token with this text.
func TokenOf(text string) Token { return Token{text} }

// Reveal returns the text for the wire.
func (t Token) Reveal() string { return t.text }

// Matches compares the token with a text from a client. The time does not depend on the text. A
// zero Token matches nothing.
func (t Token) Matches(sent string) bool {
	own, other := sha256.Sum256([]byte(t.text)), sha256.Sum256([]byte(sent))
	return subtle.ConstantTimeCompare(own[:], other[:]) == 1 && t.text != ""
}

func (Token) String() string { return "(secret)" }

// GoString keeps the text out of %#v.
func (Token) GoString() string { return "(secret)" }
