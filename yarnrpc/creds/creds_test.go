package creds

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
)

func sample() *Credentials {
	c := New()
	c.Tokens[""] = &Token{Identifier: []byte("attempt"), Password: []byte("p1"), Kind: KindAMRM}
	c.Tokens["nn"] = &Token{Identifier: []byte{0, 1}, Password: []byte("p2"), Kind: KindHDFSDelegation, Service: "ha-hdfs:ns"}
	c.Tokens["rm"] = &Token{Identifier: bytes.Repeat([]byte{7}, 300), Password: []byte("p3"), Kind: KindRMDelegation, Service: "10.0.0.1:8032,10.0.0.2:8032"}
	c.Secrets["key"] = []byte{0xde, 0xad}
	return c
}

// The files in testdata were written by org.apache.hadoop.security.Credentials of
// Hadoop 3.4.3 (testdata/WriteCredentials.java). Misreading them would lose a
// container its tokens.
func TestFilesOfHadoopAreRead(t *testing.T) {
	for _, name := range []string{"writable.hdts", "protobuf.hdts"} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadFile(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(fields(sample()), fields(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// fields gets around the redaction for comparing.
func fields(c *Credentials) map[string]any {
	m := map[string]any{}
	for alias, t := range c.Tokens {
		m["token "+alias] = []any{t.Identifier, t.Password, t.Kind, t.Service}
	}
	for alias, s := range c.Secrets {
		m["secret "+alias] = s
	}
	return m
}

func TestMarshalGivesTheBytesThatAreReadBack(t *testing.T) {
	b := sample().Marshal()
	if !bytes.Equal(b, sample().Marshal()) {
		t.Error("equal credentials gave different bytes")
	}
	got, err := Read(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields(sample()), fields(got)); diff != "" {
		t.Error(diff)
	}
	empty, err := Parse(new(Credentials).Marshal())
	if err != nil || len(empty.Tokens)+len(empty.Secrets) != 0 {
		t.Errorf("empty credentials became %v, %v", empty, err)
	}
}

func TestBytesThatAreNoCredentialsAreErrors(t *testing.T) {
	good := sample().Marshal()
	for name, b := range map[string][]byte{
		"empty":                 {},
		"magic alone":           []byte("HDTS"),
		"another magic":         []byte("PK\x03\x04\x00"),
		"unknown format":        []byte("HDTS\x02"),
		"no counts":             []byte("HDTS\x00"),
		"cut short":             good[:len(good)-1],
		"bytes after the end":   append(bytes.Clone(good), 0),
		"a count of billions":   []byte("HDTS\x00\x8c\x7f\xff\xff\xff"),
		"protobuf cut short":    []byte("HDTS\x01\x05\x0a"),
		"protobuf of nonsense":  []byte("HDTS\x01\x01\xff"),
		"protobuf and leftover": []byte("HDTS\x01\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := Parse(b); !errors.Is(err, ErrFormat) {
				t.Errorf("got %v, %v, want ErrFormat", c, err)
			}
		})
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: got %v", err)
	}
	if _, err := Read(io.LimitReader(endless{}, maxSize+1)); !errors.Is(err, ErrFormat) {
		t.Errorf("a file over the limit: got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A password in a log would let every reader of the log act as the user.
func TestSecretsDoNotShow(t *testing.T) {
	c := New()
	c.Tokens["a"] = &Token{Identifier: []byte("IDENT"), Password: []byte("PASSW"), Kind: "K", Service: "S"}
	c.Secrets["s"] = []byte("SECRE")
	hidden := []string{
		"IDENT", "PASSW", "SECRE", fmt.Sprintf("%x", "PASSW"), fmt.Sprintf("%X", "PASSW"),
		fmt.Sprint([]byte("PASSW")), fmt.Sprint([]byte("SECRE")), base64.StdEncoding.EncodeToString([]byte("PASSW")),
		base64.StdEncoding.EncodeToString([]byte("SECRE")),
	}
	holder := struct {
		T *Token
		V Token
		C *Credentials
	}{c.Tokens["a"], *c.Tokens["a"], c}
	for _, shown := range []any{c, *c, c.Tokens["a"], *c.Tokens["a"], c.Tokens, holder, &holder} {
		var texts []string
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
			texts = append(texts, fmt.Sprintf(verb, shown))
		}
		js, err := json.Marshal(shown)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(js), fmt.Errorf("of %v", shown).Error())
		for _, text := range texts {
			for _, h := range hidden {
				if strings.Contains(text, h) {
					t.Errorf("%T shows %q in %q", shown, h, text)
				}
			}
		}
	}
	if got := c.Tokens["a"].String(); !strings.Contains(got, "K") || !strings.Contains(got, "S") {
		t.Errorf("%q does not say which token it is", got)
	}
}

func TestTokensAreFoundByKindAndService(t *testing.T) {
	c := sample()
	for _, tc := range []struct {
		kind, service string
		want          *Token
	}{
		{KindHDFSDelegation, NameserviceService("ns"), c.Tokens["nn"]},
		{KindHDFSDelegation, NameserviceService("n"), nil},
		{KindRMDelegation, IPService(netip.MustParseAddrPort("10.0.0.2:8032")), c.Tokens["rm"]},
		{KindRMDelegation, "10.0.0.2:803", nil},
		{KindAMRM, hostService("RM:8032"), nil},
	} {
		if got := c.Select(tc.kind, tc.service); got != tc.want {
			t.Errorf("%s for %s: got %v, want %v", tc.kind, tc.service, got, tc.want)
		}
	}
	if got := c.ByKind(KindAMRM); got != c.Tokens[""] {
		t.Errorf("by kind: got %v", got)
	}
	if got := c.ByKind(KindNM); got != nil {
		t.Errorf("by a kind that is not there: got %v", got)
	}
}

// A process must not get other secrets together with the tokens that it needs.
func TestOnlyGivesNothingElse(t *testing.T) {
	c := sample()
	got := c.Only(KindHDFSDelegation, KindNM)
	want := New()
	want.Tokens["nn"] = c.Tokens["nn"]
	if diff := cmp.Diff(fields(want), fields(got)); diff != "" {
		t.Error(diff)
	}
	if len(c.Tokens) != 3 || len(c.Secrets) != 1 {
		t.Errorf("the rest was taken away from %v", c)
	}
}

// Java programs find a token by its exact service.
func TestServicesAreWhatJavaCallsThem(t *testing.T) {
	for _, tc := range []struct {
		address string
		useIP   bool
		want    string
	}{
		{"localhost:8020", true, "127.0.0.1:8020"},
		{"[::ffff:10.0.0.2]:8020", true, "10.0.0.2:8020"},
		{"NN.Example.com:8020", false, "nn.example.com:8020"},
	} {
		if got, err := ServiceOf(t.Context(), tc.address, tc.useIP); err != nil || got != tc.want {
			t.Errorf("service of %s, by address: %t: %q, %v; want %q", tc.address, tc.useIP, got, err, tc.want)
		}
	}
	for _, address := range []string{"localhost", "localhost:http", "localhost:65536"} {
		if got, err := ServiceOf(t.Context(), address, true); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("service of %s: %q, %v", address, got, err)
		}
	}
}

func TestTokensInURLForm(t *testing.T) {
	want := sample().Tokens["nn"]
	for _, padding := range []string{"", "="} {
		got, err := DecodeURL(want.EncodeURL() + padding)
		if err != nil {
			t.Fatal(err)
		}
		if got.Service != want.Service || !bytes.Equal(got.Password, want.Password) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for _, text := range []string{"", "!", "AAAA" + want.EncodeURL()} {
		if _, err := DecodeURL(text); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: got %v, want ErrFormat", text, err)
		}
	}
}

func TestWithServiceLeavesTheTokenAlone(t *testing.T) {
	original := sample().Tokens[""]
	changed := original.WithService("rm:8030")
	changed.Password[0]++
	if original.Service != "" || original.Password[0] != 'p' || !changed.serves("rm:8030") {
		t.Error("the copy shares with the token")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample().Marshal())
	f.Add([]byte("HDTS\x01\x00"))
	for _, name := range []string{"writable.hdts", "protobuf.hdts"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(c.Marshal())
		if err != nil {
			t.Fatalf("what was read does not read back: %v", err)
		}
		if !bytes.Equal(c.Marshal(), again.Marshal()) {
			t.Error("reading and writing changed it")
		}
	})
}

func TestProtobufCredentialsWithoutTokenAreAnEmptyToken(t *testing.T) {
	body, err := proto.Marshal(&commonpb.CredentialsProto{Tokens: []*commonpb.CredentialsKVProto{{Alias: proto.String("a")}}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Parse(append([]byte("HDTS\x01"+string(rune(len(body)))), body...))
	if err != nil || c.Tokens["a"] == nil {
		t.Errorf("got %v, %v", c, err)
	}
}
