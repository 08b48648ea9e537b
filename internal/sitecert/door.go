package sitecert

import (
	"crypto/tls"
	"net"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// Server is the configuration of a server that has only the certificate that current returns, at each handshake again. It may
// be called from any goroutine, and never returns nil.
func Server(current func() *Certificate) *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &current().pair, nil },
		MinVersion:     tls.VersionTLS12,
	}
}

// Door adds the certificate to the configuration of a door, which has the application's own certificate. A client gets
// the site's if it can verify it: the certificate has not ended, and covers the name by which the client asks (SNI), or
// the door's address if it asks by none. All others get the application's, and so do clients that name
// pki.ClientProtocol, because they know the application. If c is nil, all get the application's.
func (c *Certificate) Door(own *tls.Config) *tls.Config {
	if c == nil {
		return own
	}
	site := own.Clone()
	site.Certificates = []tls.Certificate{c.pair}
	door := own.Clone()
	door.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if slices.Contains(hello.SupportedProtos, pki.ClientProtocol) || !c.Serves(asked(hello), time.Now()) {
			return nil, nil //nolint:nilnil // nil is the door's own configuration
		}
		return site, nil
	}
	return door
}

// asked is the name or the address by which a client asks for the door.
func asked(hello *tls.ClientHelloInfo) string {
	if hello.ServerName != "" {
		return hello.ServerName
	}
	host, _, err := net.SplitHostPort(hello.Conn.LocalAddr().String())
	if err != nil {
		return ""
	}
	return host
}
