package sitecert

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/testing/sitecerttest"
)

// bytesOf joins blocks of PEM.
func bytesOf(blocks ...[]byte) []byte { return slices.Concat(blocks...) }

// TestGoodFilesAreRead would catch a form of the files that the tools of a site write and that is refused, and a
// certificate that the master does not get as the client has read it.
func TestGoodFilesAreRead(t *testing.T) {
	t.Parallel()
	authority := sitecerttest.NewAuthority(t)
	site := sitecerttest.NewSite(t, "*.cluster.example", "10.0.0.5")
	own, issuer, key := authority.Issue(t, site)
	long, err := rsa.GenerateKey(rand.Reader, minRSA)
	if err != nil {
		t.Fatal(err)
	}
	ofRSA := site
	ofRSA.Key = long
	rsaOwn, rsaIssuer, _ := authority.Issue(t, ofRSA)
	old := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(long)})
	for name, files := range map[string][2][]byte{
		"a chain and a key":              {bytesOf(own, issuer), key},
		"a certificate without issuers":  {own, key},
		"all in both files":              {bytesOf(key, own, issuer), bytesOf(key, own, issuer)},
		"words between the blocks":       {bytesOf([]byte("Bag Attributes\n"), own, []byte("\nsubject=CN = x\n"), issuer), key},
		"a key of RSA in its older form": {bytesOf(rsaOwn, rsaIssuer), old},
	} {
		dir := t.TempDir()
		c, err := Read(sitecerttest.File(t, dir, "c", files[0]), sitecerttest.File(t, dir, "k", files[1]), time.Now())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := Parse(c.PEM())
		if err != nil || !slices.EqualFunc(again.pair.Certificate, c.pair.Certificate, slices.Equal) || !again.Covers("node5.cluster.example") {
			t.Errorf("%s: the master reads %v, %v", name, again, err)
		}
		if got := fmt.Sprintf("%v %+v %#v", c, c, c); strings.Contains(got, "PRIVATE") || !strings.Contains(got, "*.cluster.example 10.0.0.5") {
			t.Errorf("%s: it is printed as %s", name, got)
		}
	}
}

// TestBadFilesAreRefused would catch a submission with files that no browser can use, and a refusal without a remedy.
func TestBadFilesAreRefused(t *testing.T) {
	t.Parallel()
	authority := sitecerttest.NewAuthority(t)
	site := sitecerttest.NewSite(t, "node5")
	own, issuer, key := authority.Issue(t, site)
	_, _, other := authority.Issue(t, sitecerttest.NewSite(t, "node5"))
	_, stranger, _ := sitecerttest.NewAuthority(t).Issue(t, site)
	changed := func(change func(*sitecerttest.Site)) [2][]byte {
		s := sitecerttest.NewSite(t, "node5")
		change(&s)
		own, issuer, key := authority.Issue(t, s)
		return [2][]byte{bytesOf(own, issuer), key}
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := pem.Decode(own)
	encrypted := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte{0x30}})
	for name, test := range map[string]struct {
		files [2][]byte
		want  string
	}{
		"the key of another":        {[2][]byte{bytesOf(own, issuer), other}, "the key does not belong to it"},
		"the issuer first":          {[2][]byte{bytesOf(issuer, own), key}, "number 2 in the file: put it first"},
		"a stranger as the issuer":  {[2][]byte{bytesOf(own, stranger), key}, "certificate 1 of the file is not issued by number 2"},
		"no key":                    {[2][]byte{bytesOf(own, issuer), own}, "no private key in PEM"},
		"no certificate":            {[2][]byte{key, key}, "no certificate in PEM"},
		"an encrypted key":          {[2][]byte{own, encrypted}, "openssl pkey -in"},
		"a keystore of Java":        {[2][]byte{{0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2}, key}, "keytool -importkeystore"},
		"a keystore":                {[2][]byte{{0x30, 0x82, 1, 2}, key}, "openssl pkcs12 -in"},
		"a keystore as the key":     {[2][]byte{own, {0x30, 0x82, 1, 2}}, "openssl pkcs12 -in"},
		"DER":                       {[2][]byte{der.Bytes, key}, "openssl x509 -inform der"},
		"a damaged certificate":     {[2][]byte{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der.Bytes[:99]}), key}, "certificate 1 of the file is damaged"},
		"more than a chain":         {[2][]byte{make([]byte, maxFile+1), key}, "more than 65536 bytes"},
		"one that has ended":        {changed(func(s *sitecerttest.Site) { s.Template.NotAfter = time.Now().Add(-time.Minute) }), "it ended on"},
		"one that has not begun":    {changed(func(s *sitecerttest.Site) { s.Template.NotBefore = time.Now().Add(time.Hour) }), "check the clock"},
		"one without a name":        {changed(func(s *sitecerttest.Site) { s.Template.DNSNames = nil }), "subjectAltName"},
		"one of a client":           {changed(func(s *sitecerttest.Site) { s.Template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), "serverAuth"},
		"a short key":               {changed(func(s *sitecerttest.Site) { s.Key = short }), "1024 bits"},
		"a key of the newest kind":  {changed(func(s *sitecerttest.Site) { s.Key = edwards }), "Ed25519"},
		"neither, but an empty one": {[2][]byte{nil, nil}, "no certificate in PEM"},
	} {
		dir := t.TempDir()
		_, err := Read(sitecerttest.File(t, dir, "c", test.files[0]), sitecerttest.File(t, dir, "k", test.files[1]), time.Now())
		if !errors.Is(err, ErrUnusable) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	dir := t.TempDir()
	good := sitecerttest.File(t, dir, "c", own)
	if _, err := Read(dir+"/nowhere", good, time.Now()); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir+"/nowhere") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Read(good, dir, time.Now()); !errors.Is(err, ErrUnusable) {
		t.Errorf("a directory: %v", err)
	}
}

// TestTheRemedyOfAKeystoreWorks would catch a command in a message that does not do what the message says.
func TestTheRemedyOfAKeystoreWorks(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Fatalf("this test needs openssl, such as Debian's: %v", err)
	}
	certificate, key := sitecerttest.NewAuthority(t).Write(t, "node5")
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), openssl, args...)
		command.Dir = dir
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("openssl %v: %v: %s", args, err, out)
		}
	}
	run("pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", "site.p12", "-passout", "pass:x")
	if _, err := Read(dir+"/site.p12", dir+"/site.p12", time.Now()); err == nil || !strings.Contains(err.Error(), "openssl pkcs12 -in "+dir+"/site.p12 -nodes -out rest.pem") {
		t.Fatalf("a keystore: %v", err)
	}
	run("pkcs12", "-in", dir+"/site.p12", "-nodes", "-out", "rest.pem", "-passin", "pass:x")
	if c, err := Read(dir+"/rest.pem", dir+"/rest.pem", time.Now()); err != nil || !c.Covers("node5") {
		t.Errorf("the converted file: %v, %v", c, err)
	}
	run("pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", "locked.key")
	if _, err := Read(certificate, dir+"/locked.key", time.Now()); err == nil || !strings.Contains(err.Error(), "openssl pkey -in "+dir+"/locked.key -out rest.key") {
		t.Fatalf("an encrypted key: %v", err)
	}
	run("pkey", "-in", dir+"/locked.key", "-out", "rest.key", "-passin", "pass:x")
	if _, err := Read(certificate, dir+"/rest.key", time.Now()); err != nil {
		t.Errorf("the decrypted key: %v", err)
	}
}

// TestTheEndIsToldBefore would catch a certificate that ends without a warning.
func TestTheEndIsToldBefore(t *testing.T) {
	t.Parallel()
	certificate, key := sitecerttest.NewAuthority(t).Write(t, "node5")
	c, err := Read(certificate, key, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for left, want := range map[time.Duration]string{31 * 24 * time.Hour: "", 29*24*time.Hour + time.Minute: "in 29 days", -time.Hour: "in 0 days"} {
		if got := c.Advice(c.Ends().Add(-left)); (got == "") != (want == "") || !strings.HasSuffix(got, want) {
			t.Errorf("%v before its end: %q, want %q", left, got, want)
		}
	}
	var none *Certificate
	own := &tls.Config{MinVersion: tls.VersionTLS13}
	if none.Serves("node5", time.Now()) || none.Door(own) != own {
		t.Error("no certificate serves somebody")
	}
}
