package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jcmturner/gokrb5/v8/types"
)

// ReadKeytab must find what klist -kte shows of these files.
func TestKeytabsOfMITAreRead(t *testing.T) {
	t.Parallel()
	alice := Principal{Service: "alice", Realm: "EXAMPLE.TEST"}
	nn := Principal{Service: "nn", Host: "nn1.example", Realm: "EXAMPLE.TEST"}
	written := time.Date(2026, 11, 21, 13, 10, 53, 0, time.UTC)
	for file, want := range map[string][]KeytabEntry{
		"mixed.keytab": {
			{alice, 2, 18, written},
			{alice, 2, 20, written},
			{alice, 2, 19, written},
			{alice, 2, 23, written},
			{nn, 2, 18, written},
			{nn, 3, 18, written},
		},
		"rc4.keytab":  {{alice, 7, 23, written}},
		"sha2.keytab": {{alice, 300, 20, written}, {alice, 300, 19, written}},
	} {
		k, err := ReadKeytab(filepath.Join("testdata/mit", file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, k.Entries()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

// A KDC answers with the best requested type. If the client has no key of that type, a
// login fails that could have succeeded.
func TestLoginAsksForWhatTheKeytabHas(t *testing.T) {
	t.Parallel()
	const modern = "permitted_enctypes = aes256-sha2 aes128-sha2 aes256-sha1 aes128-sha1"
	for name, c := range map[string]struct {
		file, conf, principal string
		asked                 []int32
		kvno                  int
		reason                string
	}{
		"all of its types":                {file: "mixed", principal: "alice@EXAMPLE.TEST", asked: []int32{18, 20, 19, 23}, kvno: 2},
		"in the order of the realm":       {file: "mixed", conf: modern, principal: "alice@EXAMPLE.TEST", asked: []int32{20, 19, 18}, kvno: 2},
		"in the default realm":            {file: "mixed", conf: "default_realm = EXAMPLE.TEST", principal: "alice", asked: []int32{18, 20, 19, 23}, kvno: 2},
		"the newest version":              {file: "mixed", principal: "nn/nn1.example@EXAMPLE.TEST", asked: []int32{18}, kvno: 3},
		"RC4 alone":                       {file: "rc4", principal: "alice@EXAMPLE.TEST", asked: []int32{23}, kvno: 7},
		"RC4 alone where it is forbidden": {file: "rc4", conf: modern, principal: "alice@EXAMPLE.TEST", reason: "export permitted keys with ktadd"},
		"AES-SHA2 alone":                  {file: "sha2", conf: modern, principal: "alice@EXAMPLE.TEST", asked: []int32{20, 19}, kvno: 300},
		"AES-SHA2 alone before Windows": {
			file: "sha2", conf: "default_tkt_enctypes = rc4-hmac aes256-sha1", principal: "alice@EXAMPLE.TEST",
			reason: "krb5.conf permits only arcfour-hmac, aes256-cts-hmac-sha1-96",
		},
		"nobody of that name":  {file: "mixed", principal: "bob@EXAMPLE.TEST", reason: "aes128-cts-hmac-sha256-128, arcfour-hmac), nn/nn1.example@EXAMPLE.TEST (kvno 2: aes256-cts-hmac-sha1-96; kvno 3: aes256-cts-hmac-sha1-96): use"},
		"nobody of that realm": {file: "rc4", principal: "alice@OTHER.TEST", reason: "keys only of alice@EXAMPLE.TEST (kvno 7: arcfour-hmac): use"},
		"no realm at all":      {file: "rc4", principal: "alice", reason: "set default_realm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf, err := ParseConfig("krb5.conf", []byte("[libdefaults]\n"+c.conf))
			if err != nil {
				t.Fatal(err)
			}
			k, err := ReadKeytab("testdata/mit/" + c.file + ".keytab")
			if err != nil {
				t.Fatal(err)
			}
			p, err := ParsePrincipal(c.principal)
			if err != nil {
				t.Fatal(err)
			}
			before := conf.Clone()
			kt, own, err := k.Login(p, conf)
			if diff := cmp.Diff(before, conf, cmpopts.IgnoreUnexported(Config{})); diff != "" {
				t.Errorf("Login changed the configuration: %s", diff)
			}
			if c.reason != "" {
				var missing *KeytabError
				if !errors.As(err, &missing) || !strings.Contains(err.Error(), c.reason) {
					t.Errorf("%v, want %s", err, c.reason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.asked, own.LibDefaults.DefaultTktEnctypeIDs); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
			for _, id := range c.asked {
				_, kvno, err := kt.GetEncryptionKey(types.NewPrincipalName(1, p.Name()), "EXAMPLE.TEST", 0, id)
				if err != nil || kvno != c.kvno {
					t.Errorf("gokrb5's key of %s: version %d, %v, want version %d", EnctypeName(id), kvno, err, c.kvno)
				}
			}
		})
	}
}

func TestADamagedKeytabIsAnErrorWithoutKeys(t *testing.T) {
	t.Parallel()
	whole := readTestdata(t, "mixed.keytab")
	entry := int(whole[2])<<24 | int(whole[3])<<16 | int(whole[4])<<8 | int(whole[5])
	key := whole[2+4+entry-4-32 : 2+4+entry-4]
	for n := range whole {
		k, err := ParseKeytab("cut", whole[:n])
		if err == nil && len(k.Entries()) == 6 {
			t.Errorf("cut to %d bytes: no error", n)
		}
		for _, form := range []string{string(key[:8]), fmt.Sprintf("%x", key[:8]), strings.Trim(fmt.Sprint(key[:8]), "[]")} {
			if shown := fmt.Sprintf("%v %s %+v %#v", err, k, k, k); strings.Contains(shown, form) {
				t.Fatalf("cut to %d bytes: a key shows: %s", n, shown)
			}
		}
	}
	for name, data := range map[string]string{
		"empty":                     "",
		"version 1":                 "\x05\x01\x00\x00",
		"a credential cache":        "\x05\x04\x00\x0c",
		"an entry longer than it":   "\x05\x02\x7f\xff\xff\xff\x00",
		"a component without end":   "\x05\x02\x00\x00\x00\x06\x00\x01\x00\x01R\xff",
		"components without number": "\x05\x02\x00\x00\x00\x04\xff\xff\x00\x00",
		"half a length":             "\x05\x02\x00\x00",
		"a key of the wrong length": "\x05\x02\x00\x00\x00\x1a\x00\x01\x00\x01R\x00\x01u\x00\x00\x00\x01\x00\x00\x00\x00\x01\x00\x12\x00\x03abc\x00",
	} {
		if _, err := ParseKeytab("bad", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), "read keytab bad: ") {
			t.Errorf("%s: %v, want an error", name, err)
		}
	}
	for name, data := range map[string]string{
		"no entry":              "\x05\x02",
		"zeros at the end":      "\x05\x02\x00\x00\x00\x00\x00\x00\x00",
		"a hole beyond its end": "\x05\x02\xff\xff\xff\x00ab",
		"the largest hole":      "\x05\x02\x80\x00\x00\x00ab",
	} {
		if k, err := ParseKeytab("odd", []byte(data)); err != nil || len(k.Entries()) != 0 {
			t.Errorf("%s: %v, want none", name, err)
		}
	}
	if _, err := ReadKeytab(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "ktadd") {
		t.Errorf("no file: %v", err)
	}
}
