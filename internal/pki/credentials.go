package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// errMalformed says that Certificates or PEM did not write these bytes.
var errMalformed = errors.New("malformed credentials")

// PEM block types.
const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY" // PKCS #8
)

// Credentials prove the identity of a process: its key, its certificate, and the certificates of
// its issuers up to the authority's. They are immutable. Their printed form does not contain the
// key.
type Credentials struct {
	identity Identity
	key      *ecdsa.PrivateKey
	chain    []*x509.Certificate // own first, the authority's last
}

// Identity returns the owner of the credentials.
func (c *Credentials) Identity() Identity { return c.identity }

func (c *Credentials) String() string { return "credentials of " + c.identity.String() }

// GoString keeps the key out of %#v.
func (c *Credentials) GoString() string { return c.String() }

func (c *Credentials) issuer() issuer { return issuer{c.key, c.chain} }

func (c *Credentials) root() *x509.Certificate { return c.chain[len(c.chain)-1] }

// Authority returns the authority's certificate, PEM. Clients of REST need it to verify the
// endpoint. It is not secret.
func (c *Credentials) Authority() []byte { return encodeCertificates(c.chain[len(c.chain)-1:]) }

// Certificates returns the credentials in the form in which a TaskExecutor passes them to a host.
func (c *Credentials) Certificates() (msg.Certificates, error) {
	key, err := encodeKey(c.key)
	if err != nil {
		return msg.Certificates{}, fmt.Errorf("encode %s: %w", c, err)
	}
	return msg.Certificates{Chain: encodeCertificates(c.chain[:len(c.chain)-1]), Key: key, Authority: c.Authority()}, nil
}

// ParseCertificates parses the output of Certificates, and checks that key, names and signatures
// match. The error wraps errMalformed or ErrIdentity.
func ParseCertificates(encoded msg.Certificates) (*Credentials, error) {
	return ParsePEM(bytes.Join([][]byte{encoded.Key, encoded.Chain, encoded.Authority}, []byte("\n")))
}

// PEM returns the credentials as one secret: the key, then the certificates from the process's own
// to the authority's.
func (c *Credentials) PEM() (msg.Secret, error) {
	key, err := encodeKey(c.key)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c, err)
	}
	return append(key, encodeCertificates(c.chain)...), nil
}

// ParsePEM parses the output of PEM, with the checks of ParseCertificates.
func ParsePEM(text []byte) (*Credentials, error) {
	key, chain, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	if len(chain) < 2 {
		return nil, fmt.Errorf("read credentials: %d certificates, want 2 or more: %w", len(chain), errMalformed)
	}
	id, err := identityOf(chain[0])
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	if err := checkIssuer(id, chain); err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	if root := chain[len(chain)-1]; root.Subject.CommonName != id.Application {
		return nil, fmt.Errorf("read credentials of %s: authority of %q: %w", id, root.Subject.CommonName, ErrIdentity)
	}
	return &Credentials{identity: id, key: key, chain: chain}, nil
}

// String keeps the key out of %v.
func (a *Authority) String() string { return "authority of " + a.application }

// GoString keeps the key out of %#v.
func (a *Authority) GoString() string { return a.String() }

func encodeKey(key *ecdsa.PrivateKey) (msg.Secret, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: der}), nil
}

func encodeCertificates(chain []*x509.Certificate) []byte {
	var text []byte
	for _, certificate := range chain {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: certificate.Raw})...)
	}
	return text
}

// decode reads a key and its certificates. Each certificate is signed by the next one, and the last
// by itself. Errors never contain the text.
func decode(text []byte) (*ecdsa.PrivateKey, []*x509.Certificate, error) {
	var key *ecdsa.PrivateKey
	var chain []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case keyBlock:
			parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
			private, ok := parsed.(*ecdsa.PrivateKey)
			if err != nil || !ok || key != nil {
				return nil, nil, fmt.Errorf("key: %w", errMalformed)
			}
			key = private
		case certificateBlock:
			certificate, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, nil, fmt.Errorf("certificate %d: %w: %w", len(chain), errMalformed, err)
			}
			chain = append(chain, certificate)
		default:
			return nil, nil, fmt.Errorf("unknown block: %w", errMalformed)
		}
	}
	if key == nil || len(chain) == 0 || !key.PublicKey.Equal(chain[0].PublicKey) {
		return nil, nil, fmt.Errorf("no certificate of the key: %w", errMalformed)
	}
	for i, certificate := range chain {
		if err := certificate.CheckSignatureFrom(chain[min(i+1, len(chain)-1)]); err != nil {
			return nil, nil, fmt.Errorf("certificate %d: %w: %w", i, errMalformed, err)
		}
	}
	return key, chain, nil
}
