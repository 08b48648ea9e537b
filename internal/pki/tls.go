package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// ClientProtocol is the protocol that clients of REST name in the handshake (ALPN) when they know the application's
// authority. The server then answers with the application's certificate, also if it has another one for browsers. It
// accepts no protocol by name, so both continue with HTTP/1.1.
const ClientProtocol = "bobbin/1"

// errNotAllowed says that a peer has a valid identity, but this end does not accept it.
var errNotAllowed = errors.New("peer is not allowed here")

// Accept decides about a peer of the same application with a valid certificate. Its error ends the
// handshake.
type Accept func(peer Identity) error

// OnlyRole accepts peers of one role.
func OnlyRole(role Role) Accept {
	return func(peer Identity) error {
		if peer.Role != role {
			return fmt.Errorf("%s, want role %s: %w", peer, role, errNotAllowed)
		}
		return nil
	}
}

// OnlyJob accepts the task hosts of a job on any worker. It does not accept a TaskExecutor,
// although a TaskExecutor could issue a host's certificate.
func OnlyJob(job ids.JobID) Accept {
	return func(peer Identity) error {
		if peer.Role == RoleTaskHost && peer.Job == job {
			return nil
		}
		return fmt.Errorf("%s, want a host of job %s: %w", peer, job, errNotAllowed)
	}
}

// OnlyServersOf accepts the ends from which a task host of a job reads records: other hosts of the job, and TaskExecutors, which serve
// the partitions that their hosts have left.
func OnlyServersOf(job ids.JobID) Accept {
	hosts := OnlyJob(job)
	return func(peer Identity) error {
		if peer.Role == RoleTaskExecutor {
			return nil
		}
		return hosts(peer)
	}
}

// JobOf returns the job of the task host at the other end of an established mutual connection.
func JobOf(state tls.ConnectionState) (ids.JobID, error) {
	peer, err := PeerIdentity(state)
	if err != nil {
		return "", err
	}
	if err := OnlyRole(RoleTaskHost)(peer); err != nil {
		return "", err
	}
	return peer.Job, nil
}

// ServerTLS returns the configuration of the listening end of mutual TLS 1.3. Peers must prove an
// identity of the same application, and accept must allow it.
func (c *Credentials) ServerTLS(accept Accept) *tls.Config {
	config := c.mutual(x509.ExtKeyUsageClientAuth, accept)
	config.ClientAuth = tls.RequireAnyClientCert // VerifyConnection checks it
	return config
}

// ClientTLS returns the configuration of the dialing end of mutual TLS 1.3.
func (c *Credentials) ClientTLS(accept Accept) *tls.Config {
	return c.mutual(x509.ExtKeyUsageServerAuth, accept)
}

func (c *Credentials) mutual(usage x509.ExtKeyUsage, accept Accept) *tls.Config {
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{c.certificate()},
		// Peers have identities, not host names. VerifyConnection checks the whole chain, and
		// replaces the check that is switched off here.
		InsecureSkipVerify:     true,
		VerifyConnection:       verifier(c.root(), c.identity.Application, usage, accept),
		SessionTicketsDisabled: true,
	}
}

// RESTServerTLS returns the configuration of the listening end of REST, or of a worker's door for
// Prometheus: TLS 1.3 without a certificate of the client, which sends a Token.
func (c *Credentials) RESTServerTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.certificate()}}
}

// RESTClientTLS returns the configuration of the dialing end of REST, for a client with the
// authority's certificate (PEM, from the staging directory).
func RESTClientTLS(authority []byte) (*tls.Config, error) {
	block, _ := pem.Decode(authority)
	if block == nil || block.Type != certificateBlock {
		return nil, fmt.Errorf("read authority's certificate: %w", errMalformed)
	}
	root, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read authority's certificate: %w: %w", errMalformed, err)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		NextProtos:         []string{ClientProtocol},
		InsecureSkipVerify: true, // VerifyConnection checks the chain and the identity
		VerifyConnection:   verifier(root, root.Subject.CommonName, x509.ExtKeyUsageServerAuth, OnlyRole(RoleREST)),
	}, nil
}

// PeerIdentity returns the identity of the other end of an established mutual connection.
func PeerIdentity(state tls.ConnectionState) (Identity, error) {
	if !state.HandshakeComplete || len(state.PeerCertificates) == 0 {
		return Identity{}, fmt.Errorf("peer without a certificate: %w", ErrIdentity)
	}
	return identityOf(state.PeerCertificates[0])
}

func (c *Credentials) certificate() tls.Certificate {
	certificate := tls.Certificate{PrivateKey: c.key, Leaf: c.chain[0]}
	for _, part := range c.chain[:len(c.chain)-1] { // peers have the authority's certificate
		certificate.Certificate = append(certificate.Certificate, part.Raw)
	}
	return certificate
}

// verifier makes the whole check of a peer: signatures up to the authority's, times, usage,
// issuers, the application, and accept.
func verifier(root *x509.Certificate, application string, usage x509.ExtKeyUsage, accept Accept) func(tls.ConnectionState) error {
	roots := x509.NewCertPool()
	roots.AddCert(root)
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return fmt.Errorf("peer without a certificate: %w", ErrIdentity)
		}
		intermediates := x509.NewCertPool()
		for _, certificate := range state.PeerCertificates[1:] {
			intermediates.AddCert(certificate)
		}
		leaf := state.PeerCertificates[0]
		chains, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: intermediates, KeyUsages: []x509.ExtKeyUsage{usage}})
		if err != nil {
			return fmt.Errorf("verify peer: %w", err)
		}
		peer, err := identityOf(leaf)
		if err != nil {
			return fmt.Errorf("verify peer: %w", err)
		}
		if peer.Application != application {
			return fmt.Errorf("verify peer %s for %s: %w", peer, application, errNotAllowed)
		}
		for _, chain := range chains {
			if err = checkIssuer(peer, chain); err == nil {
				return accept(peer)
			}
		}
		return fmt.Errorf("verify peer: %w", err)
	}
}
