package security

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestATokenThatYARNCannotRenew would catch a rejection that has only YARN's text, which does not
// say the reason.
func TestATokenThatYARNCannotRenew(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	token, err := alice.Files(t).DelegationToken(t.Context(), "/", bob)
	if err != nil {
		t.Fatal(err)
	}
	given := creds.New()
	given.Tokens[token.Service] = token
	file := handOn(t, given)
	root := alice.Conf(t).Get("fs.defaultFS")
	got := alice.With("HADOOP_TOKEN_FILE_LOCATION="+file).Run(t, bobbintest.Small(
		suite.Program(t, "wordcount"), "--input", "file://"+t.TempDir(), "--output", "/tmp/refused")...)
	if got.Code != 1 {
		t.Errorf("exit code %d, want 1", got.Code)
	}
	for _, want := range []string{"Failed to renew token", `"bob"`, `"rm"`, "rm/localhost@" + cluster.Realm, strings.TrimPrefix(root, "hdfs://localhost")} {
		if !strings.Contains(got.Stderr, want) {
			t.Errorf("the error does not say %q: %s", want, got)
		}
	}
}
