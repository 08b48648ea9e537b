// Package credstest makes credentials for tests that have neither a KDC nor a NameNode: keytabs,
// and delegation tokens whose passwords are not valid anywhere.
//
// It starts no goroutine, and only tests import it.
package credstest

import (
	"encoding/binary"
	"os"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

const (
	kvno    = 1
	enctype = etypeID.AES256_CTS_HMAC_SHA1_96
)

// Keytab writes a keytab with a key of each principal, such as "HTTP/host@REALM", to a path.
func Keytab(t testing.TB, path string, principals ...string) {
	t.Helper()
	content, err := keys(t, principals).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Key returns the key that Keytab gives a principal.
func Key(t testing.TB, principal string) types.EncryptionKey {
	t.Helper()
	name, realm := types.ParseSPNString(principal)
	key, _, err := keys(t, []string{principal}).GetEncryptionKey(name, realm, kvno, enctype)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// keys derives the keys from the names, so that they are always the same.
func keys(t testing.TB, principals []string) *keytab.Keytab {
	t.Helper()
	kt := keytab.New()
	for _, principal := range principals {
		name, realm := types.ParseSPNString(principal)
		if err := kt.AddEntry(name.PrincipalNameString(), realm, "secret of "+principal, time.Unix(1e9, 0), kvno, enctype); err != nil {
			t.Fatal(err)
		}
	}
	return kt
}

// Password is the password of every Delegation. It must not appear in logs and errors.
const Password = "password of a delegation token"

// Delegation returns a NameNode's token for a service. No text in about may have more than 127
// bytes.
func Delegation(service string, about identifier.Delegation) *creds.Token {
	b := []byte{0} // AbstractDelegationTokenIdentifier's version
	for _, text := range []string{about.Owner, about.Renewer, about.RealUser} {
		b = append(append(b, byte(len(text))), text...)
	}
	for _, at := range []time.Time{about.Issued, about.Max} {
		b = appendLong(b, max(0, at.UnixMilli())) // UnixMilli of a zero time is negative
	}
	b = appendLong(appendLong(b, int64(about.Sequence)), int64(about.KeyID))
	return &creds.Token{Kind: creds.KindHDFSDelegation, Service: service, Identifier: b, Password: []byte(Password)}
}

// appendLong appends a number that is not negative, as WritableUtils#writeVLong writes a large one.
func appendLong(b []byte, n int64) []byte {
	const eightBytes = 0x88
	return binary.BigEndian.AppendUint64(append(b, eightBytes), uint64(n))
}
