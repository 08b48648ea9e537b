package sasl

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"slices"
)

// Realm is the realm of Hadoop's servers (SaslRpcServer.SASL_DEFAULT_REALM).
const Realm = "default"

// DigestMD5Server is the server's side of one DIGEST-MD5 login: Challenge, then
// Verify.
type DigestMD5Server struct {
	// Password returns the password of a user, both in the form of
	// EncodeCredential.
	Password func(user string) (string, error)
	// URI is the URI that the client must name.
	URI string
	// QOPs are the qualities of protection on offer. None: QOPAuthentication.
	QOPs []QOP

	nonce string
}

// Challenge returns the first message.
func (s *DigestMD5Server) Challenge() []byte {
	s.nonce = rand.Text()
	qops := make([]byte, 0, 32)
	for i, q := range s.qops() {
		if i > 0 {
			qops = append(qops, ',')
		}
		qops = append(qops, q...)
	}
	b := appendQuoted(nil, "realm", Realm)
	b = appendQuoted(b, "nonce", s.nonce)
	b = appendQuoted(b, "qop", string(qops))
	b = appendPlain(b, "charset", "utf-8")
	if slices.Contains(s.qops(), QOPPrivacy) {
		b = appendQuoted(b, "cipher", cipher3DES+","+cipherRC4)
	}
	return appendPlain(b, "algorithm", "md5-sess")
}

func (s *DigestMD5Server) qops() []QOP {
	if len(s.QOPs) == 0 {
		return []QOP{QOPAuthentication}
	}
	return s.QOPs
}

// Verify checks a client's answer. It returns the user, the proof for the client
// that the server knows the password, and the agreed protection, or nil for none.
func (s *DigestMD5Server) Verify(response []byte) (user string, proof []byte, layer Layer, err error) {
	fail := func(err error) (string, []byte, Layer, error) {
		return "", nil, nil, fmt.Errorf("verify digest response: %w", err)
	}
	ds, err := parseDirectives(response)
	if err != nil {
		return fail(err)
	}
	values := make(map[string]string)
	for _, key := range []string{"username", "nonce", "nc", "cnonce", "digest-uri", "response"} {
		if values[key], err = ds.once(key); err != nil {
			return fail(err)
		}
	}
	realm, _ := ds.get("realm")
	qop, there := ds.get("qop")
	if !there {
		qop = string(QOPAuthentication)
	}
	cipher, _ := ds.get("cipher")
	switch {
	case s.nonce == "" || values["nonce"] != s.nonce || values["nc"] != nonceCount:
		return fail(fmt.Errorf("%w: not our nonce", ErrChallenge))
	case realm != Realm || values["digest-uri"] != s.URI:
		return fail(fmt.Errorf("%w: for realm %q and service %q", ErrChallenge, realm, values["digest-uri"]))
	case !slices.Contains(s.qops(), QOP(qop)):
		return fail(fmt.Errorf("%w: %q", ErrProtection, qop))
	case qop == string(QOPPrivacy) && cipher != cipher3DES && cipher != cipherRC4:
		return fail(fmt.Errorf("%w: cipher %q", ErrProtection, cipher))
	}
	buffer, err := maxBuffer(ds)
	if err != nil {
		return fail(err)
	}
	password, err := s.Password(values["username"])
	if err != nil {
		return fail(err)
	}
	l := login{
		user: values["username"], realm: realm, password: password,
		nonce: s.nonce, cnonce: values["cnonce"],
		uri: s.URI, qop: QOP(qop), cipher: cipher,
	}
	s.nonce = "" // a nonce is used only once
	if subtle.ConstantTimeCompare([]byte(values["response"]), []byte(l.clientProof())) != 1 {
		return fail(fmt.Errorf("%w: user %q", ErrMismatch, l.user))
	}
	return l.user, appendPlain(nil, "rspauth", l.serverProof()), newLayer(l, serverToClient, clientToServer, buffer), nil
}
