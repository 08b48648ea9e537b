package creds

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/writable"
)

// ErrFormat says that bytes are not credentials or not a token.
var ErrFormat = errors.New("bad credentials format")

// maxSize bounds the credentials that are read into memory. Real ones have a few
// kilobytes.
const maxSize = 16 << 20

// magic is the head of credentials (org.apache.hadoop.security.Credentials), before
// the Format's number.
const magic = "HDTS"

// Credentials holds tokens and secret keys by alias. The zero value is empty and can be read.
// To add entries, make the maps or use New. It is not safe for concurrent use while it
// changes.
type Credentials struct {
	Tokens  map[string]*Token
	Secrets map[string][]byte
}

// New returns empty credentials.
func New() *Credentials {
	return &Credentials{Tokens: make(map[string]*Token), Secrets: make(map[string][]byte)}
}

// ReadFile reads a credentials file, such as the one that HADOOP_TOKEN_FILE_LOCATION names in
// a container.
func ReadFile(path string) (*Credentials, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read credentials file: %w", err)
	}
	defer f.Close() // nothing was written
	c, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("read credentials file %s: %w", path, err)
	}
	return c, nil
}

// Read reads credentials to the end of r, at most 16 MiB.
func Read(r io.Reader) (*Credentials, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read credentials: %w", err)
	}
	if len(b) > maxSize {
		return nil, fmt.Errorf("read credentials: %w: longer than %d bytes", ErrFormat, maxSize)
	}
	return Parse(b)
}

// Parse reads credentials of either of Hadoop's formats.
func Parse(b []byte) (*Credentials, error) {
	if len(b) <= len(magic) || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("parse credentials: %w: they do not begin with %q", ErrFormat, magic)
	}
	format, body := b[len(magic)], b[len(magic)+1:]
	var (
		c   *Credentials
		err error
	)
	switch Format(format) {
	case Writable:
		c, err = parseWritable(body)
	case Protobuf:
		c, err = parseProtobuf(body)
	default:
		err = fmt.Errorf("%w: unknown format %d", ErrFormat, format)
	}
	if err != nil {
		return nil, fmt.Errorf("parse credentials: %w", err)
	}
	return c, nil
}

func parseWritable(body []byte) (*Credentials, error) {
	c := New()
	r := writable.NewReader(body)
	for range r.Count() {
		alias, token := r.Text(), readToken(r)
		if r.Err() != nil {
			break
		}
		c.Tokens[alias] = token
	}
	for range r.Count() {
		alias, secret := r.Text(), r.Bytes()
		if r.Err() != nil {
			break
		}
		c.Secrets[alias] = secret
	}
	if err := r.End(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return c, nil
}

func parseProtobuf(body []byte) (*Credentials, error) {
	message, n := protowire.ConsumeBytes(body)
	if n < 0 {
		return nil, fmt.Errorf("%w: %w", ErrFormat, protowire.ParseError(n))
	}
	if n != len(body) {
		return nil, fmt.Errorf("%w: %d bytes after the end", ErrFormat, len(body)-n)
	}
	var p commonpb.CredentialsProto
	if err := proto.Unmarshal(message, &p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	c := New()
	for _, kv := range p.GetTokens() {
		t := kv.GetToken()
		c.Tokens[kv.GetAlias()] = &Token{
			Identifier: t.GetIdentifier(),
			Password:   t.GetPassword(),
			Kind:       t.GetKind(),
			Service:    t.GetService(),
		}
	}
	for _, kv := range p.GetSecrets() {
		c.Secrets[kv.GetAlias()] = kv.GetSecret()
	}
	return c, nil
}

// AddAll adds all entries of other (Credentials.addAll). If both have an alias, other's entry
// wins. Tokens and secrets are shared, not copied.
func (c *Credentials) AddAll(other *Credentials) { c.merge(other, true) }

// MergeAll adds the entries of other whose aliases c lacks (Credentials.mergeAll). Tokens and
// secrets are shared, not copied.
func (c *Credentials) MergeAll(other *Credentials) { c.merge(other, false) }

func (c *Credentials) merge(other *Credentials, replace bool) {
	mergeMap(&c.Tokens, other.Tokens, replace)
	mergeMap(&c.Secrets, other.Secrets, replace)
}

func mergeMap[V any](to *map[string]V, from map[string]V, replace bool) {
	if *to == nil {
		*to = make(map[string]V, len(from))
	}
	for alias, v := range from {
		if _, there := (*to)[alias]; !there || replace {
			(*to)[alias] = v
		}
	}
}

// Only returns the tokens of these kinds and no secrets, for a process that needs nothing
// else. Tokens are shared, not copied.
func (c *Credentials) Only(kinds ...string) *Credentials {
	only := New()
	for alias, t := range c.Tokens {
		if slices.Contains(kinds, t.Kind) {
			only.Tokens[alias] = t
		}
	}
	return only
}

// Select returns the token of a kind for a service, or nil. If there are several, it returns
// the one with the first alias.
func (c *Credentials) Select(kind, service string) *Token {
	return c.find(func(t *Token) bool { return t.Kind == kind && t.serves(service) })
}

// ByKind returns the token of a kind with any service, or nil. It is for tokens such as the
// AMRM token, whose service is empty in the file that YARN writes.
func (c *Credentials) ByKind(kind string) *Token {
	return c.find(func(t *Token) bool { return t.Kind == kind })
}

func (c *Credentials) find(match func(*Token) bool) *Token {
	for _, alias := range slices.Sorted(maps.Keys(c.Tokens)) {
		if t := c.Tokens[alias]; match(t) {
			return t
		}
	}
	return nil
}

// Format prints the numbers of tokens and secrets, but no content, under every verb.
func (c Credentials) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "credentials(%d tokens, %d secrets)", len(c.Tokens), len(c.Secrets))
}

// String returns the text that Format prints.
func (c Credentials) String() string { return fmt.Sprint(c) }

// MarshalJSON returns the tokens without identifiers and passwords, and only the aliases of
// secrets.
func (c Credentials) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Tokens  map[string]*Token
		Secrets []string
	}{c.Tokens, slices.Sorted(maps.Keys(c.Secrets))})
}
