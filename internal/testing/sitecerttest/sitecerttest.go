// Package sitecerttest makes certificates of a site, for tests of what reads and serves them.
//
// It starts no goroutines. Only tests import the package.
package sitecerttest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority issues certificates: a root with an intermediate certificate, as sites have.
type Authority struct {
	Roots *x509.CertPool // what clients trust

	root   *x509.Certificate
	middle *x509.Certificate
	key    crypto.Signer
}

// NewAuthority makes an Authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Root of the site"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	rootKey, middleKey := NewKey(t), NewKey(t)
	middle := *root
	middle.SerialNumber, middle.Subject = big.NewInt(2), pkix.Name{CommonName: "Authority of the site"}
	a := &Authority{Roots: x509.NewCertPool(), root: sign(t, root, root, rootKey.Public(), rootKey), key: middleKey}
	a.Roots.AddCert(a.root)
	a.middle = sign(t, &middle, root, middleKey.Public(), rootKey)
	return a
}

// RootPEM is the root's certificate in PEM, for clients that read it from a file.
func (a *Authority) RootPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.Raw})
}

// NewKey makes a key of the usual kind.
func NewKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, template, issuer *x509.Certificate, key crypto.PublicKey, by crypto.Signer) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, issuer, key, by)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Site is a certificate with its key. Change fields before Issue.
type Site struct {
	Template x509.Certificate
	Key      crypto.Signer
}

// NewSite describes a usual certificate for hosts, which are names or addresses. It ends in a year.
func NewSite(t testing.TB, hosts ...string) Site {
	t.Helper()
	s := Site{Key: NewKey(t), Template: x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "site"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			s.Template.IPAddresses = append(s.Template.IPAddresses, address)
		} else {
			s.Template.DNSNames = append(s.Template.DNSNames, host)
		}
	}
	return s
}

// Issue returns the certificate and that of its issuer, and the key, as PEM.
func (a *Authority) Issue(t testing.TB, s Site) (own, issuer, key []byte) {
	t.Helper()
	leaf := sign(t, &s.Template, a.middle, s.Key.Public(), a.key)
	der, err := x509.MarshalPKCS8PrivateKey(s.Key)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", leaf.Raw), block("CERTIFICATE", a.middle.Raw), block("PRIVATE KEY", der)
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// Write issues a usual certificate for hosts, and returns the files with its chain and its key.
func (a *Authority) Write(t testing.TB, hosts ...string) (certificate, key string) {
	t.Helper()
	own, issuer, private := a.Issue(t, NewSite(t, hosts...))
	dir := t.TempDir()
	return File(t, dir, "site.pem", append(own, issuer...)), File(t, dir, "site.key", private)
}

// File writes a file that only its owner can read, and returns its path.
func File(t testing.TB, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
