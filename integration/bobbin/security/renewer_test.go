package security

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestATokenThatYARNCannotRenew would catch a rejection in YARN's words alone, which tell what it
// could not do and not why.
func TestATokenThatYARNCannotRenew(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	file := filepath.Join(t.TempDir(), "tokens")
	root := alice.Conf(t).Get("fs.defaultFS")
	if out, err := alice.Java(t, "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher", "-fs", root, "--renewer", bob, file).CombinedOutput(); err != nil {
		t.Fatalf("hdfs fetchdt of %s: %v\n%s", root, err, out)
	}
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
