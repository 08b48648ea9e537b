package clienttoam

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var (
	// ErrNoKey says that YARN has not given the ApplicationMaster its key yet, or gives none.
	ErrNoKey = errors.New("the ApplicationMaster does not have the key for YARN's tokens yet")
	// ErrKeyLost is the ErrNoKey of an ApplicationMaster that already leads: YARN's answer to its registration was lost,
	// and YARN gives the key only once.
	ErrKeyLost error = keyLost{}
	// ErrRefused says that a client did not prove that it owns a token.
	ErrRefused = errors.New("YARN's token is refused")
)

type keyLost struct{}

func (keyLost) Error() string {
	return "the ApplicationMaster has no key for YARN's tokens, and gets none"
}
func (keyLost) Unwrap() error { return ErrNoKey }

// AlgorithmKey is Hadoop's property for the algorithm of tokens' passwords, since Hadoop 3.5.
const AlgorithmKey = "hadoop.security.secret-manager.key-generator.algorithm"

// Verifier checks the proofs of clients for one attempt of an application. Its methods may be
// called from any goroutine.
type Verifier struct {
	attempt records.ApplicationAttemptID
	hash    func() hash.Hash
	key     atomic.Pointer[[]byte]
}

// NewVerifier makes a Verifier for an attempt. algorithm is the value of AlgorithmKey. "" means
// HmacSHA1, as before AlgorithmKey existed.
func NewVerifier(attempt records.ApplicationAttemptID, algorithm string) (*Verifier, error) {
	v := &Verifier{attempt: attempt}
	switch strings.ToLower(algorithm) {
	case "", "hmacsha1":
		v.hash = sha1.New
	case "hmacsha256":
		v.hash = sha256.New
	case "hmacsha384":
		v.hash = sha512.New384
	case "hmacsha512":
		v.hash = sha512.New
	default:
		return nil, fmt.Errorf("%s is %q: want HmacSHA1, HmacSHA256, HmacSHA384 or HmacSHA512", AlgorithmKey, algorithm)
	}
	return v, nil
}

// SetKey sets the key from YARN's answer to the registration. An empty key changes nothing: YARN
// gives no key on open clusters, and none to an attempt that it has registered already.
func (v *Verifier) SetKey(key []byte) {
	if len(key) > 0 {
		v.key.Store(&key)
	}
}

// Verify checks the Authorization that a client sent on a connection. It returns the client's name
// in YARN, which is a principal or a user name, and the value of AnswerHeader. The error wraps
// ErrNoKey or ErrRefused.
func (v *Verifier) Verify(authorization string, on *tls.ConnectionState) (name, answer string, err error) {
	sent, err := parseCredentials(authorization)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	key := v.key.Load()
	if key == nil {
		return "", "", ErrNoKey
	}
	password := v.password(*key, sent.identifier)
	want, err := prove(password, client, on)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	about, err := identifier.DecodeClientToAM(&creds.Token{Kind: creds.KindClientToAM, Identifier: sent.identifier})
	switch {
	case err != nil:
		return "", "", fmt.Errorf("%w: %w", ErrRefused, err)
	case about.Attempt != v.attempt: // it has another key
		return "", "", fmt.Errorf("%w: it is for attempt %s, and this is attempt %s; get the application's report from YARN again", ErrRefused, about.Attempt, v.attempt)
	case !hmac.Equal(sent.proof, want):
		return "", "", fmt.Errorf("%w: the proof does not match the token and this connection", ErrRefused)
	case about.Client == "":
		return "", "", fmt.Errorf("%w: it names no user", ErrRefused)
	}
	own, err := prove(password, server, on)
	if err != nil {
		return "", "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return about.Client, proofParam + encode(own), nil
}

// password computes the password that YARN gave the client with the token
// (SecretManager#createPassword).
func (v *Verifier) password(key, identifier []byte) []byte {
	mac := hmac.New(v.hash, key)
	mac.Write(identifier)
	return mac.Sum(nil)
}
