package bobbin

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestHeldTokensAreTheNewest would catch a task host that opens connections with its first tokens, or with none
// after a bad message.
func TestHeldTokensAreTheNewest(t *testing.T) {
	t.Parallel()
	of := func(password string) msg.Secret {
		c := creds.New()
		c.Tokens["ns"] = &creds.Token{Kind: creds.KindHDFSDelegation, Service: "ns", Password: []byte(password)}
		return c.Marshal()
	}
	var held heldTokens
	for _, step := range []struct {
		name   string
		update msg.Secret
		fault  error
		want   string // password; "": there is no token
	}{
		{"none at first", nil, nil, ""},
		{"the first", of("first"), nil, "first"},
		{"the second", of("second"), nil, "second"},
		{"what is no tokens", msg.Secret("HDTS?"), creds.ErrFormat, "second"},
		{"none again", nil, nil, ""},
	} {
		if err := held.update(step.update); !errors.Is(err, step.fault) {
			t.Errorf("%s: error %v, want %v", step.name, err, step.fault)
		}
		got := ""
		if c := held.Load(); c != nil {
			got = string(c.Tokens["ns"].Password)
		}
		if got != step.want {
			t.Errorf("%s: connections are opened with %q, want %q", step.name, got, step.want)
		}
	}
}
