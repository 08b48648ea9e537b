package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"

	"github.com/bobbin-yarn/bobbin/yarnrpc/secretfile"
)

func readTestdata(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/mit", name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// kept returns a copy of a file of MIT's library with the mode that kinit sets.
func kept(tb testing.TB, name string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, readTestdata(tb, name), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// A user who reads a cache has its tickets. A user who can write it, or has put it into /tmp under this
// user's name, chooses the identity of this process.
func TestATicketThatOthersCanReadOrPlantIsNotTaken(t *testing.T) {
	t.Parallel()
	path := kept(t, "alice.ccache")
	if _, err := ReadCache(path); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o620, 0o602} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ReadCache(path)
		if !errors.Is(err, secretfile.ErrExposed) || !strings.Contains(err.Error(), "chmod 600 "+path) || !strings.Contains(err.Error(), "KRB5CCNAME") {
			t.Errorf("mode %#o: %v, want ErrExposed and the remedy", mode, err)
		}
	}
	if os.Geteuid() != 0 {
		return // only root can put another user's file here
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.Chown(path, 12345, 12345)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadCache(path); !errors.Is(err, secretfile.ErrExposed) || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("a cache of another user: %v, want ErrExposed", err)
	}
}

// ReadCache must find what klist shows of these files.
func TestCachesOfMITAreRead(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		when, err := time.Parse("01/02/06 15:04:05", text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for file, want := range map[string]CacheEntry{
		"alice.ccache": {
			Server: Principal{"krbtgt", "EXAMPLE.TEST", "EXAMPLE.TEST"}, Enctype: 18, Start: at("11/21/26 13:10:54"),
			End: at("05/09/29 13:10:54"), RenewTill: at("10/30/34 13:10:54"), Forwardable: true,
		},
		"v3.ccache": {
			Server: Principal{"krbtgt", "EXAMPLE.TEST", "EXAMPLE.TEST"}, Enctype: 18, Start: at("11/21/26 13:10:54"),
			End: at("11/22/26 13:10:54"), Forwardable: true,
		},
	} {
		c, err := ReadCache(kept(t, file))
		if err != nil {
			t.Fatal(err)
		}
		if want := (Principal{Service: "alice", Realm: "EXAMPLE.TEST"}); c.Principal != want {
			t.Errorf("%s: principal %s, want %s", file, c.Principal, want)
		}
		if diff := cmp.Diff(want, c.TGT); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// gokrb5 must find the content of the file in its form of the cache, without the settings.
func TestGokrb5TakesTheCache(t *testing.T) {
	t.Parallel()
	c, err := ReadCache(kept(t, "alice.ccache"))
	if err != nil {
		t.Fatal(err)
	}
	cl, err := client.NewFromCCache(c.Credentials(), config.New())
	if err != nil {
		t.Fatal(err)
	}
	if got := cl.Credentials.UserName() + "@" + cl.Credentials.Realm(); got != "alice@EXAMPLE.TEST" {
		t.Errorf("client is %s", got)
	}
	ticket, key, ok := cl.GetCachedTicket("rm/rm1.example")
	if !ok || ticket.Realm != "EXAMPLE.TEST" || len(key.KeyValue) != 32 {
		t.Errorf("ticket of rm/rm1.example: %t, realm %q, key of %d bytes", ok, ticket.Realm, len(key.KeyValue))
	}
	var servers []string
	for _, credential := range c.Credentials().Credentials {
		servers = append(servers, credential.Server.PrincipalName.PrincipalNameString())
	}
	if diff := cmp.Diff([]string{"krbtgt/EXAMPLE.TEST", "rm/rm1.example", "krbtgt/OTHER.TEST"}, servers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// gokrb5's own reader panics on most of these.
func TestADamagedCacheIsAnError(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"alice.ccache", "v3.ccache"} {
		whole := readTestdata(t, file)
		for n := range whole {
			c, err := ParseCache("cut", whole[:n])
			if err == nil && len(c.Credentials().Credentials) >= 3 {
				t.Errorf("%s cut to %d bytes: no error", file, n)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "read credential cache cut: ") {
				t.Fatalf("the error does not name the file: %v", err)
			}
		}
	}
	for name, data := range map[string]string{
		"empty":                       "",
		"text":                        "[libdefaults]\n",
		"version 1":                   "\x05\x01",
		"components without number":   "\x05\x03\x00\x00\x00\x01\xff\xff\xff\xff\x00\x00\x00\x01R",
		"a realm of four gigabytes":   "\x05\x03\x00\x00\x00\x01\x00\x00\x00\x01\xff\xff\xff\xffR",
		"a header longer than a file": "\x05\x04\xff\xff\x00\x01",
	} {
		if _, err := ParseCache("bad", []byte(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestACacheWithoutTicketSaysKinit(t *testing.T) {
	t.Parallel()
	_, err := ReadCache(filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, ErrNoTicket) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "kinit") {
		t.Errorf("no file: %v", err)
	}
	// only the principal, as kdestroy and a failed kinit may leave it
	_, err = ParseCache("empty", readTestdata(t, "v3.ccache")[:2+4+4+4+len("EXAMPLE.TEST")+4+len("alice")])
	if !errors.Is(err, ErrNoTicket) || !strings.Contains(err.Error(), "alice@EXAMPLE.TEST") {
		t.Errorf("no credential: %v", err)
	}
}

func TestACachePrintsNoKey(t *testing.T) {
	t.Parallel()
	c, err := ReadCache(kept(t, "alice.ccache"))
	if err != nil {
		t.Fatal(err)
	}
	key := c.Credentials().Credentials[0].Key.KeyValue
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		shown := fmt.Sprintf(verb, c) + fmt.Sprintf(verb, *c)
		for _, form := range []string{fmt.Sprintf("%x", key), fmt.Sprint(key), string(key), fmt.Sprintf("%#v", key)} {
			if strings.Contains(shown, strings.Trim(form, "[]")) {
				t.Errorf("%s shows the key", verb)
			}
		}
	}
}

func TestFindCache(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{"primary": "tktA7\n", "bad/primary": "../../etc/passwd\n", "long/primary": strings.Repeat("tkt", 100)} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	uid := fmt.Sprint(os.Getuid())
	for name, c := range map[string]struct {
		variable, configured string
		want                 string // "" for an error
		remedy               string
	}{
		"nothing set":                  {want: "/tmp/krb5cc_" + uid},
		"a file":                       {variable: "FILE:/a/b", want: "/a/b"},
		"a path":                       {variable: "/a/b:c", want: "/a/b:c"},
		"a path from here":             {variable: "cache", want: "cache"},
		"the variable wins":            {variable: "FILE:/a", configured: "KCM:", want: "/a"},
		"the variable is not expanded": {variable: "FILE:/a%{uid}", want: "/a%{uid}"},
		"the configuration":            {configured: "FILE:/run/user/%{uid}/krb5cc%{null}", want: "/run/user/" + uid + "/krb5cc"},
		"a directory":                  {variable: "DIR:" + dir, want: dir + "/tktA7"},
		"a directory without primary":  {variable: "DIR:" + dir + "/none", want: dir + "/none/tkt"},
		"a file of a directory":        {variable: "DIR::" + dir + "/tktB", want: dir + "/tktB"},
		"a primary that leads away":    {variable: "DIR:" + dir + "/bad", remedy: "run kinit or kswitch"},
		"a primary without end":        {variable: "DIR:" + dir + "/long", remedy: "larger than"},
		"KCM":                          {configured: "KCM:", remedy: "set KRB5CCNAME=FILE:/tmp/krb5cc_"},
		"a keyring":                    {configured: "KEYRING:persistent:%{uid}", remedy: "KEYRING:persistent:" + uid + " (default_ccache_name)"},
		"memory":                       {variable: "MEMORY:x", remedy: "MEMORY:x (KRB5CCNAME)"},
		"the API of macOS":             {variable: "API:1234", remedy: "log in with a keytab"},
		"a token that is not known":    {configured: "FILE:%{LIBDIR}/x", remedy: "%{LIBDIR} is not supported"},
		"a token that does not end":    {configured: "FILE:%{uid", remedy: "no closing }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			getenv := func(name string) string {
				if name == "KRB5CCNAME" {
					return c.variable
				}
				return ""
			}
			got, err := FindCache(getenv, &Config{CacheName: c.configured})
			if got != c.want || (err == nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.remedy) {
				t.Errorf("%q, %v, want %q, %s", got, err, c.want, c.remedy)
			}
			var kind *CacheTypeError
			isKind := slices.Contains([]string{"KCM", "a keyring", "memory", "the API of macOS"}, name)
			if errors.As(err, &kind) != isKind {
				t.Errorf("%v is a CacheTypeError: %t", err, !isKind)
			}
		})
	}
	if got, err := FindCache(func(string) string { return "" }, nil); err != nil || got != "/tmp/krb5cc_"+uid {
		t.Errorf("without configuration: %q, %v", got, err)
	}
}
