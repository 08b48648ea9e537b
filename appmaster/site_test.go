package appmaster

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
)

// dnsNames is a DNS: addresses of hosts, and hosts of addresses.
type dnsNames struct{ hosts, addresses map[string][]string }

func (n dnsNames) LookupHost(_ context.Context, host string) ([]string, error) {
	if net.ParseIP(host) != nil {
		return []string{host}, nil
	}
	if found := n.hosts[host]; found != nil {
		return found, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (n dnsNames) LookupAddr(_ context.Context, address string) ([]string, error) {
	if found := n.addresses[address]; found != nil {
		return found, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
}

// TestTheLinkHasANameThatIsCovered would catch a browser that is warned because YARN knows the node by a short name, and a
// link to another node, whose name somebody has given to an address.
func TestTheLinkHasANameThatIsCovered(t *testing.T) {
	t.Parallel()
	authority := sitecerttest.NewAuthority(t)
	dns := dnsNames{
		hosts: map[string][]string{
			"node5": {"10.0.0.5"}, "node5.cluster.example": {"10.0.0.5"}, "node6.cluster.example": {"10.0.0.6"}, "node7": {"10.0.0.7", "fd00::7"},
		},
		addresses: map[string][]string{"10.0.0.5": {"node5.old.test.", "node5.cluster.example."}, "10.0.0.7": {"node6.cluster.example."}},
	}
	const wild = "*.cluster.example"
	for _, test := range []struct {
		host, covers, want, logged string
	}{
		{"node5.cluster.example", wild, "node5.cluster.example", "level=info"},
		{"node5", wild, "node5.cluster.example", "level=info"},
		{"10.0.0.5", wild, "node5.cluster.example", "level=info"},
		{"node5", "10.0.0.5", "10.0.0.5", "level=info"},
		{"node7", "fd00::7", "fd00::7", "level=info"},
		{"node7", wild, "node7", "level=warning"}, // the name leads elsewhere
		{"node8", wild, "node8", "level=warning"}, // DNS does not know it
	} {
		var log bytes.Buffer
		logger := logrus.New()
		logger.SetOutput(&log)
		certificate, key := authority.Write(t, test.covers)
		site, err := sitecert.Read(certificate, key, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if got := newDoorName(test.host, site, dns, logger).find(t.Context()); got != test.want || !strings.Contains(log.String(), test.logged) {
			t.Errorf("%s with a certificate for %s is %s, want %s: %s", test.host, test.covers, got, test.want, &log)
		}
	}
	if got := newDoorName("node5", nil, dns, logrus.New()).find(t.Context()); got != "node5" {
		t.Errorf("without a certificate the name is %s", got)
	}
}

// dnsAway is a DNS that does not answer at first.
type dnsAway struct {
	dnsNames
	away  bool
	asked int
}

func (n *dnsAway) LookupHost(ctx context.Context, host string) ([]string, error) {
	n.asked++
	if n.away {
		<-ctx.Done()
		return nil, &net.DNSError{Err: "i/o timeout", Name: host, IsTimeout: true}
	}
	return n.dnsNames.LookupHost(ctx, host)
}

// TestOneSilenceOfDNSDoesNotCount would catch links by a name that the site's certificate does not cover, for the whole life of the
// ApplicationMaster, because DNS did not answer once; a log that says that the certificate is not for the node then; and a DNS
// that is asked for each link.
func TestOneSilenceOfDNSDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dns := &dnsAway{away: true, dnsNames: dnsNames{
			hosts:     map[string][]string{"node5": {"10.0.0.5"}, "node5.cluster.example": {"10.0.0.5"}},
			addresses: map[string][]string{"10.0.0.5": {"node5.cluster.example."}},
		}}
		certificate, key := sitecerttest.NewAuthority(t).Write(t, "*.cluster.example")
		site, err := sitecert.Read(certificate, key, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		logger, hook := logtest.NewNullLogger()
		d := newDoorName("node5", site, dns, logger)
		check := func(want string, asked int, lines ...string) {
			t.Helper()
			if got := d.find(t.Context()); got != want || dns.asked != asked {
				t.Errorf("the name is %s, and DNS was asked %d times; want %s, %d", got, dns.asked, want, asked)
			}
			var logged []string
			for _, e := range hook.AllEntries() {
				logged = append(logged, e.Message)
			}
			if !slices.EqualFunc(logged, lines, strings.HasPrefix) {
				t.Errorf("logged %q, want %q", logged, lines)
			}
		}
		const unknown = "it is not known whether"
		for range 3 {
			check("node5", 1, unknown)
		}
		time.Sleep(namePause)
		check("node5", 2, unknown)
		dns.away = false
		check("node5", 2, unknown)
		time.Sleep(namePause)
		for range 3 {
			check("node5.cluster.example", 4, unknown, "browsers get the site's")
		}
	})
}

// TestACertificateThatHasNotBegunIsToldSo would catch a clock that is wrong, and a log that says that the certificate has ended.
func TestACertificateThatHasNotBegunIsToldSo(t *testing.T) {
	t.Parallel()
	for line, change := range map[string]func(*x509.Certificate){
		"because it begins on": func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) },
		"because it ended on":  func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) },
	} {
		site := sitecerttest.NewSite(t, "node5")
		change(&site.Template)
		own, issuer, key := sitecerttest.NewAuthority(t).Issue(t, site)
		read, err := sitecert.Parse(bytes.Join([][]byte{key, own, issuer}, nil))
		if err != nil {
			t.Fatal(err)
		}
		logger, hook := logtest.NewNullLogger()
		newDoorName("node5", read, dnsNames{}, logger).find(t.Context())
		if e := hook.LastEntry(); e == nil || e.Level != logrus.WarnLevel || !strings.Contains(e.Message, line) {
			t.Errorf("logged %+v, want a warning with %q", e, line)
		}
	}
}

// TestTheSitesCertificateIsRead would catch a second attempt that does not start because the certificate has ended since,
// and one that starts without the file that the client has sent.
func TestTheSitesCertificateIsRead(t *testing.T) {
	t.Parallel()
	site := sitecerttest.NewSite(t, "node5")
	site.Template.NotAfter = time.Now().Add(-time.Second)
	own, issuer, key := sitecerttest.NewAuthority(t).Issue(t, site)
	dir := t.TempDir()
	path := filepath.Join(dir, launch.SiteFile)
	if _, err := readSite(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the file: %v", err)
	}
	sitecerttest.File(t, dir, launch.SiteFile, bytes.Join([][]byte{key, own, issuer}, nil))
	read, err := readSite(path)
	if err != nil || read.Serves("node5", time.Now()) || !read.Covers("node5") {
		t.Errorf("read %v, %v", read, err)
	}
	sitecerttest.File(t, dir, launch.SiteFile, own)
	if _, err := readSite(path); !errors.Is(err, sitecert.ErrUnusable) {
		t.Errorf("without the key: %v", err)
	}
}
