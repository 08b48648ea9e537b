package kerberos

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// It would catch a program that logs in as another user than the commands on the same
// machine.
func TestTheLoginOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ticket := kept(t, "alice.ccache")
	plain := write("krb5.conf", "[libdefaults]\ndefault_realm = EXAMPLE.TEST\n")
	naming := write("naming.conf", "[libdefaults]\ndefault_realm = OTHER.TEST\ndefault_ccache_name = FILE:"+ticket+"\n")
	for name, test := range map[string]struct {
		conf, cache string
		realm       string // "" for an error
		want        error
		text        string // in the error
	}{
		"the cache of the variable":    {conf: plain, cache: "FILE:" + ticket, realm: "EXAMPLE.TEST"},
		"the cache of the krb5.conf":   {conf: naming, realm: "OTHER.TEST"},
		"no krb5.conf":                 {conf: filepath.Join(dir, "gone"), cache: ticket, want: fs.ErrNotExist},
		"a cache that is not there":    {conf: plain, cache: filepath.Join(dir, "gone"), want: ErrNoTicket},
		"a cache that is out of reach": {conf: plain, cache: "KCM:", text: "KRB5CCNAME=FILE:"},
	} {
		t.Run(name, func(t *testing.T) {
			login, err := FromEnvironment(func(name string) string {
				return map[string]string{"KRB5_CONFIG": test.conf, "KRB5CCNAME": test.cache}[name]
			})
			if test.realm == "" {
				if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
					t.Errorf("error %v, want %v that says %q", err, test.want, test.text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if who := login.Principal().String(); who != "alice@EXAMPLE.TEST" || login.DefaultRealm() != test.realm {
				t.Errorf("logged in as %s where the default realm is %s, want alice@EXAMPLE.TEST in %s", who, login.DefaultRealm(), test.realm)
			}
		})
	}
}
