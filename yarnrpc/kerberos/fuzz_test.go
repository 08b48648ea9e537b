package kerberos

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Whatever a krb5.conf holds, reading it ends with an error that names a file, or with
// a configuration that gokrb5 can work on.
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

// Whatever a cache holds, gokrb5 takes what we pass on.
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

// Whatever a keytab holds, gokrb5 finds the keys that we say there are.
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
