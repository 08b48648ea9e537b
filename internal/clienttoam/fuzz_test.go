package clienttoam

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// FuzzCredentials parses any text as Authorization. It would catch two texts for the same
// credentials, and a text that crashes the server.
func FuzzCredentials(f *testing.F) {
	f.Add(credentials{[]byte{0x0a, 0x02}, bytes.Repeat([]byte{0xff}, 32)}.header())
	f.Add("ClientToAM token=, proof=")
	f.Add("ClientToAM token=AB, proof=A\n")
	f.Add("Bearer x")
	f.Fuzz(func(t *testing.T, header string) {
		c, err := parseCredentials(header)
		if err != nil {
			if !errors.Is(err, errCredentials) {
				t.Errorf("got %v, want errCredentials", err)
			}
			return
		}
		if _, params, _ := strings.Cut(header, " "); Scheme+" "+params != c.header() {
			t.Errorf("%q is read as %q", header, c.header())
		}
	})
}
