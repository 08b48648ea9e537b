package credstest

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// TestWhatIsMadeIsRead would catch tests that pass because their credentials cannot be read.
func TestWhatIsMadeIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "keytab")
	Keytab(t, path, "alice@A.ORG", "HTTP/host@B.ORG")
	held, err := kerberos.ReadKeytab(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range held.Principals() {
		names = append(names, p.String())
	}
	if diff := cmp.Diff([]string{"alice@A.ORG", "HTTP/host@B.ORG"}, names); diff != "" {
		t.Errorf("the keytab is of others (-want +got):\n%s", diff)
	}
	if cmp.Equal(Key(t, "HTTP/host@A.ORG"), Key(t, "HTTP/host@B.ORG")) {
		t.Error("two principals have one key")
	}

	for _, want := range []identifier.Delegation{
		{},
		{Owner: "alice@A.ORG", Renewer: "rm", RealUser: "proxy", Issued: time.UnixMilli(1), Max: time.UnixMilli(1 << 41), Sequence: 300, KeyID: 4},
	} {
		if got, err := identifier.DecodeDelegation(Delegation("ns", want)); err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}
