package jobs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestAQuotaFailsAJobAtOnce would catch a job that hits its quota four times, and one that leaves its files there, so
// that the next job would fail too.
func TestAQuotaFailsAJobAtOnce(t *testing.T) {
	cluster.Thorough(t)
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

// TestAQuotaOfTheHomeFailsAJob would catch a job whose unfinished output leaves no room for the note that it has failed, so
// that it is FAILING for ever.
func TestAQuotaOfTheHomeFailsAJob(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	const block = 1 << 20 // the smallest that HDFS allows. The quota counts a block as a whole while it is being written
	u := suite.Newcomer(t)
	home, hdfs := "/user/"+u.Name, rpctest.HDFS(t, suite.Cluster(t))
	job := suite.SlowJob(t, u)
	job.Output = home + "/output"
	job.Args[len(job.Args)-2] = job.Output
	job.Args = slices.Insert(job.Args, 1, "-repeat", "50") // more than 20 MB
	d := &bobbintest.Dawdler{SlowJob: job, User: u, Run: u.Start(t, bobbintest.Small(slices.Concat(
		[]string{"-p", "1", "-D", fmt.Sprint("flink.hadoop.dfs.blocksize=", block)}, job.Args)...)...)}
	d.Application = d.Run.Application(t)
	d.Resume(t)
	used, err := hdfs.Space(t.Context(), home)
	if err == nil {
		err = hdfs.SetQuota(t.Context(), home, 0, used+4*block)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.Release(t)
	d.CheckFails(t, "FINISHED", "FAILED", "quota")
	wait.Until(t, "the failed job has left nothing in its output", func() bool { // it is removed when YARN has recorded the end
		return len(u.Names(t, d.Output)) == 0
	})
}
