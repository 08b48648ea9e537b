package commands

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// TestAnEncryptionZoneIsRefused would catch a job that reads ciphertext as text, a job that restarts although it can
// never write, and a refusal that does not name the zone. rpc/hdfs tests the refusal of each call.
func TestAnEncryptionZoneIsRefused(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, suite.Kind(clusters.Victim))
	u := suite.NewcomerOf(t, c)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	const zone, secret = cluster.Zone, cluster.Zone + "/words/secret"

	count := func(input, output string) []string {
		return bobbintest.Small(suite.Program(t, "wordcount"), "--input", input, "--output", output)
	}
	before := leftOf(t, u)
	refused(t, u, []string{secret, "lies in an HDFS encryption zone", "use a directory outside the zone"}, count(zone+"/words", dir+"/out")...)
	unchanged(t, u, before)
	got := u.Run(t, count(dir+"/text", zone+"/out")...) // planning does not write
	if got.Code != 1 || countLines(got.Stderr, "lies in an HDFS encryption zone") != 1 || countLines(got.Stderr, "restart") != 0 {
		t.Errorf("want an output in the zone refused without a restart, got %s", got)
	}
	u.CheckGone(t, got.Application(t))
}
