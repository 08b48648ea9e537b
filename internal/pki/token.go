package pki

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
)

// Token is a bearer token by which a client authenticates to REST. It prints as "(secret)"; Reveal
// returns the text.
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

// Viewer returns the token by which programs such as Prometheus view the application. It follows from the
// authority's key, so that all ApplicationMasters of the application have the same.
func (a *Authority) Viewer() (Token, error) {
	key, err := a.PEM()
	if err != nil {
		return Token{}, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("token to view " + a.application)) // never fails, by its documentation
	return Token{base64.RawURLEncoding.EncodeToString(mac.Sum(nil))}, nil
}

// Digest is the SHA-256 of the text, in hex. It is no secret, because nobody can guess 256 bits. A zero
// Token has none.
func (t Token) Digest() string {
	if t.text == "" {
		return ""
	}
	return digestOf(t.text)
}

// MatchesDigest compares a text from a client with the Digest of a token. An empty digest matches nothing.
func MatchesDigest(digest, sent string) bool {
	return digest != "" && subtle.ConstantTimeCompare([]byte(digest), []byte(digestOf(sent))) == 1
}

func digestOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func (Token) String() string { return "(secret)" }

// GoString keeps the text out of %#v.
func (Token) GoString() string { return "(secret)" }
