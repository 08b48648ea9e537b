package kerberos

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// maxKeytabBytes bounds a keytab file. A keytab with ten thousand keys is smaller.
const maxKeytabBytes = 4 << 20

// Keytab is the content of a keytab file when it was read. It is immutable; any number of
// goroutines may use it.
type Keytab struct {
	Path string
	keys []*keytabKey
}

// KeytabEntry describes one key of a keytab, without the key itself.
type KeytabEntry struct {
	Principal Principal
	KVNO      uint32 // version of the key, which grows with each change
	Enctype   int32
	Timestamp time.Time // when it was written; zero if unknown
}

type keytabKey struct {
	KeytabEntry
	raw []byte // the entry as it is in the file
	// plain says that Principal has the same components as the entry in the file. A Principal
	// cannot express a component with a slash or an empty last component. A login with such
	// an entry would use another name.
	plain bool
}

// KeytabError says that a keytab has no usable key for a principal.
type KeytabError struct {
	Path      string
	Principal Principal
	Reason    string // what is missing, and the remedy
}

// Error names the file, the principal and the remedy.
func (e *KeytabError) Error() string {
	return fmt.Sprintf("log in as %s from keytab %s: %s", e.Principal, e.Path, e.Reason)
}

// String names the file. It keeps the keys out of the output of fmt.
func (k Keytab) String() string {
	return fmt.Sprintf("keytab %s with %d keys", k.Path, len(k.keys))
}

// ReadKeytab reads a keytab file of version 2. Kerberos programs have written no other
// version since 1996.
func ReadKeytab(path string) (*Keytab, error) {
	data, err := readFile(path, maxKeytabBytes)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read keytab %s: %w; make one with kadmin ktadd, or ktpass on Active Directory", path, err)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("read keytab %s: %w; it must be readable only for the user of this process", path, err)
	case err != nil:
		return nil, fmt.Errorf("read keytab %s: %w", path, err)
	}
	return ParseKeytab(path, data)
}

// ParseKeytab reads the bytes of a keytab file. Errors name path as the file and never hold
// a key. The result keeps no part of data.
func ParseKeytab(path string, data []byte) (*Keytab, error) {
	k := &Keytab{Path: path}
	r := &byteReader{data: slices.Clone(data)}
	if version := r.uint16(); version != 0x0502 {
		return nil, fmt.Errorf("read keytab %s: not a keytab of version 2 (it begins with %#04x)", path, version)
	}
	for len(r.data) > 0 {
		size := int32(r.uint32())
		switch {
		case r.err != nil:
		case size == 0: // zeros up to the end
			r.data = nil
		case size < 0: // a hole that ktremove left; it may reach beyond the end
			hole := min(-int64(size), int64(len(r.data)))
			r.data = r.data[hole:]
		default:
			if entry := r.bytes(uint32(size)); entry != nil {
				key, err := readKeytabKey(entry)
				if err != nil {
					return nil, fmt.Errorf("read keytab %s: entry %d: %w", path, len(k.keys)+1, err)
				}
				k.keys = append(k.keys, key)
			}
		}
		if r.err != nil {
			return nil, fmt.Errorf("read keytab %s: entry %d: %w", path, len(k.keys)+1, r.err)
		}
	}
	return k, nil
}

// readKeytabKey reads the number of components, realm, components (each after its length in
// two bytes), name type, time, version in one byte, encryption type, key, and the version
// in four bytes. Old programs leave out the last field.
func readKeytabKey(entry []byte) (*keytabKey, error) {
	k := &keytabKey{raw: entry}
	r := &byteReader{data: entry}
	count := r.uint16()
	if count > maxComponents {
		return nil, errTruncated
	}
	var n name
	n.realm = string(r.bytes(uint32(r.uint16())))
	for range count {
		n.NameString = append(n.NameString, string(r.bytes(uint32(r.uint16()))))
	}
	k.Principal = n.principal()
	k.plain = slices.Equal(strings.Split(k.Principal.Name(), "/"), n.NameString)
	r.uint32()
	k.Timestamp = r.time()
	k.KVNO = uint32(r.uint8())
	k.Enctype = int32(r.uint16())
	key := r.bytes(uint32(r.uint16()))
	if r.err == nil && !keyFits(k.Enctype, key) {
		return nil, fmt.Errorf("damaged: %d bytes are not a key of %s", len(key), EnctypeName(k.Enctype))
	}
	if r.err == nil && len(r.data) >= 4 {
		if kvno := r.uint32(); kvno != 0 {
			k.KVNO = kvno
		}
	}
	return k, r.err
}

// Entries lists the keys in the order of the file.
func (k *Keytab) Entries() []KeytabEntry {
	entries := make([]KeytabEntry, len(k.keys))
	for i, key := range k.keys {
		entries[i] = key.KeytabEntry
	}
	return entries
}

// Principals lists the principals with keys, each once, in the order of the file.
func (k *Keytab) Principals() []Principal {
	var principals []Principal
	for _, key := range k.keys {
		if !slices.Contains(principals, key.Principal) {
			principals = append(principals, key.Principal)
		}
	}
	return principals
}

// KeysOf describes a principal's keys: "kvno 3: aes256-cts-hmac-sha1-96,
// aes128-cts-hmac-sha1-96". It is empty if there are none.
func (k *Keytab) KeysOf(p Principal) string {
	var versions []uint32
	kinds := make(map[uint32][]int32)
	for _, key := range k.keys {
		if key.Principal != p {
			continue
		}
		if !slices.Contains(versions, key.KVNO) {
			versions = append(versions, key.KVNO)
		}
		kinds[key.KVNO] = append(kinds[key.KVNO], key.Enctype)
	}
	texts := make([]string, len(versions))
	for i, version := range versions {
		texts[i] = fmt.Sprintf("kvno %d: %s", version, enctypeNames(kinds[version]))
	}
	return strings.Join(texts, "; ")
}

// Login returns the input for a login with gokrb5: the keys of a principal, and a copy of
// the configuration. A principal without a realm is in the default realm. With the copy, a
// login asks the KDC only for encryption types of these keys, in the configuration's order.
// So a keytab with only RC4 or AES-SHA2 keys works if the realm has such keys. The error is
// a *KeytabError if there is no key, or none that the configuration permits.
func (k *Keytab) Login(p Principal, c *Config) (*keytab.Keytab, *config.Config, error) {
	if p.Realm == "" {
		p.Realm = c.LibDefaults.DefaultRealm
	}
	fail := func(format string, args ...any) (*keytab.Keytab, *config.Config, error) {
		return nil, nil, &KeytabError{Path: k.Path, Principal: p, Reason: fmt.Sprintf(format, args...)}
	}
	if p.Realm == "" {
		return fail("no realm: write the principal as %s@REALM, or set default_realm in krb5.conf", p.Name())
	}
	var keys []*keytabKey
	var held []int32
	for _, key := range k.keys {
		if key.Principal == p && key.plain {
			keys = append(keys, key)
			if !slices.Contains(held, key.Enctype) {
				held = append(held, key.Enctype)
			}
		}
	}
	if len(keys) == 0 {
		return fail("it has keys only of %s: use one of these, or add this one with ktadd", k.holders())
	}
	if len(intersect(held, defaultEnctypes())) == 0 {
		return fail("it has only keys of %s, which this program cannot use: export AES keys (ktadd -e aes256-cts-hmac-sha1-96:normal)", enctypeNames(held))
	}
	asked := intersect(c.LibDefaults.DefaultTktEnctypeIDs, held)
	if len(asked) == 0 {
		return fail("it has only keys of %s, but krb5.conf permits only %s: export permitted keys with ktadd,"+
			" or add types that the realm allows to permitted_enctypes and default_tkt_enctypes",
			enctypeNames(held), enctypeNames(c.LibDefaults.DefaultTktEnctypeIDs))
	}

	kt := keytab.New()
	if err := kt.Unmarshal(marshalKeytab(keys)); err != nil {
		return fail("gokrb5 cannot read it") // its error would show keys
	}
	own := c.Clone()
	own.LibDefaults.DefaultTktEnctypeIDs = asked
	own.LibDefaults.DefaultTktEnctypes = strings.Split(enctypeNames(asked), ", ")
	setPreauth(&own.LibDefaults)
	return kt, own.Config, nil
}

// holders lists up to five principals of the keytab, each with a description of its keys.
func (k *Keytab) holders() string {
	const shown = 5
	var names []string
	principals := k.Principals()
	for _, p := range principals[:min(len(principals), shown)] {
		names = append(names, fmt.Sprintf("%s (%s)", p, k.KeysOf(p)))
	}
	if more := len(principals) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d others", more))
	}
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, ", ")
}

// marshalKeytab writes a file with these keys, the newest version first. Among keys with
// the same timestamp, gokrb5 takes the first.
func marshalKeytab(keys []*keytabKey) []byte {
	keys = slices.Clone(keys)
	slices.SortStableFunc(keys, func(a, b *keytabKey) int { return cmp.Compare(b.KVNO, a.KVNO) })
	file := []byte{5, 2}
	for _, key := range keys {
		file = binary.BigEndian.AppendUint32(file, uint32(len(key.raw)))
		file = append(file, key.raw...)
	}
	return file
}
