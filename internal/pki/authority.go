package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

const (
	// lifetime is that of the authority's certificate. All certificates that it issues end at the
	// same time. It is longer than any application runs, because a TaskExecutor needs its
	// certificate for each new connection. A shorter lifetime would protect nothing: the
	// authority's key ends with the application, and a thief of one key could also steal its
	// successor.
	lifetime = 10 * 365 * 24 * time.Hour
	// clockSkew is how far a node's clock may be behind.
	clockSkew = time.Hour
)

// Authority is an application's certificate authority: an ECDSA P-256 key and its self-signed
// certificate. Any goroutine may use it.
type Authority struct {
	application string
	issuer      issuer
}

// issuer is a key that signs certificates, and the chain of its own certificate up to the
// authority's.
type issuer struct {
	key   *ecdsa.PrivateKey
	chain []*x509.Certificate
}

// NewAuthority makes the authority of an application.
func NewAuthority(application string, now time.Time) (*Authority, error) {
	if !plain(application) {
		return nil, fmt.Errorf("make authority of application %q: %w", application, ErrIdentity)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make authority of %s: %w", application, err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: application},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLen:            1, // one TaskExecutor between it and a host
	}
	certificate, err := sign(template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make authority of %s: %w", application, err)
	}
	return &Authority{application, issuer{key, []*x509.Certificate{certificate}}}, nil
}

// IssueApplicationMaster issues the AM's certificate for the streams between roles.
func (a *Authority) IssueApplicationMaster(now time.Time) (*Credentials, error) {
	return a.issuer.issue(Identity{Application: a.application, Role: RoleApplicationMaster}, nil, now)
}

// IssueREST issues the certificate of the REST endpoint. hosts are its names and addresses, for
// clients other than Bobbin's. Bobbin's clients check the identity.
func (a *Authority) IssueREST(hosts []string, now time.Time) (*Credentials, error) {
	return a.issuer.issue(Identity{Application: a.application, Role: RoleREST}, hosts, now)
}

// IssueTaskExecutor issues the certificate of the TaskExecutor in a container. With it the
// TaskExecutor issues the certificates of its task hosts. hosts are its names and addresses, for
// clients other than Bobbin's, such as Prometheus.
func (a *Authority) IssueTaskExecutor(container ids.ResourceID, now time.Time, hosts ...string) (*Credentials, error) {
	return a.issuer.issue(Identity{Application: a.application, Role: RoleTaskExecutor, Resource: container}, hosts, now)
}

// errNotIssuer says that credentials are not a TaskExecutor's, and so may not issue others.
var errNotIssuer = errors.New("credentials may not issue certificates")

// IssueTaskHost issues the credentials of a TaskExecutor's host for a job. Only a TaskExecutor's
// credentials can do this.
func (c *Credentials) IssueTaskHost(job ids.JobID, now time.Time) (*Credentials, error) {
	if c.identity.Role != RoleTaskExecutor {
		return nil, fmt.Errorf("issue task host of job %s as %s: %w", job, c.identity, errNotIssuer)
	}
	host := Identity{Application: c.identity.Application, Role: RoleTaskHost, Job: job, Resource: c.identity.Resource}
	return c.issuer().issue(host, nil, now)
}

func (i issuer) issue(id Identity, hosts []string, now time.Time) (*Credentials, error) {
	if _, err := parseIdentity(id.String()); err != nil {
		return nil, fmt.Errorf("issue certificate: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("issue certificate of %s: %w", id, err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: string(id.Role)},
		URIs:                  []*url.URL{id.url()},
		NotBefore:             now.Add(-clockSkew),
		NotAfter:              i.chain[0].NotAfter,
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true,
	}
	if id.Role == RoleTaskExecutor {
		template.IsCA, template.MaxPathLenZero = true, true
		template.KeyUsage |= x509.KeyUsageCertSign
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	certificate, err := sign(template, i.chain[0], &key.PublicKey, i.key)
	if err != nil {
		return nil, fmt.Errorf("issue certificate of %s: %w", id, err)
	}
	return &Credentials{identity: id, key: key, chain: append([]*x509.Certificate{certificate}, i.chain...)}, nil
}

// sign signs a certificate. x509 draws its serial number at random (RFC 5280 §4.1.2.2).
func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, key *ecdsa.PrivateKey) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}
