package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jcmturner/gokrb5/v8/config"
)

// stock reads a krb5.conf in the style of a distribution, with its root directory.
func stock(t *testing.T, distribution string) *Config {
	t.Helper()
	root := os.DirFS(filepath.Join("testdata/conf", distribution))
	text, err := fs.ReadFile(root, "etc/krb5.conf")
	if err != nil {
		t.Fatal(err)
	}
	c, err := parseConfig(root, "/etc/krb5.conf", text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// On each of these machines, gokrb5 alone refuses or misreads krb5.conf.
func TestStockConfigurationsLoad(t *testing.T) {
	t.Parallel()
	// the main settings of a client
	type facts struct {
		Realm, Cache                   string
		Canonicalize, RDNS, DNS        bool
		Lifetime, Renew, Skew          time.Duration
		Permitted, Requested           []int32
		KDCs                           map[string][]string
		Domains                        config.DomainRealm
		UDP                            int
		Forwardable, Proxiable, Aliase bool
	}
	all := []int32{18, 17, 20, 19, 16, 23}
	for distribution, want := range map[string]facts{
		"rhel": {
			Realm: "CORP.EXAMPLE", Cache: "KEYRING:persistent:%{uid}", DNS: true,
			Lifetime: 24 * time.Hour, Renew: 7 * 24 * time.Hour, Skew: 5 * time.Minute,
			Permitted: []int32{20, 18, 19, 17}, Requested: []int32{20, 18, 19, 17},
			KDCs: map[string][]string{"CORP.EXAMPLE": {"kdc1.corp.example:88", "kdc2.corp.example:750"}},
			Domains: config.DomainRealm{
				"corp.example": "CORP.EXAMPLE", ".corp.example": "CORP.EXAMPLE",
			},
			UDP: 1465, Forwardable: true,
		},
		"fedora": {
			Realm: "FEDORA.EXAMPLE", Cache: "KCM:", DNS: true,
			Lifetime: 24 * time.Hour, Renew: 7 * 24 * time.Hour, Skew: 5 * time.Minute,
			Permitted: []int32{18, 17, 20, 19}, Requested: []int32{18, 17, 20, 19},
			KDCs: map[string][]string{}, Domains: config.DomainRealm{}, UDP: 1465, Forwardable: true,
		},
		"debian": {
			Realm: "DEB.EXAMPLE", Canonicalize: true, DNS: true,
			Lifetime: 24 * time.Hour, Skew: 5 * time.Minute,
			Permitted: all, Requested: all,
			KDCs: map[string][]string{
				"DEB.EXAMPLE": {"kdc.deb.example:88", "kdc-2.deb.example:88"},
				"OLD.EXAMPLE": {"kerberos.old.example:88"},
			},
			Domains: config.DomainRealm{
				".old.example": "OLD.EXAMPLE", "deb.example": "DEB.EXAMPLE", ".deb.example": "DEB.EXAMPLE",
			},
			UDP: 1465, Forwardable: true, Proxiable: true,
		},
		"ad": {
			Realm: "AD.EXAMPLE", Cache: "FILE:/tmp/krb5cc_%{uid}", Canonicalize: true, RDNS: true, DNS: true,
			Lifetime: 10 * time.Hour, Renew: 7 * 24 * time.Hour, Skew: 150 * time.Second,
			Permitted: all, Requested: []int32{18, 23},
			KDCs: map[string][]string{
				"AD.EXAMPLE":      {"dc1.ad.example:88", "dc2.ad.example:88", "dc3.ad.example:88"},
				"PARTNER.EXAMPLE": {"[2001:db8::88]:88", "[2001:db8::89]:88", "kdc.partner.example:88"},
			},
			Domains: config.DomainRealm{"ad.example": "AD.EXAMPLE", ".ad.example": "AD.EXAMPLE"},
			Aliase:  true,
		},
	} {
		t.Run(distribution, func(t *testing.T) {
			t.Parallel()
			c := stock(t, distribution)
			lib := c.LibDefaults
			got := facts{
				Realm: lib.DefaultRealm, Cache: c.CacheName,
				Canonicalize: lib.DNSCanonicalizeHostname, RDNS: lib.RDNS, DNS: lib.DNSLookupKDC,
				Lifetime: lib.TicketLifetime, Renew: lib.RenewLifetime, Skew: lib.Clockskew,
				Permitted: lib.PermittedEnctypeIDs, Requested: lib.DefaultTktEnctypeIDs,
				KDCs: map[string][]string{}, Domains: c.DomainRealm, UDP: lib.UDPPreferenceLimit,
				Forwardable: lib.Forwardable, Proxiable: lib.Proxiable, Aliase: lib.Canonicalize,
			}
			for _, realm := range c.Realms {
				got.KDCs[realm.Realm] = realm.KDC
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if first := lib.PreferredPreauthTypes[0]; first != int(want.Requested[0]) {
				t.Errorf("gokrb5 would begin a login with encryption type %d, which nobody asked for", first)
			}
		})
	}
}

// Hadoop's check of a server's realm and gokrb5's choice of a KDC depend on this.
func TestRealmOfAHost(t *testing.T) {
	t.Parallel()
	c := stock(t, "debian")
	for host, want := range map[string]string{
		"rm.old.example":      "OLD.EXAMPLE",
		"RM.Old.Example":      "OLD.EXAMPLE",
		"a.b.old.example":     "OLD.EXAMPLE",
		"old.example":         "DEB.EXAMPLE", // ".old.example" means only its hosts
		"deb.example":         "DEB.EXAMPLE",
		"nm7.deb.example":     "DEB.EXAMPLE",
		"elsewhere.example":   "DEB.EXAMPLE",
		"fold.example":        "DEB.EXAMPLE",
		"rm.old.example.com.": "DEB.EXAMPLE",
	} {
		if got := c.RealmOf(host); got != want {
			t.Errorf("realm of %s is %s, want %s", host, got, want)
		}
	}
}

func TestRelationsAreReadAsMITReadsThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want string // default_realm
	}{
		"the first of two counts":              {"[libdefaults]\ndefault_realm = A\ndefault_realm = B", "A"},
		"sections are merged":                  {"[libdefaults]\nx = y\n[realms]\n[libdefaults]\ndefault_realm = A", "A"},
		"a final section goes on in its file":  {"[libdefaults]*\nx = y\n[libdefaults]\ndefault_realm = A", "A"},
		"a brace on a line of its own":         {"[libdefaults]\nX =\n{\ndefault_realm = A\n}\ndefault_realm = B", "B"},
		"a brace that is never closed":         {"[libdefaults]\ndefault_realm = B\nX = {\ndefault_realm = A", "B"},
		"a value in quotes":                    {"[libdefaults]\ndefault_realm = \"A\\tB\" rest", "A\tB"},
		"a mark is a value's inside of quotes": {"[libdefaults]\ndefault_realm = \"A # B\"", "A # B"},
		"a comment behind a value":             {"[libdefaults]\ndefault_realm = A # B", "A"},
		"a mark without space before it":       {"[libdefaults]\ndefault_realm = A#B", "A#B"},
		"text before the first section":        {"default_realm = A\n[libdefaults]\ndefault_realm = B", "B"},
		"of braces nothing leaks out":          {"[libdefaults]\nX = {\ndefault_realm = A\n}\ndefault_realm = B", "B"},
		"an empty value":                       {"[libdefaults]\nx =\ndefault_realm = A", "A"},
		"no newline at the end, and a mark":    {"\ufeff[libdefaults]\r\ndefault_realm = A\r", "A"},
		"a tag that begins like a directive":   {"[libdefaults]\ninclude = A\nincluded = B\ndefault_realm = C", "C"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseConfig(fstest.MapFS{}, "krb5.conf", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if got.LibDefaults.DefaultRealm != c.want {
				t.Errorf("default_realm %q, want %q", got.LibDefaults.DefaultRealm, c.want)
			}
		})
	}
}

// An error must name the line to change.
func TestAFaultNamesFileAndLine(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"etc/bad":     {Data: []byte("[realms]\nA = {\n[realms]\n")},
		"etc/loop":    {Data: []byte("include /etc/loop\n")},
		"etc/d/a":     {Data: []byte("[realms]\nincludedir /etc/d\n")},
		"etc/d/b":     {Data: []byte("includedir /etc/d\n")},
		"etc/big":     {Data: make([]byte, maxConfigBytes+1)},
		"etc/closing": {Data: []byte("[realms]\n\n}\n")},
	}
	for _, c := range []struct{ text, want string }{
		{"[libdefaults]\nforwardable\n", "krb5.conf:2: line \"forwardable\" is not tag = value"},
		{"[libdefaults\n", "krb5.conf:1: section header"},
		{"[realms]\nA = {\n[libdefaults]", "krb5.conf:3: section [libdefaults] inside of braces"},
		{"include /etc/bad", "/etc/bad:3: section [realms] inside of braces"},
		{"include /etc/closing", "/etc/closing:3: \"}\" without its \"{\""},
		{"\ninclude /etc/none", "krb5.conf:2: include /etc/none: file does not exist; create"},
		{"include d", "krb5.conf:1: include d: write the absolute path"},
		{"include /etc/loop", "/etc/loop:1: include /etc/loop: nested deeper than 10"},
		{"includedir /etc/d", "/etc/d/a:2: includedir /etc/d: nested deeper than 10"},
		{"include /etc/big", "/etc/big: larger than"},
		{"[libdefaults]\nticket_lifetime = soon", "krb5.conf:2: ticket_lifetime: \"soon\" is no duration"},
		{"[libdefaults]\npermitted_enctypes = camellia256-cts", "krb5.conf:2: permitted_enctypes: none of"},
		{"[libdefaults]\n" + strings.Repeat("a = {\n", 17), "krb5.conf:17: braces nested deeper than 16"},
		{"[libdefaults]\n" + strings.Repeat("a = b\n", 10_001), "krb5.conf:10001: more than 10000 relations"},
		{"[libdefaults]\npermitted_enctypes = DEFAULT -aes -rc4 -des3", "krb5.conf:2: permitted_enctypes: none of"},
	} {
		_, err := parseConfig(files, "krb5.conf", []byte(c.text))
		var placed *ConfigError
		if !errors.As(err, &placed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestWhichFilesOfADirectoryAreIncluded(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{}
	for i, name := range []string{"a", "B-2_c", "x.conf", "ü.conf", "a~", "b.rpmnew", ".hidden", ".hidden.conf", "c.d", "ü"} {
		files["etc/d/"+name] = &fstest.MapFile{Data: fmt.Appendf(nil, "[domain_realm]\nhost%d = R\n", i)}
	}
	files["etc/d/sub/z"] = &fstest.MapFile{Data: []byte("[domain_realm]\nz = R\n")}
	c, err := parseConfig(files, "krb5.conf", []byte("includedir /etc/d/\nincludedir /etc/none"))
	if err != nil {
		t.Fatal(err)
	}
	want := config.DomainRealm{}
	for _, i := range []string{"host0", "host1", "host2", "host3"} {
		want[i], want["."+i] = "R", "R"
	}
	if diff := cmp.Diff(want, c.DomainRealm); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadConfigTakesTheFilesThatThereAre(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := write("first", "[libdefaults]\ndefault_realm = A\n[realms]\nA = {\nkdc = a\n}\n")
	second := write("second", "[libdefaults]\ndefault_realm = B\nforwardable = on\n[realms]\nA = {\nkdc = b\n}\n")
	load := func(list string) (*Config, error) {
		return LoadConfig(func(name string) string {
			if name == "KRB5_CONFIG" {
				return list
			}
			return ""
		})
	}
	c, err := load(filepath.Join(dir, "none") + ":" + first + "::" + second)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:88", "b:88"}, c.Realms[0].KDC); diff != "" || c.LibDefaults.DefaultRealm != "A" || !c.LibDefaults.Forwardable {
		t.Errorf("realm %s, forwardable %t, KDCs (-want +got):\n%s", c.LibDefaults.DefaultRealm, c.LibDefaults.Forwardable, diff)
	}

	for name, text := range map[string]string{
		"a final section":    "[libdefaults]\ndefault_realm = A\n[realms]*\nA = {\nkdc = a\n}\n[realms]\nA = {\nkdc = c\n}\n",
		"a final subsection": "[libdefaults]\ndefault_realm = A\n[realms]\nA = {\nkdc = a\n}*\nA = {\nkdc = c\n}\n",
		"a final relation":   "[libdefaults]\ndefault_realm = A\n[realms]\nA = {\nkdc* = a\nkdc = c\n}\n",
	} {
		c, err := load(write("final", text) + ":" + second)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"a:88", "c:88"}, c.Realms[0].KDC); diff != "" {
			t.Errorf("%s, and another file (-want +got):\n%s", name, diff)
		}
	}

	if _, err = load(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "set KRB5_CONFIG") {
		t.Errorf("no file: %v", err)
	}
	broken := write("broken", "include "+dir+"/none\n")
	if _, err = load(broken + ":" + second); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "none") {
		t.Errorf("a file whose include is missing: %v", err)
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "36000": 10 * time.Hour, "10h": 10 * time.Hour, "1d": 24 * time.Hour, "90s": 90 * time.Second,
		"5m": 5 * time.Minute, "1d2h3m4s": 26*time.Hour + 3*time.Minute + 4*time.Second,
		"1d 2h 3m 4s": 26*time.Hour + 3*time.Minute + 4*time.Second, "10:30": 10*time.Hour + 30*time.Minute,
		"10:30:15": 10*time.Hour + 30*time.Minute + 15*time.Second, "2-01:02:03": 49*time.Hour + 2*time.Minute + 3*time.Second,
		"7 days": 7 * 24 * time.Hour, "1 week, 2 hours": 170 * time.Hour, "10H": 10 * time.Hour, "24850d": 24850 * 24 * time.Hour,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "soon", "h", "-5", "1x", "1:2:3:4", "1-2:3", "10:", "99999d", "4294967297", "1d 30", "1.5h", "İ"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: %v, want an error", text, got)
		}
	}
}

// Two clients of gokrb5 over one Config would race for the order of its KDCs.
func TestCloneSharesNothing(t *testing.T) {
	t.Parallel()
	c := stock(t, "debian")
	c.LibDefaults.ExtraAddresses = []net.IP{net.IPv4(10, 0, 0, 1)}
	d := c.Clone()
	if diff := cmp.Diff(c, d, cmpopts.IgnoreUnexported(Config{})); diff != "" {
		t.Fatalf("(-original +clone):\n%s", diff)
	}
	for i := range d.Realms {
		for j := range d.Realms[i].KDC {
			d.Realms[i].KDC[j] = "changed"
		}
	}
	d.LibDefaults.DefaultTktEnctypeIDs[0] = 0
	d.DomainRealm["x"] = "y"
	if diff := cmp.Diff(stock(t, "debian").Realms, c.Realms); diff != "" || c.LibDefaults.DefaultTktEnctypeIDs[0] == 0 || c.DomainRealm["x"] != "" {
		t.Errorf("a change of the clone shows in the original: %s", diff)
	}
}
