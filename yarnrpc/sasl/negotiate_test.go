package sasl

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

// TestATicketIsShownToAWebServer would catch a header that no server can read, and one that a server takes for a replay:
// two requests with the same bytes.
func TestATicketIsShownToAWebServer(t *testing.T) {
	ticket, key := issue(t, etypeID.AES256_CTS_HMAC_SHA1_96)
	seen := make(map[string]bool)
	for range 2 {
		shown, err := ticket.Negotiate()
		if err != nil {
			t.Fatal(err)
		}
		token, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(shown, "Negotiate "))
		if err != nil || !strings.HasPrefix(shown, "Negotiate ") {
			t.Fatalf("%q: %v", shown, err)
		}
		if _, _, err := (&GSSAPIServer{Key: key}).Next(token); err != nil {
			t.Error(err)
		}
		seen[shown] = true
	}
	if len(seen) != 2 {
		t.Error("two requests show the same bytes")
	}
	if shown, err := new(Ticket).Negotiate(); err == nil {
		t.Errorf("a ticket for nobody becomes %q", shown)
	}
}
