package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/bobbin-yarn/bobbin/yarnrpc/secretfile"
)

// ErrNoTicket says that a cache does not exist or holds no ticket-granting ticket. The
// remedy is kinit.
var ErrNoTicket = errors.New("no Kerberos ticket: run kinit")

// maxCacheBytes bounds a cache file. A cache with a thousand tickets is much smaller.
const maxCacheBytes = 64 << 20

// Cache is the content of a credential cache file when it was read. It is immutable;
// any number of goroutines may use it.
type Cache struct {
	Path      string
	Principal Principal // the owner of the tickets
	// TGT is the ticket-granting ticket of the principal's own realm. If there are
	// several, it is the one that ends last.
	TGT CacheEntry

	tgt     *credentials.Credential
	tickets []*credentials.Credential // all others that gokrb5 can use
}

// CacheEntry describes a ticket of a cache. It holds no key.
type CacheEntry struct {
	Server  Principal
	Enctype int32     // of the session key
	Start   time.Time // zero: as soon as it was issued
	End     time.Time
	// RenewTill is the time until which the ticket can be renewed. It is zero if it
	// cannot be renewed.
	RenewTill   time.Time
	Forwardable bool
}

// String names the file and the principal. It keeps the keys out of the output of fmt.
func (c Cache) String() string {
	return fmt.Sprintf("credential cache %s of %s", c.Path, c.Principal)
}

// ReadCache reads a cache file in version 3 or 4 of the format. Kerberos programs have
// written no other version since 1996. The error wraps ErrNoTicket if the file does not
// exist or has no ticket-granting ticket of the principal's realm. An expired ticket is
// no error (see CacheEntry.End). ReadCache skips configuration entries and tickets that
// it cannot decode.
//
// Any user can put a file into /tmp under the name of another user's cache. So the file
// must belong to this process' user or to root, and no other user may read or write it.
// kinit makes such files. Otherwise the error is secretfile.ErrExposed.
func ReadCache(path string) (*Cache, error) {
	data, err := readCacheFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read credential cache %s: %w: %w (or set KRB5CCNAME to another cache)", path, err, ErrNoTicket)
	case errors.Is(err, secretfile.ErrExposed):
		return nil, fmt.Errorf("read credential cache %s: %w; or set KRB5CCNAME to another cache and run kinit", path, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read credential cache %s: %w", path, err)
	}
	return ParseCache(path, data)
}

func readCacheFile(path string) ([]byte, error) {
	file, err := secretfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readAll(file, maxCacheBytes)
}

// ParseCache reads the bytes of a cache file as ReadCache does. Errors name path as the
// file. The result keeps no part of data.
func ParseCache(path string, data []byte) (*Cache, error) {
	c := &Cache{Path: path}
	if err := c.parse(&byteReader{data: append([]byte(nil), data...)}); err != nil {
		return nil, fmt.Errorf("read credential cache %s: %w", path, err)
	}
	return c, nil
}

// parse reads the version, the header fields of version 4, the principal, and credentials
// up to the end.
func (c *Cache) parse(r *byteReader) error {
	version := r.uint16()
	switch version {
	case 0x0504:
		r.bytes(uint32(r.uint16()))
	case 0x0503:
	default:
		return fmt.Errorf("not a credential cache of version 3 or 4 (it begins with %#04x): run kinit", version)
	}
	principal := readCachePrincipal(r)
	if r.err != nil {
		return fmt.Errorf("%w: run kinit", r.err)
	}
	c.Principal = principal.principal()
	for len(r.data) > 0 {
		credential := readCredential(r, version)
		if r.err != nil {
			return fmt.Errorf("%w: run kinit", r.err)
		}
		c.take(credential)
	}
	if c.tgt == nil {
		return fmt.Errorf("%s: %w", c.Principal, ErrNoTicket)
	}
	return nil
}

// configRealm is the realm of entries that hold settings of the cache.
const configRealm = "X-CACHECONF:"

// take keeps a credential if it is a ticket.
func (c *Cache) take(credential *credentials.Credential) {
	usable := keyFits(credential.Key.KeyType, credential.Key.KeyValue) && decodes(credential.Ticket)
	if credential.Server.Realm == configRealm || !usable {
		return
	}
	tgs := Principal{Service: "krbtgt", Host: c.Principal.Realm, Realm: c.Principal.Realm}
	server := name{credential.Server.PrincipalName, credential.Server.Realm}.principal()
	if server != tgs {
		c.tickets = append(c.tickets, credential)
		return
	}
	if c.tgt == nil || credential.EndTime.After(c.tgt.EndTime) {
		const forwardable, renewable = 1 << 6, 1 << 7 // RFC 4120 §5.3, bits 1 and 8
		c.tgt = credential
		c.TGT = CacheEntry{
			Server:      server,
			Enctype:     credential.Key.KeyType,
			Start:       credential.StartTime,
			End:         credential.EndTime,
			Forwardable: credential.TicketFlags.Bytes[0]&forwardable != 0,
		}
		if credential.TicketFlags.Bytes[1]&renewable != 0 {
			c.TGT.RenewTill = credential.RenewTill
		}
	}
}

// decodes reports whether gokrb5 can read a ticket.
func decodes(ticket []byte) bool {
	var t messages.Ticket
	return t.Unmarshal(ticket) == nil
}

// Credentials returns the cache in gokrb5's form for client.NewFromCCache, with TGT
// first.
func (c *Cache) Credentials() *credentials.CCache {
	cc := &credentials.CCache{
		Version:     4,
		Path:        c.Path,
		Credentials: append([]*credentials.Credential{c.tgt}, c.tickets...),
	}
	cc.DefaultPrincipal = c.tgt.Client
	cc.DefaultPrincipal.Realm = c.Principal.Realm
	cc.DefaultPrincipal.PrincipalName.NameString = strings.Split(c.Principal.Name(), "/")
	return cc
}

// name is a principal in the form of the files.
type name struct {
	types.PrincipalName
	realm string
}

// principal returns the Principal. It joins further components to the second one.
func (n name) principal() Principal {
	p := Principal{Realm: n.realm}
	if len(n.NameString) > 0 {
		p.Service, p.Host = n.NameString[0], strings.Join(n.NameString[1:], "/")
	}
	return p
}

// maxComponents bounds the parts of a principal in a file: krbtgt/A@B has two.
const maxComponents = 16

// readCachePrincipal reads type, count, realm and components. Realm and components have
// their length before them, in four bytes.
func readCachePrincipal(r *byteReader) name {
	n := name{PrincipalName: types.PrincipalName{NameType: int32(r.uint32())}}
	count := r.uint32()
	if count > maxComponents {
		r.err = errTruncated
	}
	n.realm = string(r.bytes(r.uint32()))
	for range count {
		if r.err != nil {
			break
		}
		n.NameString = append(n.NameString, string(r.bytes(r.uint32())))
	}
	return n
}

// readCredential reads one entry: client, server, key, four times, a flag that the ticket
// is encrypted with the session key of the second ticket, ticket flags, addresses,
// authorization data and two tickets.
func readCredential(r *byteReader, version uint16) *credentials.Credential {
	c := new(credentials.Credential)
	client, server := readCachePrincipal(r), readCachePrincipal(r)
	c.Client.PrincipalName, c.Client.Realm = client.PrincipalName, client.realm
	c.Server.PrincipalName, c.Server.Realm = server.PrincipalName, server.realm
	c.Key.KeyType = int32(r.uint16())
	if version == 0x0503 {
		r.uint16() // the encryption type once more
	}
	c.Key.KeyValue = r.bytes(r.uint32())
	c.AuthTime, c.StartTime, c.EndTime, c.RenewTill = r.time(), r.time(), r.time(), r.time()
	c.IsSKey = r.uint8() != 0
	c.TicketFlags = types.NewKrbFlags()
	if flags := r.bytes(4); flags != nil {
		c.TicketFlags.Bytes = flags
	}
	for range 2 { // addresses, then authorization data: a type and bytes each
		for count := r.uint32(); count > 0 && r.err == nil; count-- {
			r.uint16()
			r.bytes(r.uint32())
		}
	}
	c.Ticket, c.SecondTicket = r.bytes(r.uint32()), r.bytes(r.uint32())
	return c
}

// readFile reads a whole file. It refuses a file that is too large.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer f.Close()
	return readAll(f, limit)
}
