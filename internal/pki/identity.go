package pki

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// ErrIdentity says that a certificate or a URI does not name a process of Bobbin, or names one for
// which its issuer may not issue certificates.
var ErrIdentity = errors.New("not a valid identity")

// Role is the role of a process.
type Role string

// The roles with a certificate.
const (
	RoleApplicationMaster Role = "am"
	RoleREST              Role = "rest"
	RoleTaskExecutor      Role = "te"
	RoleTaskHost          Role = "host"
)

const scheme = "bobbin"

// Identity identifies one process of one application. Its text form is the URI in the process's
// certificate.
type Identity struct {
	Application string // YARN's application id
	Role        Role
	Job         ids.JobID      // task hosts only
	Resource    ids.ResourceID // TaskExecutors and their task hosts: the container
}

func (id Identity) String() string { return id.url().String() }

func (id Identity) url() *url.URL {
	parts := []string{id.Application, string(id.Role)}
	switch id.Role {
	case RoleTaskExecutor:
		parts = append(parts, string(id.Resource))
	case RoleTaskHost:
		parts = append(parts, string(id.Job), string(id.Resource))
	case RoleApplicationMaster, RoleREST:
	}
	return &url.URL{Scheme: scheme, Opaque: strings.Join(parts, "/")}
}

// parseIdentity parses the text form. The error wraps ErrIdentity.
func parseIdentity(text string) (Identity, error) {
	rest, found := strings.CutPrefix(text, scheme+":")
	parts := strings.Split(rest, "/")
	if !found || len(parts) < 2 {
		return Identity{}, fmt.Errorf("parse identity %q: %w", text, ErrIdentity)
	}
	for _, part := range parts {
		if !plain(part) {
			return Identity{}, fmt.Errorf("parse identity %q: %w", text, ErrIdentity)
		}
	}
	id := Identity{Application: parts[0], Role: Role(parts[1])}
	switch {
	case (id.Role == RoleApplicationMaster || id.Role == RoleREST) && len(parts) == 2:
	case id.Role == RoleTaskExecutor && len(parts) == 3:
		id.Resource = ids.ResourceID(parts[2])
	case id.Role == RoleTaskHost && len(parts) == 4:
		id.Job, id.Resource = ids.JobID(parts[2]), ids.ResourceID(parts[3])
	default:
		return Identity{}, fmt.Errorf("parse identity %q: %w", text, ErrIdentity)
	}
	return id, nil
}

// plain reports whether s can be a part of an identity. It allows the characters of YARN's ids and
// of Bobbin's, so that one part cannot look like two.
func plain(s string) bool {
	if s == "" || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return true
}

// identityOf returns the identity in the only URI of a certificate.
func identityOf(certificate *x509.Certificate) (Identity, error) {
	if len(certificate.URIs) != 1 {
		return Identity{}, fmt.Errorf("certificate %s with %d URIs: %w", certificate.SerialNumber, len(certificate.URIs), ErrIdentity)
	}
	return parseIdentity(certificate.URIs[0].String())
}

// checkIssuer checks that the right issuer has signed: for a task host the TaskExecutor of its own
// container, for all others the authority. chain begins with the process's certificate and ends
// with the authority's.
func checkIssuer(id Identity, chain []*x509.Certificate) error {
	if id.Role != RoleTaskHost {
		if len(chain) != 2 {
			return fmt.Errorf("%s is not issued by the authority itself: %w", id, ErrIdentity)
		}
		return nil
	}
	if len(chain) != 3 {
		return fmt.Errorf("%s is not issued by a TaskExecutor: %w", id, ErrIdentity)
	}
	issuer, err := identityOf(chain[1])
	if err != nil {
		return fmt.Errorf("issuer of %s: %w", id, err)
	}
	if issuer != (Identity{Application: id.Application, Role: RoleTaskExecutor, Resource: id.Resource}) {
		return fmt.Errorf("%s is issued by %s: %w", id, issuer, ErrIdentity)
	}
	return nil
}
