package sasl

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
)

// DigestMD5 is the client's side of DIGEST-MD5 (RFC 2831), which Hadoop calls TOKEN.
type DigestMD5 struct {
	// User and Password are, for Hadoop's tokens, EncodeCredential of identifier and
	// password.
	User, Password string
	// URI names the service. It is "/default" in the offers of Hadoop RPC.
	URI string
	// QOPs are the acceptable qualities of protection, best first. None: QOPAuthentication.
	QOPs []QOP
	// Ciphers are the acceptable ciphers for QOPPrivacy, best first, by the names of RFC 2831
	// §2.4: rc4 and 3des. None: both, in this order, because triple DES makes every call some
	// ten times as expensive. If both are too weak, use Kerberos.
	Ciphers []string

	// newNonce replaces the random client nonce in tests.
	newNonce func() string

	login     login
	maxBuffer int // the server's
	answered  bool
}

// MechanismDigestMD5 is the registered name of the mechanism.
const MechanismDigestMD5 = "DIGEST-MD5"

// EncodeCredential returns the text form of a token's bytes: base64 with padding
// (SaslRpcServer.encodeIdentifier).
func EncodeCredential(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// DecodeCredential is the inverse of EncodeCredential.
func DecodeCredential(s string) ([]byte, error) { return base64.StdEncoding.DecodeString(s) }

// Start answers the challenge of the offer. Without a challenge the answer is empty.
func (d *DigestMD5) Start(challenge []byte) ([]byte, error) {
	if challenge == nil {
		return []byte{}, nil
	}
	return d.Next(challenge)
}

// Next answers the server's only challenge.
func (d *DigestMD5) Next(challenge []byte) ([]byte, error) {
	if d.answered {
		return nil, fmt.Errorf("answer digest challenge: %w: a second challenge", ErrChallenge)
	}
	if err := d.accept(challenge); err != nil {
		return nil, fmt.Errorf("answer digest challenge: %w", err)
	}
	d.answered = true

	b := appendPlain(nil, "charset", "utf-8")
	b = appendQuoted(b, "username", d.login.user)
	b = appendQuoted(b, "realm", d.login.realm)
	b = appendQuoted(b, "nonce", d.login.nonce)
	b = appendPlain(b, "nc", nonceCount)
	b = appendQuoted(b, "cnonce", d.login.cnonce)
	b = appendQuoted(b, "digest-uri", d.login.uri)
	b = appendPlain(b, "maxbuf", strconv.Itoa(defaultMaxBuffer))
	b = appendPlain(b, "response", d.login.clientProof())
	b = appendPlain(b, "qop", string(d.login.qop))
	if d.login.cipher != "" {
		b = appendQuoted(b, "cipher", d.login.cipher)
	}
	if len(b) > maxDigestMessage {
		return nil, fmt.Errorf("answer digest challenge: a token of %d bytes is too long for a login", len(d.User))
	}
	return b, nil
}

// accept reads a challenge and sets the parameters of the login.
func (d *DigestMD5) accept(challenge []byte) error {
	ds, err := parseDirectives(challenge)
	if err != nil {
		return err
	}
	nonce, err := ds.once("nonce")
	if err != nil {
		return err
	}
	algorithm, err := ds.once("algorithm")
	if err != nil {
		return err
	}
	if algorithm != "md5-sess" {
		return fmt.Errorf("%w: algorithm %q", ErrChallenge, algorithm)
	}
	if d.maxBuffer, err = maxBuffer(ds); err != nil {
		return err
	}
	offered := []string{string(QOPAuthentication)} // the default if the server names none
	if value, there := ds.get("qop"); there {
		offered = list(value)
	}
	ours := d.QOPs
	if len(ours) == 0 {
		ours = []QOP{QOPAuthentication}
	}
	qop, err := choose(ours, offered)
	if err != nil {
		return err
	}
	realm, _ := ds.get("realm") // the first of several, as in Java
	d.login = login{
		user: d.User, realm: realm, password: d.Password,
		nonce: nonce, cnonce: d.nonce(),
		uri: d.URI, qop: qop,
	}
	if qop == QOPPrivacy {
		value, _ := ds.get("cipher")
		if d.login.cipher, err = chooseCipher(d.Ciphers, list(value)); err != nil {
			return err
		}
	}
	return nil
}

func maxBuffer(ds directives) (int, error) {
	value, there := ds.get("maxbuf")
	if !there {
		return defaultMaxBuffer, nil
	}
	n, err := strconv.ParseUint(value, 10, 24) // RFC 2831 §2.1.1: below 2^24
	if err != nil || n < minBuffer {
		return 0, fmt.Errorf("%w: maxbuf %q", ErrChallenge, value)
	}
	return int(n), nil
}

func chooseCipher(ours, offered []string) (string, error) {
	known := []string{cipherRC4, cipher3DES}
	if len(ours) == 0 {
		ours = known
	}
	for _, name := range ours {
		if slices.Contains(known, name) && slices.Contains(offered, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("%w: the client accepts the ciphers %v of %v, the server offers %v", ErrProtection, ours, known, offered)
}

func (d *DigestMD5) nonce() string {
	if d.newNonce != nil {
		return d.newNonce()
	}
	return rand.Text()
}

// Finish checks that the server knows the password too.
func (d *DigestMD5) Finish(token []byte) (Layer, error) {
	if !d.answered {
		return nil, fmt.Errorf("finish digest login: %w: the server reports success before a challenge", ErrChallenge)
	}
	ds, err := parseDirectives(token)
	if err != nil {
		return nil, fmt.Errorf("finish digest login: %w", err)
	}
	proof, err := ds.once("rspauth")
	if err != nil {
		return nil, fmt.Errorf("finish digest login: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(proof), []byte(d.login.serverProof())) != 1 {
		return nil, fmt.Errorf("finish digest login: %w", ErrMismatch)
	}
	return newLayer(d.login, clientToServer, serverToClient, d.maxBuffer), nil
}
