package tokenmanager

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/testing/credstest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// TestNewTokensReplaceThoseOfTheirService would catch an old token that stays under another launcher's
// alias, and is found before the new one.
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

// TestWhatNobodyRenewsEndsFirst would catch a warning that comes days after the token has ended, and a
// later attempt that takes the token for valid.
func TestWhatNobodyRenewsEndsFirst(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	given := creds.New()
	for service, renewer := range map[string]string{"renewed": "rm", "nobody's": ""} {
		given.Tokens[service] = credstest.Delegation(service, identifier.Delegation{
			Owner: "alice", Renewer: renewer, Issued: testEpoch, Max: testEpoch.Add(7 * day),
		})
	}
	got, err := shortest(given, day)
	if want := (life{"nobody's", testEpoch, testEpoch.Add(day)}); err != nil || got.service != want.service || !got.ends.Equal(want.ends) {
		t.Errorf("the first to end is %+v, %v, want %+v", got, err, want)
	}
}
