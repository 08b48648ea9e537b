package kerberos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

// enctypes are the encryption types that gokrb5 can use, in the order of MIT's
// default list, each with its names. Messages show the first name.
var enctypes = [...]struct {
	id     int32
	family string
	size   int // of a key, bytes
	names  []string
}{
	{etypeID.AES256_CTS_HMAC_SHA1_96, "aes", 32, []string{"aes256-cts-hmac-sha1-96", "aes256-cts", "aes256-sha1"}},
	{etypeID.AES128_CTS_HMAC_SHA1_96, "aes", 16, []string{"aes128-cts-hmac-sha1-96", "aes128-cts", "aes128-sha1"}},
	{etypeID.AES256_CTS_HMAC_SHA384_192, "aes", 32, []string{"aes256-cts-hmac-sha384-192", "aes256-sha2"}},
	{etypeID.AES128_CTS_HMAC_SHA256_128, "aes", 16, []string{"aes128-cts-hmac-sha256-128", "aes128-sha2"}},
	{etypeID.DES3_CBC_SHA1_KD, "des3", 24, []string{"des3-cbc-sha1", "des3-hmac-sha1", "des3-cbc-sha1-kd"}},
	{etypeID.RC4_HMAC, "rc4", 16, []string{"arcfour-hmac", "rc4-hmac", "arcfour-hmac-md5"}},
}

// defaultEnctypes returns all encryption types that gokrb5 can use.
func defaultEnctypes() []int32 {
	ids := make([]int32, len(enctypes))
	for i, e := range enctypes {
		ids[i] = e.id
	}
	return ids
}

// EnctypeName returns MIT's name of an encryption type, such as
// "aes256-cts-hmac-sha1-96". A type that gokrb5 cannot use is shown by number, such
// as "enctype 25".
func EnctypeName(id int32) string {
	for _, e := range enctypes {
		if e.id == id {
			return e.names[0]
		}
	}
	return fmt.Sprintf("enctype %d", id)
}

// keyFits reports whether a key has the length of its encryption type. It accepts every
// length for types that gokrb5 cannot use.
func keyFits(id int32, key []byte) bool {
	for _, e := range enctypes {
		if e.id == id {
			return e.size == len(key)
		}
	}
	return true
}

// parseEnctypes reads a list in the grammar of permitted_enctypes (krb5.conf(5)): names
// and families, DEFAULT for the whole default list, "-name" to remove a type from the
// list so far. It skips names that gokrb5 cannot use, such as Camellia's.
func parseEnctypes(list string) []int32 {
	var ids []int32
	words := strings.FieldsFunc(list, func(c rune) bool { return c == ' ' || c == '\t' || c == ',' })
	for _, word := range words {
		name, remove := strings.CutPrefix(strings.ToLower(word), "-")
		name = strings.TrimPrefix(name, "+")
		for _, e := range enctypes {
			switch {
			case name != "default" && name != e.family && !slices.Contains(e.names, name):
			case remove:
				ids = slices.DeleteFunc(ids, func(id int32) bool { return id == e.id })
			case !slices.Contains(ids, e.id):
				ids = append(ids, e.id)
			}
		}
	}
	return ids
}

// enctypeNames returns a list for messages.
func enctypeNames(ids []int32) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = EnctypeName(id)
	}
	return strings.Join(names, ", ")
}
