package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// staged makes the directory of an application that no attempt leads yet.
func staged(t *testing.T, f *dfs.FS) string {
	t.Helper()
	dir := rpctest.Scratch(t, f) + "/application_1_0001"
	err := f.MkdirMode(t.Context(), dir, 0o700)
	if err == nil {
		err = errors.Join(ha.CheckStorage(t.Context(), f, dir, ids.Source{}), ha.Stage(t.Context(), f, dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func lead(t *testing.T, f *dfs.FS, dir string, epoch ids.Epoch) ha.Term {
	t.Helper()
	term, err := ha.NewDirectory(ha.Options{Files: f, Dir: dir, Epoch: epoch}).Lead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return term
}

func job(i int) ids.JobID { return ids.JobID(fmt.Sprintf("%032x", i)) }

// The test would catch a master that was stopped, and changes something on a real HDFS when it continues: by a file that it
// had open, or by a call.
func TestALeaderThatWasReplacedChangesNothing(t *testing.T) {
	t.Parallel()
	f := rpctest.FS(t, dfs.Options{Conf: smallBlocks(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t)})
	ctx, dir := t.Context(), staged(t, f)
	old := lead(t, f, dir, 1).Store
	err := errors.Join(old.SetAuthority(ctx, []byte("key")), old.Publish(ctx, "[2001:db8::1]:39001", []byte("access")))
	if err = errors.Join(err, old.AddJob(ctx, job(1), ha.Job{Graph: rpctest.Noise(3 * blockSize), Submitted: []byte("then")})); err != nil {
		t.Fatal(err)
	}
	open, err := f.CreateMode(ctx, old.Dir()+"/.open", dfs.CreateOptions{Mode: 0o600})
	if err == nil {
		_, err = open.Write(rpctest.Noise(2 * blockSize))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := lead(t, f, dir, 2).Store
	if _, err := ha.Find(ctx, f, dir); !errors.Is(err, ha.ErrReplacing) {
		t.Errorf("before the new leader has published its address: %v", err)
	}
	if _, err := open.Write(rpctest.Noise(2 * blockSize)); err == nil {
		err = open.Close()
		if err == nil {
			t.Error("a file that was removed is complete")
		}
	}
	for what, err := range map[string]error{
		"authority": old.SetAuthority(ctx, []byte("other")), "address": old.Publish(ctx, "late:1", nil),
		"job": old.AddJob(ctx, job(2), ha.Job{}), "cancel": old.Cancel(ctx, job(1)), "commit": old.AddCommit(ctx, job(1), 0, nil),
		"result": old.AddResult(ctx, job(1), msg.JobFailed, nil), "no job": old.RemoveJob(ctx, job(1)),
		"end": old.End(ctx, ha.Outcome{Status: msg.ApplicationFailed}), "removal": old.Remove(ctx),
	} {
		if !errors.Is(err, ha.ErrSuperseded) {
			t.Errorf("%s: %v, want %v", what, err, ha.ErrSuperseded)
		}
	}
	jobs, err := s.Jobs(ctx)
	if diff := cmp.Diff([]ha.JobEntry{{ID: job(1)}}, jobs); err != nil || diff != "" {
		t.Errorf("%v, jobs (-want +got):\n%s", err, diff)
	}
	stored, err := s.Job(ctx, job(1))
	if err != nil || !cmp.Equal(stored.Graph, rpctest.Noise(3*blockSize)) || string(stored.Submitted) != "then" {
		t.Errorf("the job has %d bytes, %q, %v", len(stored.Graph), stored.Submitted, err)
	}
	if err := s.Publish(ctx, "[2001:db8::2]:39001", []byte("new")); err != nil {
		t.Error(err)
	}
	if leader, err := ha.NewRetrieval(f, dir).Leader(ctx); err != nil || leader != (ha.Leader{Epoch: 2, Address: "[2001:db8::2]:39001"}) {
		t.Errorf("the leader is %+v, %v", leader, err)
	}
	end := ha.Outcome{Status: msg.ApplicationSucceeded, Diagnostics: "well"}
	if err := s.End(ctx, end); err != nil {
		t.Fatal(err)
	}
	last := lead(t, f, dir, 3)
	if last.Outcome == nil || *last.Outcome != end {
		t.Errorf("the next attempt finds %+v", last.Outcome)
	}
	if err := last.Store.Remove(ctx); err != nil {
		t.Error(err)
	}
}

// The test would catch two attempts that lead at the same time on a real HDFS, and attempts that keep each other from leading.
func TestOfManyAttemptsTheLatestLeads(t *testing.T) {
	t.Parallel()
	const attempts = 16
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t)})
	dir := staged(t, f)
	errs := make([]error, attempts+1)
	accepted := make([]bool, attempts+1)
	var all sync.WaitGroup
	for epoch := 1; epoch <= attempts; epoch++ {
		all.Go(func() {
			term, err := ha.NewDirectory(ha.Options{Files: f, Dir: dir, Epoch: ids.Epoch(epoch)}).Lead(t.Context())
			if err == nil {
				err = term.Store.AddJob(t.Context(), job(epoch), ha.Job{})
				accepted[epoch] = err == nil
			}
			if errs[epoch] = err; err == nil {
				errs[epoch] = term.Store.Cancel(t.Context(), job(epoch))
			}
		})
	}
	all.Wait()
	for epoch, err := range errs[1:attempts] {
		if err != nil && !errors.Is(err, ha.ErrSuperseded) {
			t.Errorf("attempt %d: %v", epoch+1, err)
		}
	}
	if errs[attempts] != nil {
		t.Errorf("the latest attempt: %v", errs[attempts])
	}
	jobs, err := lead(t, f, dir, attempts+1).Store.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[ids.JobID]bool{}
	for _, j := range jobs {
		found[j.ID] = true
	}
	for epoch, was := range accepted {
		if was && !found[job(epoch)] {
			t.Errorf("attempt %d has accepted a job, which is lost", epoch)
		}
	}
}

// The test would catch a Store that takes a repeated call for another one's.
func TestAStoreWhoseAnswersAreLost(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"getListing", "getFileInfo", "mkdirs", "create", "addBlock", "complete", "rename2", "delete"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			d := &forgetful{method: method}
			f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t), Dial: d.dial})
			ctx, dir := t.Context(), staged(t, f)
			d.lost.Store(0) // the next answer is lost, too
			s := lead(t, f, dir, 1).Store
			err := errors.Join(
				s.AddJob(ctx, job(1), ha.Job{Graph: []byte("graph")}), s.Cancel(ctx, job(1)), s.AddResult(ctx, job(1), msg.JobCanceled, []byte("body")),
				s.RemoveJob(ctx, job(1)), s.Publish(ctx, "node:1", []byte("access")), s.Publish(ctx, "node:2", []byte("access")),
			)
			if err != nil {
				t.Error(err)
			}
			if jobs, err := s.Jobs(ctx); err != nil || len(jobs) > 0 {
				t.Errorf("jobs: %v, %v", jobs, err)
			}
			if results, err := s.Results(ctx); err != nil || len(results) != 1 || results[0] != (ha.ResultEntry{ID: job(1), Status: msg.JobCanceled}) {
				t.Errorf("results: %v, %v", results, err)
			}
			if err := errors.Join(s.End(ctx, ha.Outcome{Status: msg.ApplicationFailed}), s.Remove(ctx)); err != nil {
				t.Error(err)
			}
			if d.lost.Load() == 0 {
				t.Error("no answer was lost")
			}
		})
	}
}

// The test would catch storage that would be found unreadable only when the next attempt needs it.
func TestStorageThatHDFSWouldEncryptOrStripeIsRefused(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t)})
	striped := rpctest.Scratch(t, f)
	u, err := url.Parse(striped)
	if err != nil {
		t.Fatal(err)
	}
	const policy = "XOR-2-1-1024k"
	put(t, c, "/", "ENABLEECPOLICY", url.Values{"ecpolicy": {policy}})
	put(t, c, u.Path, "SETECPOLICY", url.Values{"ecpolicy": {policy}})
	if err := ha.CheckStorage(t.Context(), f, striped, ids.Source{}); !errors.Is(err, ha.ErrStorage) {
		t.Errorf("a striped directory: %v", err)
	}
	other := clusters.Use(t, clusters.Victim)
	f = rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, other), User: rpctest.Me(t)})
	if err := ha.CheckStorage(t.Context(), f, "hdfs://"+other.NameNodeAddress()+cluster.Zone, ids.Source{}); !errors.Is(err, ha.ErrStorage) {
		t.Errorf("an encrypted directory: %v", err)
	}
}

// The test would catch a leader that asks HDFS more than once for each of 1,000 jobs, or for one after the other: on a quiet
// machine it lists them in 1 s. Most jobs are empty: only how many there are counts. In the long run all are whole, and the time
// to read them, sixteen at a time, is a figure.
func TestAThousandJobsAreListed(t *testing.T) {
	t.Parallel()
	const jobs = 1000
	whole := 20
	if longtest.Is() {
		whole = jobs
	}
	var calls, answering atomic.Int64 // to the NameNode, and the time of all of them
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t), Observe: func(try yarnrpc.Try) {
		calls.Add(1)
		answering.Add(int64(try.Took))
	}})
	dir := staged(t, f)
	s := lead(t, f, dir, 1).Store
	began := time.Now()
	for i := range whole {
		if err := s.AddJob(t.Context(), job(i), ha.Job{Graph: rpctest.Noise(4 << 10), Submitted: rpctest.Noise(100)}); err != nil {
			t.Fatal(err)
		}
	}
	accepted := time.Since(began) / time.Duration(whole)
	forEach(t, whole, jobs, func(ctx context.Context, i int) error { return f.Mkdir(ctx, s.Dir()+"/jobs/"+string(job(i))) })
	began = time.Now()
	next := lead(t, f, dir, 2).Store
	led := time.Since(began)
	calls.Store(0)
	answering.Store(0)
	found, err := next.Jobs(t.Context())
	if err != nil || len(found) != jobs {
		t.Fatalf("%d jobs, %v", len(found), err)
	}
	back := time.Since(began)
	atOnce := float64(answering.Load()) / float64(back-led)
	if n := calls.Load(); n > jobs+10 || atOnce < 4 {
		t.Errorf("%d jobs are listed with %d calls, %.1f at a time", jobs, n, atOnce)
	}
	forEach(t, 0, whole, func(ctx context.Context, i int) error {
		_, err := next.Job(ctx, job(i))
		return err
	})
	cluster.Figure(t, "%d jobs are read %v after the begin of the attempt", whole, time.Since(began).Round(time.Millisecond))
	t.Logf("a job is accepted in %v; the next attempt leads in %v, and has listed %d jobs after %v, %.1f calls at a time", accepted, led, jobs, back, atOnce)
}

// forEach calls do for the numbers from from to below to, sixteen at a time.
func forEach(t *testing.T, from, to int, do func(ctx context.Context, i int) error) {
	t.Helper()
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := from; i < to; i++ {
		group.Go(func() error { return do(ctx, i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}
