package sasl

import (
	"crypto/md5" // RFC 2831 knows no other hash
	"encoding/hex"
	"slices"
)

// nonceCount is the value of nc: a nonce is used only once.
const nonceCount = "00000001"

// emptyBodyHash replaces the hash of an entity body, because SASL has no body.
const emptyBodyHash = ":00000000000000000000000000000000"

// defaultMaxBuffer is the limit of a peer that sends no maxbuf, and this side's own limit, in
// bytes.
const defaultMaxBuffer = 65536

// minBuffer is the smallest maxbuf that is accepted from a peer, in bytes. With less, the
// overhead of each token would make a message many times as long.
const minBuffer = 1 << 10

// login holds the parameters of a DIGEST-MD5 authentication on which both sides agree.
// User, realm and password are hashed as bytes, because Hadoop's are ASCII.
type login struct {
	user, realm, password string
	nonce, cnonce         string
	uri                   string
	qop                   QOP
	cipher                string // name, for QOPPrivacy
}

// hash1 returns H(A1) for algorithm md5-sess (RFC 2831 §2.1.2.1). All keys derive from
// it.
func (l login) hash1() [md5.Size]byte {
	secret := sum(l.user, ":", l.realm, ":", l.password)
	return sum(string(secret[:]), ":", l.nonce, ":", l.cnonce)
}

// clientProof returns the client's response directive.
func (l login) clientProof() string { return l.proof("AUTHENTICATE:") }

// serverProof returns the server's rspauth directive.
func (l login) serverProof() string { return l.proof(":") }

func (l login) proof(prefix string) string {
	suffix := ""
	if l.qop != QOPAuthentication {
		suffix = emptyBodyHash
	}
	h1, h2 := l.hash1(), sum(prefix, l.uri, suffix)
	proof := sum(hex.EncodeToString(h1[:]), ":", l.nonce, ":", nonceCount, ":", l.cnonce, ":", string(l.qop), ":", hex.EncodeToString(h2[:]))
	return hex.EncodeToString(proof[:])
}

// direction is one of the two directions, which have separate keys (RFC 2831 §2.3 and
// §2.4).
type direction string

const (
	clientToServer direction = "client-to-server"
	serverToClient direction = "server-to-client"
)

// signingKey returns Kic or Kis.
func (l login) signingKey(d direction) [md5.Size]byte {
	h1 := l.hash1()
	return sum(string(h1[:]), "Digest session key to ", string(d), " signing key magic constant")
}

// sealingKey returns Kcc or Kcs.
func (l login) sealingKey(d direction) [md5.Size]byte {
	h1 := l.hash1()
	return sum(string(h1[:]), "Digest H(A1) to ", string(d), " sealing key magic constant")
}

func sum(parts ...string) [md5.Size]byte {
	h := md5.New() // RFC 2831 knows no other hash
	for _, p := range parts {
		h.Write([]byte(p)) // hashes do not fail
	}
	return [md5.Size]byte(slices.Clip(h.Sum(nil)))
}
