package commands

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// TestAnEncryptionZoneIsRefused would catch a job that reads ciphertext for text, one that is restarted though it may never
// write, and a refusal that does not name the zone. rpc/hdfs tests how each call is refused.
func TestAnEncryptionZoneIsRefused(t *testing.T) {
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "restarts the NameNode, which then knows a new key")
	u := suite.NewcomerOf(t, c)
	key := "commands-" + ids.Random()[:8]
	admin := func(class string, args ...string) {
		t.Helper()
		if _, err := c.CLI(t.Context(), class, args...); err != nil {
			t.Fatal(err)
		}
	}
	admin("org.apache.hadoop.crypto.key.KeyShell", "create", key)
	if err := c.Restart(t.Context(), "namenode"); err != nil {
		t.Fatal(err)
	}
	dir := u.Scratch(t)
	// The DataNodes take blocks once they know the NameNode again.
	wait.Until(t, "a file is written", func() bool {
		return u.Files(t).WriteFile(t.Context(), dir+"/text", []byte("to be\n"), 0o644) == nil
	})
	zone := dir + "/zone"
	if err := u.Files(t).MkdirMode(t.Context(), zone, 0o777); err != nil {
		t.Fatal(err)
	}
	admin("org.apache.hadoop.hdfs.tools.CryptoAdmin", "-createZone", "-keyName", key, "-path", zone)
	admin("org.apache.hadoop.fs.FsShell", "-touchz", zone+"/secret")

	count := func(input, output string) []string {
		return bobbintest.Small(suite.Program(t, "wordcount"), "--input", input, "--output", output)
	}
	before := leftOf(t, u)
	refused(t, u, []string{zone + "/secret", "lies in an HDFS encryption zone", "use a place outside"}, count(zone, dir+"/out")...)
	unchanged(t, u, before)
	got := u.Run(t, count(dir+"/text", zone+"/out")...) // planning does not write
	if got.Code != 1 || countLines(got.Stderr, "lies in an HDFS encryption zone") != 1 || countLines(got.Stderr, "restart") != 0 {
		t.Errorf("want an output in the zone refused without a restart, got %s", got)
	}
	u.CheckGone(t, got.Application(t))
}
