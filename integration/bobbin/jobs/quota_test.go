package jobs

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestAQuotaFailsAJobAtOnce would catch a job that hits its quota four times, and one that leaves its files there, so
// that the next job would fail too.
func TestAQuotaFailsAJobAtOnce(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	alice.Write(t, dir+"/input", "one line\nanother\n")
	if err := alice.Files(t).MkdirAll(t.Context(), dir+"/output"); err != nil {
		t.Fatal(err)
	}
	if err := rpctest.HDFS(t, suite.Cluster(t)).SetQuota(t.Context(), dir+"/output", 0, 1024); err != nil {
		t.Fatal(err)
	}
	got := alice.Run(t, bobbintest.Small("-o", "json", suite.Program(t, "wordcount"), "--input", dir+"/input", "--output", dir+"/output")...)
	report := got.JSON(t)
	if got.Code != 1 || report.JobStatus != "FAILED" || !strings.Contains(got.Stderr, "quota") || strings.Contains(got.Stderr, "restarts are used up") {
		t.Error(got)
	}
	wait.Until(t, "the failed job has left nothing in its output", func() bool { // it is removed when YARN has recorded the end
		return len(alice.Names(t, dir+"/output")) == 0
	})
}
