package pki

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// PEM returns the authority with its key as one secret, for the next ApplicationMaster of the application.
func (a *Authority) PEM() (msg.Secret, error) {
	key, err := encodeKey(a.issuer.key)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", a, err)
	}
	return append(key, encodeCertificates(a.issuer.chain)...), nil
}

// ParseAuthority parses the output of PEM. The error wraps errMalformed, or ErrIdentity if the authority is another
// application's.
func ParseAuthority(application string, text []byte) (*Authority, error) {
	key, chain, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("read authority of %s: %w", application, err)
	}
	if len(chain) != 1 || !chain[0].IsCA {
		return nil, fmt.Errorf("read authority of %s: %d certificates, want that of the authority: %w", application, len(chain), errMalformed)
	}
	if of := chain[0].Subject.CommonName; of != application {
		return nil, fmt.Errorf("read authority of %s: it is that of %q: %w", application, of, ErrIdentity)
	}
	return &Authority{application, issuer{key, chain}}, nil
}
