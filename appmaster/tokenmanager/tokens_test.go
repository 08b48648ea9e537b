package tokenmanager

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestNewTokensReplaceThoseOfTheirService would catch an old token that is kept under the
// name that another launcher gave it, and is found before the new one.
func TestNewTokensReplaceThoseOfTheirService(t *testing.T) {
	t.Parallel()
	old := creds.New()
	old.Tokens["a launcher's own name"] = token("ns1", "old")
	old.Tokens["ns2"] = token("ns2", "old")
	fresh := creds.New()
	fresh.Tokens["ns1"] = token("ns1", "new")
	got := replaced(old, fresh)
	if want := "ns1=new,ns2=old"; show(got) != want {
		t.Errorf("tokens are %s, want %s", show(got), want)
	}
	if want := "a launcher's own name=old,ns2=old"; show(old) != want {
		t.Errorf("the old ones have become %s, want %s", show(old), want)
	}
}
