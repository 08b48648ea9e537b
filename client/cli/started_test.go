package cli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// clusterOfTwo is alice's, of two nodes with 8 GB each and an HDFS, all of them fakes. An application that she starts runs until it
// is killed.
func clusterOfTwo(t *testing.T) *client.Cluster {
	t.Helper()
	var fake *yarnfake.Fake
	fake = startYARN(t, yarnfake.Config{Nodes: 2, Heartbeat: 10 * time.Millisecond, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
		o, err := amrm.FromConf(fake.Conf())
		if err != nil {
			t.Error(err)
			return records.ExitAborted
		}
		o.Attempt, o.Token = c.ID.Attempt, c.Credentials.Tokens[""]
		rm := amrm.New(o)
		defer rm.Close()
		if _, err := rm.Register(ctx, amrm.RegisterRequest{Host: "127.0.0.1", RPCPort: 1}); err != nil {
			t.Error(err)
		}
		return forever(ctx, c)
	}})
	hdfs := hdfsfake.Start(hdfsfake.Config{})
	t.Cleanup(hdfs.Stop)
	cluster := openedBy(t, environment(t, fake.Conf()))
	if err := cluster.Files.Close(); err != nil {
		t.Fatal(err)
	}
	cluster.Files = dfs.New(dfs.Options{Conf: hdfs.Conf(), User: cluster.User, Dial: hdfs.Dial})
	return cluster
}

// launching is what starts clusters there, with options that are all defaults, and what it prints.
func launching(t *testing.T, cluster *client.Cluster) (launcher, *bytes.Buffer) {
	t.Helper()
	cfg, err := options(process(t, nil, nil, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	return launcher{cfg: cfg, cluster: cluster, say: progress.New(&out), timeline: client.NewTimeline(time.Now()), outcome: new(outcome)}, &out
}

// TestAJobThatCanHardlyFitIsToldSoAndSubmitted would catch 80 GB that a job with a cluster of its own asks of nodes with 16, without
// a word; one that is refused for that; and a warning of one that fits.
func TestAJobThatCanHardlyFitIsToldSoAndSubmitted(t *testing.T) {
	cluster := clusterOfTwo(t)
	bobbin, job := executable(t, program.Native(), ""), executable(t, program.Native(), mark(jobgraph.ProtocolVersion))
	for slots, warning := range map[int]string{
		2:  "",
		80: "the job can hardly fit: its 80 slots take 80 TaskExecutors of 1024 MB, 82432 MB in all, and the nodes have 16384 MB together. ",
	} {
		l, out := launching(t, cluster)
		target := perJob{launcher: l}
		if err := target.inspect(bobbin, job); err != nil {
			t.Fatal(err)
		}
		got, err := target.submit(t.Context(), &jobgraph.JobGraph{Name: "words", Vertices: []jobgraph.Vertex{{Parallelism: slots}}})
		if err != nil {
			t.Fatalf("%d slots: %v", slots, err)
		}
		if report, err := got.report(t.Context()); err != nil || report.State != records.ApplicationRunning {
			t.Errorf("%d slots: YARN says %s, %v", slots, report.State, err)
		}
		_, said, submitted := strings.Cut(out.String(), "submitted "+got.application+"\n")
		if !submitted || strings.HasPrefix(said, "the job can hardly fit: ") != (warning != "") || !strings.HasPrefix(said, warning) {
			t.Errorf("%d slots: printed\n%s", slots, out)
		}
	}
}

// TestASecondSessionTakesTheFirstOnesPlace would catch one that takes it without a word, or warns of itself.
func TestASecondSessionTakesTheFirstOnesPlace(t *testing.T) {
	cluster := clusterOfTwo(t)
	path := filepath.Join(t.TempDir(), "session")
	var first records.ApplicationID
	for _, place := range []string{"first", "second"} {
		l, out := launching(t, cluster)
		bobbin, err := client.Binary(executable(t, program.Native(), ""), l.cfg)
		if err != nil {
			t.Fatal(err)
		}
		app, err := l.startAt(t.Context(), path, bobbin, nil)
		if err != nil {
			t.Fatal(err)
		}
		if written, err := sessionfile.Read(path); err != nil || written.Application != app.ID {
			t.Errorf("the %s is %s, and written down is %s, %v", place, app.ID, written.Application, err)
		}
		warning := fmt.Sprintf("session %s replaces session %s in %s; ", app.ID, first, path)
		if warned := strings.Contains(out.String(), warning); warned != (place == "second") || strings.Contains(out.String(), "replaces") != warned {
			t.Errorf("of the %s is printed\n%s", place, out)
		}
		first = app.ID
	}
}
