package kerberos

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/types"
)

// For every krb5.conf, reading it returns an error that names a file, or a configuration that gokrb5 can use.
func FuzzParseConfig(f *testing.F) {
	for _, pattern := range []string{"*/etc/krb5.conf", "*/etc/krb5.conf.d/*", "*/etc/krb5-ciphers"} {
		files, err := filepath.Glob(filepath.Join("testdata/conf", pattern))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil { // one is a link to nowhere
				f.Add(text)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		// a file that includes itself, too
		files := fstest.MapFS{"etc/krb5.conf.d/a": {Data: text}, "etc/krb5.conf": {Data: text}}
		c, err := parseConfig(files, "/etc/krb5.conf", text)
		if err != nil {
			if placed := (*ConfigError)(nil); !errors.As(err, &placed) || placed.File == "" {
				t.Fatalf("error %v is no *ConfigError with a file", err)
			}
			return
		}
		lib := c.LibDefaults
		if len(lib.DefaultTktEnctypeIDs) == 0 || len(lib.DefaultTGSEnctypeIDs) == 0 || len(lib.PreferredPreauthTypes) == 0 {
			t.Error("no encryption type to ask for")
		}
		if lib.Clockskew < 0 || lib.TicketLifetime < 0 || lib.RenewLifetime < 0 {
			t.Errorf("negative: clock skew %v, lifetime %v, renewal %v", lib.Clockskew, lib.TicketLifetime, lib.RenewLifetime)
		}
		clone := c.Clone()
		for _, realm := range clone.Realms {
			if len(realm.KDC) > 0 {
				if n, _, err := clone.GetKDCs(realm.Realm, true); err != nil && realm.Realm != "" || n == 0 {
					t.Errorf("realm %q: %d KDCs, %v", realm.Realm, n, err)
				}
			}
		}
		c.RealmOf("host.example")
	})
}

// For every cache, gokrb5 accepts the result.
func FuzzParseCache(f *testing.F) {
	f.Add(readTestdata(f, "alice.ccache"))
	f.Add(readTestdata(f, "v3.ccache"))
	conf, err := ParseConfig("krb5.conf", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseCache("cache", data)
		if err != nil {
			return
		}
		if c.Principal.Realm != c.TGT.Server.Realm {
			t.Errorf("TGT of %s for %s", c.TGT.Server, c.Principal)
		}
		if _, err := client.NewFromCCache(c.Credentials(), conf.Config); err != nil {
			t.Errorf("gokrb5 refuses it: %v", err)
		}
	})
}

// For every keytab, gokrb5 finds the listed keys.
func FuzzParseKeytab(f *testing.F) {
	for _, name := range []string{"mixed.keytab", "rc4.keytab", "sha2.keytab"} {
		f.Add(readTestdata(f, name))
	}
	conf, err := ParseConfig("krb5.conf", []byte("[libdefaults]\ndefault_realm = EXAMPLE.TEST\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := ParseKeytab("keytab", data)
		if err != nil {
			return
		}
		for _, p := range k.Principals() {
			kt, own, err := k.Login(p, conf)
			if err != nil {
				continue
			}
			name := types.NewPrincipalName(1, p.Name())
			for _, id := range own.LibDefaults.DefaultTktEnctypeIDs {
				if _, _, err := kt.GetEncryptionKey(name, p.Realm, 0, id); err != nil && p.Realm != "" && p.Service != "" {
					t.Errorf("%q has no key of type %d, which a login would ask for", p, id)
				}
			}
		}
	})
}

// threeParts is a principal into which Hadoop puts a host. Hadoop splits at "/" and "@" alike.
var threeParts = regexp.MustCompile(`^([^/@]*)[/@]_HOST[/@]([^/@]*)$`)

// A principal has only one text. A server is accepted only if the configuration names it.
func FuzzPrincipal(f *testing.F) {
	for _, text := range []string{"alice@R", "rm/h1@R", "rm/_HOST@R", "rm/h1", "a/b/c@R", "@R", "a@", "a/@R", "a@b@c", "RM/H1@R", "rm/h1@R/x"} {
		f.Add(text, text, "", "H1")
		f.Add(text, "rm/_HOST@R", "", "h1")
		f.Add(text, "", "rm/*@R", "h1")
		f.Add(text, "", "{rm,nn}/[!a]?\\*@R", "")
	}
	f.Fuzz(func(t *testing.T, text, configured, pattern, host string) {
		p, err := ParsePrincipal(text)
		switch {
		case err != nil && (!errors.Is(err, ErrMalformedPrincipal) || p != Principal{}):
			t.Errorf("%q is %+v, %v", text, p, err)
		case err == nil && (p.String() != text || p.Service == ""):
			t.Errorf("%q is read as %q", text, p)
		}
		asked := func() (string, error) { return host, nil }
		want, wantErr := ServerPrincipal(configured, asked)
		parts := threeParts.FindStringSubmatch(configured)
		if wantErr == nil && want != configured && (host == "" || parts == nil || want != parts[1]+"/"+strings.ToLower(host)+"@"+parts[2]) {
			t.Errorf("%q at %q is %q", configured, host, want)
		}
		if err := (Server{Principal: configured}).Check(text, asked); err == nil && (text != want || wantErr != nil || text == "") {
			t.Errorf("%q is believed where %q is configured, at %q", text, configured, host)
		}
		if len(pattern) > 1<<10 { // patterns come from the site's own files
			return
		}
		if err := (Server{Principal: configured, Pattern: pattern}).Check(text, asked); err == nil && pattern != "" && !strings.ContainsAny(pattern, `*?[{\`) && text != pattern {
			t.Errorf("%q is believed where the pattern is %q", text, pattern)
		}
	})
}

// For every DNS answer, the result is addresses of hosts.
func FuzzLocate(f *testing.F) {
	f.Add("kdc1.example.", uint16(88), "kdc2.example.", uint16(0), true)
	f.Add(".", uint16(0), "", uint16(88), true)
	f.Add("kdc.example:99", uint16(88), "[::1]", uint16(88), false)
	f.Add("a b\x1b[2J", uint16(88), "]", uint16(88), true)
	conf, err := ParseConfig("krb5.conf", []byte("[libdefaults]\ndns_lookup_kdc = true\n"))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first string, port uint16, second string, otherPort uint16, tcp bool) {
		asked := conf.Clone()
		asked.lookup = func(_ context.Context, _, proto, _ string) (string, []*net.SRV, error) {
			if tcp != (proto == "tcp") {
				return "", nil, nil
			}
			return "", []*net.SRV{{Target: first, Port: port}, {Target: second, Port: otherPort}}, nil
		}
		found, err := asked.locate(t.Context(), "EXAMPLE.TEST")
		if err != nil {
			if !errors.Is(err, ErrKDC) || len(found) > 0 {
				t.Errorf("%q and %q: %q, %v", first, second, found, err)
			}
			return
		}
		for _, address := range found {
			host, number, err := net.SplitHostPort(address)
			if err != nil || host == "" || number == "0" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' }) {
				t.Errorf("%q and %q: address %q", first, second, address)
			}
		}
	})
}
