package creds

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/writable"
)

// Kinds of tokens, as Hadoop's servers name them.
const (
	KindAMRM            = "YARN_AM_RM_TOKEN"          // ApplicationMaster to ResourceManager
	KindNM              = "NMToken"                   // ApplicationMaster to one NodeManager
	KindContainer       = "ContainerToken"            // proof of an allocation; not a login
	KindClientToAM      = "YARN_CLIENT_TOKEN"         // client to ApplicationMaster
	KindRMDelegation    = "RM_DELEGATION_TOKEN"       // user to ResourceManager
	KindHDFSDelegation  = "HDFS_DELEGATION_TOKEN"     // user to NameNode
	KindTimelineService = "TIMELINE_DELEGATION_TOKEN" // user to timeline server
)

// Token is a credential that a server has issued
// (org.apache.hadoop.security.token.Token).
type Token struct {
	// Identifier names the user and the key of the token. A client sends it back to the
	// server byte for byte. Package identifier decodes it.
	Identifier []byte
	// Password is secret: the HMAC of Identifier under the server's key.
	Password []byte
	Kind     string
	// Service is the server that takes the token: ip:port, a name, a comma-separated
	// list or empty, depending on Kind.
	Service string
}

// Clone returns a copy that shares nothing with t.
func (t *Token) Clone() *Token {
	return &Token{
		Identifier: bytes.Clone(t.Identifier),
		Password:   bytes.Clone(t.Password),
		Kind:       t.Kind,
		Service:    t.Service,
	}
}

// WithService returns a copy for another service. For example, an ApplicationMaster sets
// the addresses of the schedulers in its token.
func (t *Token) WithService(service string) *Token {
	c := t.Clone()
	c.Service = service
	return c
}

// Fixed returns a token source that gives t for every address, for a client with one
// token.
func Fixed(t *Token) func(ctx context.Context, address string) (*Token, error) {
	return func(context.Context, string) (*Token, error) { return t, nil }
}

// serves reports whether the token is meant for service, alone or in a list.
func (t *Token) serves(service string) bool {
	for one := range strings.SplitSeq(t.Service, ",") {
		if one == service {
			return true
		}
	}
	return false
}

// Format prints kind and service under every verb, and no byte of identifier or password.
func (t Token) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "token(%s, service %q, identifier of %d bytes)", t.Kind, t.Service, len(t.Identifier))
}

// String returns the text that Format prints.
func (t Token) String() string { return fmt.Sprint(t) }

// MarshalJSON returns only kind and service.
func (t Token) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct{ Kind, Service string }{t.Kind, t.Service})
}

// EncodeURL returns the token as one line of text, as Hadoop's tools write it: its
// Writable form in base64. The text is as secret as the token.
func (t *Token) EncodeURL() string {
	return base64.RawURLEncoding.EncodeToString(appendToken(nil, t))
}

// DecodeURL reads the text of EncodeURL or of a Hadoop tool, with or without padding.
func DecodeURL(s string) (*Token, error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, fmt.Errorf("decode token: %w: not URL-safe base64", ErrFormat)
	}
	r := writable.NewReader(b)
	t := readToken(r)
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("decode token: %w: %w", ErrFormat, err)
	}
	return t, nil
}

func appendToken(b []byte, t *Token) []byte {
	b = writable.AppendBytes(b, t.Identifier)
	b = writable.AppendBytes(b, t.Password)
	b = writable.AppendText(b, t.Kind)
	return writable.AppendText(b, t.Service)
}

func readToken(r *writable.Reader) *Token {
	return &Token{Identifier: r.Bytes(), Password: r.Bytes(), Kind: r.Text(), Service: r.Text()}
}
