package creds

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// FuzzDecodeURL reads a token from a line of text. It would catch one that
// changes on its way, and a password in what is printed of it.
func FuzzDecodeURL(f *testing.F) {
	f.Add((&Token{Identifier: []byte("i"), Password: []byte("p"), Kind: KindHDFSDelegation, Service: "1.2.3.4:8020"}).EncodeURL())
	f.Add("AAAAAA==")
	f.Add("iH__________")
	f.Fuzz(func(t *testing.T, s string) {
		token, err := DecodeURL(s)
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Errorf("error %v is not ErrFormat", err)
			}
			return
		}
		text := token.EncodeURL()
		again, err := DecodeURL(text)
		if err != nil || again.EncodeURL() != text {
			t.Errorf("%s became %v, %v", text, again, err)
		}
		const secret = "the password of this token"
		token.Password = []byte(secret)
		if printed := fmt.Sprintf("%v %+v %#v %s", token, token, *token, *token); strings.Contains(printed, secret) {
			t.Errorf("the password is printed: %s", printed)
		}
	})
}
