package sitecert

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// ErrUnusable says that a certificate or its key cannot be used. The text says why, and what to do.
var ErrUnusable = errors.New("certificate cannot be used")

const (
	// maxFile bounds each of the two files, in bytes. A chain has some certificates of 1 to 2 KiB.
	maxFile = 64 << 10
	// soon is how long before its end a certificate is worth a warning.
	soon = 30 * 24 * time.Hour
)

// Certificate is a certificate of the site with its key and the certificates of its issuers. It is immutable, and nil
// is none. Its printed form does not contain the key.
type Certificate struct {
	pair tls.Certificate
	text []byte
}

// Read reads a certificate and its key from files of this machine, and checks them at a time. The errors are those of
// Parse, ErrUnusable if the time is not within the life of the certificate, and those of the file system.
func Read(certificate, key string, now time.Time) (*Certificate, error) {
	chain, err := readFile(certificate)
	if err != nil {
		return nil, err
	}
	private := chain // one file may hold both
	if key != certificate {
		if private, err = readFile(key); err != nil {
			return nil, err
		}
	}
	if err := checkForm(certificate, chain, certificateBlock); err != nil {
		return nil, err
	}
	if err := checkForm(key, private, ""); err != nil {
		return nil, err
	}
	c, err := Parse(joined(chain, private))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", certificate, err)
	}
	if untimely := c.Untimely(now); untimely != "" {
		remedy := "get a new one"
		if now.Before(c.Begins()) {
			remedy = "check the clock of this machine"
		}
		return nil, unusable("%s: %s: %s", certificate, untimely, remedy)
	}
	return c, nil
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUnusable}, args...)...)
}

func date(t time.Time) string { return t.Local().Format("2006-01-02 15:04 MST") }

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // read only: nothing to lose
	if info, err := file.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, unusable("%s: %w: it is not a regular file", path, fs.ErrInvalid)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(text) > maxFile {
		return nil, unusable("%s: it has more than %d bytes: name a file with only this certificate and its issuers", path, maxFile)
	}
	return text, nil
}

// joined is one text with the blocks of both: the key's block, then the certificates, each once.
func joined(chain, key []byte) []byte {
	var text bytes.Buffer
	for _, of := range []struct {
		text []byte
		want func(kind string) bool
	}{{key, isKey}, {chain, func(kind string) bool { return kind == certificateBlock }}} {
		for block, rest := pem.Decode(of.text); block != nil; block, rest = pem.Decode(rest) {
			if of.want(block.Type) {
				text.Write(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})) // a bytes.Buffer does not fail
			}
		}
	}
	return text.Bytes()
}

// Parse parses what PEM has returned, and checks all but the time. The error wraps ErrUnusable.
func Parse(text []byte) (*Certificate, error) {
	chain, err := certificatesOf(text)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(text, text)
	if err != nil {
		if at := slices.IndexFunc(chain, func(c *x509.Certificate) bool { return fits(c, text) }); at > 0 {
			return nil, unusable("the certificate of the key is number %d in the file: put it first, and then its issuers", at+1)
		}
		return nil, unusable("the key does not belong to it: %w", err)
	}
	if err := checkChain(chain); err != nil {
		return nil, err
	}
	pair.Leaf = chain[0]
	return &Certificate{pair: pair, text: text}, nil
}

func certificatesOf(text []byte) (chain []*x509.Certificate, err error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != certificateBlock {
			continue
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, unusable("certificate %d of the file is damaged: %w", len(chain)+1, err)
		}
		chain = append(chain, parsed)
	}
	if len(chain) == 0 {
		return nil, unusable("the file has no certificate")
	}
	return chain, nil
}

// fits reports whether a certificate is that of the key in a text.
func fits(c *x509.Certificate, text []byte) bool {
	_, err := tls.X509KeyPair(pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: c.Raw}), text)
	return err == nil
}

// PEM returns the certificate with its key as one secret, for Parse.
func (c *Certificate) PEM() []byte { return slices.Clone(c.text) }

// Equal reports whether both are the same certificate with the same key. Neither is nil.
func (c *Certificate) Equal(other *Certificate) bool { return bytes.Equal(c.text, other.text) }

func (c *Certificate) String() string {
	return fmt.Sprintf("certificate of the site for %v", c.Names())
}

// GoString keeps the key out of %#v.
func (c *Certificate) GoString() string { return c.String() }

// Begins is when the certificate begins to count.
func (c *Certificate) Begins() time.Time { return c.pair.Leaf.NotBefore }

// Ends is when the certificate ends.
func (c *Certificate) Ends() time.Time { return c.pair.Leaf.NotAfter }

// Names are the names and addresses that it covers, such as *.cluster.example.
func (c *Certificate) Names() []string {
	names := slices.Clone(c.pair.Leaf.DNSNames)
	for _, address := range c.pair.Leaf.IPAddresses {
		names = append(names, address.String())
	}
	return names
}

// Covers reports whether it is for a host, which is a name or an address.
func (c *Certificate) Covers(host string) bool { return c.pair.Leaf.VerifyHostname(host) == nil }

// Serves reports whether clients that ask for a host can verify it at a time. It is false for nil.
func (c *Certificate) Serves(host string, now time.Time) bool {
	return c != nil && c.Untimely(now) == "" && c.Covers(host)
}

// Untimely says in a clause that a time is outside the life of the certificate; "" if it is within.
func (c *Certificate) Untimely(now time.Time) string {
	switch {
	case now.After(c.Ends()):
		return "it ended on " + date(c.Ends())
	case now.Before(c.Begins()):
		return "it begins on " + date(c.Begins())
	}
	return ""
}

// Advice says in one line that the certificate ends soon; "" if it does not.
func (c *Certificate) Advice(now time.Time) string {
	left := c.Ends().Sub(now)
	if left >= soon {
		return ""
	}
	return fmt.Sprintf("the site's certificate ends on %s, in %d days", date(c.Ends()), int(max(left, 0)/(24*time.Hour)))
}
