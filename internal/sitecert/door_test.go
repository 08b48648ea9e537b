package sitecert

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
)

// shake makes the handshake of a client with a door at 127.0.0.1, and returns what the client says.
func shake(t *testing.T, door, client *tls.Config) error {
	t.Helper()
	var listening net.ListenConfig
	l, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan struct{})
	go func() { // ends with the client's connection, or with the listener
		defer close(served)
		if conn, err := l.Accept(); err == nil {
			_ = tls.Server(conn, door).HandshakeContext(t.Context()) // the client says what went wrong
			_ = conn.Close()
		}
	}()
	defer func() { <-served }()
	plain, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	return tls.Client(plain, client).HandshakeContext(t.Context())
}

// TestEachClientGetsTheCertificateThatItKnows would catch a browser that is warned although the site has a certificate
// for the host, a command of bobbin that does not know its application any more, and a browser that gets the site's
// certificate for another host or after its end, where nobody can compare a fingerprint.
func TestEachClientGetsTheCertificateThatItKnows(t *testing.T) {
	t.Parallel()
	authority := sitecerttest.NewAuthority(t)
	issued := func(change func(*sitecerttest.Site), hosts ...string) *Certificate {
		s := sitecerttest.NewSite(t, hosts...)
		change(&s)
		own, issuer, key := authority.Issue(t, s)
		c, err := Parse(joined(append(own, issuer...), key))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	as := func(*sitecerttest.Site) {}
	ended := func(s *sitecerttest.Site) { s.Template.NotAfter = time.Now().Add(-time.Second) }
	application, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	front, err := application.IssueREST([]string{"node5", "node5.cluster.example", "127.0.0.1"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	bobbin, err := pki.RESTClientTLS(front.Authority())
	if err != nil {
		t.Fatal(err)
	}
	named := bobbin.Clone()
	named.ServerName = "node5.cluster.example"
	own := x509.NewCertPool()
	own.AppendCertsFromPEM(front.Authority())
	web := func(roots *x509.CertPool, host string, protocols ...string) *tls.Config {
		return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: host, NextProtos: protocols}
	}
	for name, test := range map[string]struct {
		site    *Certificate
		client  *tls.Config
		refused bool
	}{
		"a browser":                                 {issued(as, "*.cluster.example"), web(authority.Roots, "node5.cluster.example", "h2", "http/1.1"), false},
		"a client that asks by the address":         {issued(as, "127.0.0.1"), web(authority.Roots, "127.0.0.1"), false},
		"a browser that knows only the application": {issued(as, "*.cluster.example"), web(own, "node5.cluster.example"), true},
		"bobbin": {issued(as, "*.cluster.example"), named, false},
		"a browser, without a certificate of the site": {nil, web(own, "node5.cluster.example"), false},
		"a browser that asks for another name":         {issued(as, "*.cluster.example"), web(own, "node5"), false},
		"a client that asks by another address":        {issued(as, "10.0.0.5"), web(own, "127.0.0.1"), false},
		"a browser after the end":                      {issued(ended, "*.cluster.example"), web(own, "node5.cluster.example"), false},
	} {
		if err := shake(t, test.site.Door(front.RESTServerTLS()), test.client); (err != nil) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
