package sasl

import (
	"fmt"
	"testing"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

// BenchmarkLayer passes a message through both ends: the cost of protection for a call
// whose request and answer are half as long.
func BenchmarkLayer(b *testing.B) {
	const length = 600 // bytes
	for _, qop := range []QOP{QOPIntegrity, QOPPrivacy} {
		b.Run(fmt.Sprintf("%s/%s", MechanismDigestMD5, qop), func(b *testing.B) {
			client, server := pair(b, qop)
			passMessages(b, client, server, make([]byte, length))
		})
		for _, kind := range []int32{etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA384_192} {
			b.Run(fmt.Sprintf("%s/%s/kind=%d", MechanismGSSAPI, qop, kind), func(b *testing.B) {
				ticket, key := issue(b, kind)
				client, server, _, err := gssLogin(&GSSAPI{Ticket: ticket, QOPs: []QOP{qop}}, &GSSAPIServer{Key: key, QOPs: []QOP{qop}}, nil)
				if err != nil {
					b.Fatal(err)
				}
				passMessages(b, client, server, make([]byte, length))
			})
		}
	}
}

func passMessages(b *testing.B, from, to Layer, message []byte) {
	b.Helper()
	b.ReportAllocs()
	var token []byte
	for b.Loop() {
		var err error
		if token, err = from.AppendWrap(token[:0], message); err != nil {
			b.Fatal(err)
		}
		if _, err := to.Unwrap(token); err != nil {
			b.Fatal(err)
		}
	}
}
