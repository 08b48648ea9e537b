package ha_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// alone runs a process in a world until it ends.
func (w *world) alone(t *testing.T, main func(ctx context.Context, files *dfsmodel.FileSystem)) {
	t.Helper()
	w.process(fmt.Sprint("process ", w.Events()), main)
	w.run(t)
}

// The test would catch an attempt that ends because HDFS is away for some minutes, one that floods the log or the NameNode
// meanwhile, and one that does not end when it is told to.
func TestAnAttemptWaitsForHDFS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	logger, logs := logtest.NewNullLogger()
	away := w.Now().Add(10 * time.Minute)
	w.fate = func(int, string, dfsmodel.Operation) fate {
		if w.Now().Before(away) {
			return lost
		}
		return answered
	}
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		e := ha.NewDirectory(ha.Options{Files: files, Dir: home, Epoch: 1, Names: ids.Source{Reader: &names{}}, Logger: logger})
		gone := errors.New("the cluster ends")
		short, cancel := sched.WithTimeoutCause(ctx, time.Minute, gone)
		defer cancel()
		if _, err := e.Lead(short); !errors.Is(err, gone) || sched.Now(ctx).Sub(start) > 61*time.Second {
			t.Errorf("lead, until the end: %v after %v", err, sched.Now(ctx).Sub(start))
		}
		term, err := e.Lead(ctx)
		if led := sched.Now(ctx); err != nil || led.Before(away) || led.Sub(away) > 10*time.Second {
			t.Errorf("lead: %v at %v", err, led)
			return
		}
		away = sched.Now(ctx).Add(10 * time.Minute)
		if err := term.Store.AddJob(ctx, jobA, job("a")); err != nil || sched.Now(ctx).Before(away) {
			t.Errorf("a job: %v at %v", err, sched.Now(ctx))
		}
		if jobs, err := term.Store.Jobs(ctx); err != nil || len(jobs) != 1 {
			t.Errorf("jobs: %v, %v", jobs, err)
		}
	})
	if w.calls > 400 {
		t.Errorf("%d calls in 20 minutes", w.calls)
	}
	entries := logs.AllEntries()
	if len(entries) < 20 || len(entries) > 50 {
		t.Errorf("%d lines are logged", len(entries))
	}
	for _, e := range entries {
		if e.Level != logrus.WarnLevel || e.Data["operation"] == nil || e.Data[logrus.ErrorKey] == nil {
			t.Errorf("the log says %v %q", e.Level, e.Message)
		}
	}
}

// refusing is a file system that refuses new files.
type refusing struct {
	*dfsmodel.FileSystem
	err error
}

func (r refusing) MkdirMode(context.Context, string, fs.FileMode) error { return r.err }

func (r refusing) Rename(ctx context.Context, from, to string) error {
	if strings.HasSuffix(to, "/live-2") {
		return r.err
	}
	return r.FileSystem.Rename(ctx, from, to)
}

// The test would catch an attempt that waits for ever for what no retry mends.
func TestWhatNoRetryMendsIsReturned(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		full := refusing{files, fmt.Errorf("mkdirs: %w", filesystem.ErrQuota)}
		term, err := attempt(full, home, 1).Lead(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		if err := term.Store.AddJob(ctx, jobA, job("a")); !errors.Is(err, filesystem.ErrQuota) {
			t.Errorf("a job in a full directory: %v", err)
		}
		if err := term.Store.AddJob(ctx, jobA, ha.Job{Graph: make([]byte, 256<<20+1)}); err == nil {
			t.Error("a job that could not be read again is stored")
		}
		if _, err := attempt(full, home, 2).Lead(ctx); !errors.Is(err, filesystem.ErrQuota) {
			t.Errorf("lead in a full directory: %v", err)
		}
		if left := w.temporary(); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}

// withDead is a file system of which a DataNode is dead, and in the pipeline of each block with more than two replicas.
type withDead struct {
	*dfsmodel.FileSystem
	replicas   int // dfs.replication
	replicated []string
}

type brokenPipeline struct{ io.WriteCloser }

func (b brokenPipeline) Close() error { return errors.Join(b.WriteCloser.Close(), hdfs.ErrPipeline) }

func (d *withDead) CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error) {
	file, err := d.FileSystem.CreateMode(ctx, uri, o)
	if err == nil && d.replicas-o.Fewer > 2 {
		file = brokenPipeline{file}
	}
	return file, err
}

func (d *withDead) Replicate(ctx context.Context, uri string) error {
	d.replicated = append(d.replicated, uri)
	return d.FileSystem.Replicate(ctx, uri)
}

// The test would catch a job that cannot be accepted, or whose end is not stored, while a dead DataNode is one of as many as
// there are replicas, and files that keep fewer replicas.
func TestADeadDataNodeDelaysNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		dead := &withDead{FileSystem: files, replicas: 3}
		term, err := attempt(dead, home, 1).Lead(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		began := sched.Now(ctx)
		if err := errors.Join(term.Store.AddJob(ctx, jobA, job("a")), term.Store.AddResult(ctx, jobA, msg.JobFinished, []byte("result"))); err != nil {
			t.Error(err)
		}
		if took := sched.Now(ctx).Sub(began); took > 2*time.Second {
			t.Errorf("a job and its result take %v", took)
		}
		if len(dead.replicated) != 3 {
			t.Errorf("replicated are %q, want the files of the job and its result", dead.replicated)
		}
	})
}

// The test would catch a session that never comes back, or results that are never answered, because the blocks of one job are
// lost; and a job that is given up because HDFS was away.
func TestLostBlocksAreThoseOfOneJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	var lostFrom, awayUntil time.Time
	of, most := string(jobA), -1 // whose blocks are lost, and for how many reads
	w.fate = func(_ int, _ string, op dfsmodel.Operation) fate {
		concerned := strings.Contains(op.Path, of) && (op.Kind == dfsmodel.Load || op.Kind == dfsmodel.ReadBlock)
		if w.Now().Before(awayUntil) || concerned && !lostFrom.IsZero() && w.Now().After(lostFrom) && most != 0 {
			most--
			return lost
		}
		return answered
	}
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		term, err := attempt(files, home, 1).Lead(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		s := term.Store
		for _, id := range []ids.JobID{jobA, jobB} {
			err := errors.Join(s.AddJob(ctx, id, job("x")), s.AddCommit(ctx, id, 0, []byte("winners")), s.AddResult(ctx, id, msg.JobFinished, []byte("body")))
			if err != nil {
				t.Error(err)
			}
		}
		for what, read := range map[string]func(ids.JobID) error{
			"job":     func(id ids.JobID) error { _, err := s.Job(ctx, id); return err },
			"commits": func(id ids.JobID) error { _, err := s.Commits(ctx, id); return err },
			"result":  func(id ids.JobID) error { _, err := s.Result(ctx, id); return err },
		} {
			lostFrom, awayUntil = time.Time{}, sched.Now(ctx).Add(20*time.Minute)
			if err := read(jobA); err != nil {
				t.Errorf("%s, and HDFS was away: %v", what, err)
			}
			lostFrom = sched.Now(ctx)
			if err := read(jobB); err != nil {
				t.Errorf("%s of another job: %v", what, err)
			}
			begin := sched.Now(ctx)
			err := read(jobA)
			if spent := sched.Now(ctx).Sub(begin); err == nil || !strings.Contains(err.Error(), "blocks") || spent < 10*time.Minute || spent > 11*time.Minute {
				t.Errorf("%s without blocks: %v after %s", what, err, spent)
			}
		}
		of, lostFrom = "", sched.Now(ctx)
		for i, most := range []time.Duration{11 * time.Minute, time.Minute} { // each waits, or all together
			begin := sched.Now(ctx)
			if _, err := s.Job(ctx, []ids.JobID{jobA, jobB}[i]); err == nil || sched.Now(ctx).Sub(begin) > most {
				t.Errorf("job %d of two without blocks: %v after %s", i+1, err, sched.Now(ctx).Sub(begin))
			}
		}
		for range 2 { // one failure, while others are given up
			most = 1
			if _, err := s.Job(ctx, jobB); err != nil {
				t.Errorf("a job whose first read fails: %v", err)
			}
		}
	})
}

// The test would catch an attempt that waits for ever, because the blocks of the application's key, or of its outcome, are
// lost: nobody could see why the application neither runs nor ends.
func TestAnAttemptDoesNotWaitForLostBlocksOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	lose := ""
	w.fate = func(_ int, _ string, op dfsmodel.Operation) fate {
		if lose != "" && strings.HasSuffix(op.Path, lose) && (op.Kind == dfsmodel.Load || op.Kind == dfsmodel.ReadBlock) {
			return lost
		}
		return answered
	}
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		term, err := attempt(files, home, 1).Lead(ctx)
		if err == nil {
			err = term.Store.SetAuthority(ctx, []byte("key"))
		}
		if err != nil {
			t.Error(err)
			return
		}
		lose = "ca.pem"
		begin := sched.Now(ctx)
		if _, err := term.Store.Authority(ctx); err == nil || !strings.Contains(err.Error(), "blocks") || sched.Now(ctx).Sub(begin) > 20*time.Minute {
			t.Errorf("the key without blocks: %v after %v", err, sched.Now(ctx).Sub(begin))
		}
		if err := term.Store.End(ctx, ha.Outcome{Status: msg.ApplicationSucceeded}); err != nil {
			t.Error(err)
		}
		lose = "outcome"
		begin = sched.Now(ctx)
		next, err := attempt(files, home, 2).Lead(ctx)
		if err != nil || next.Outcome == nil || next.Outcome.Status != msg.ApplicationUnknown || sched.Now(ctx).Sub(begin) > 20*time.Minute {
			t.Errorf("the outcome without blocks: %+v, %v after %v", next.Outcome, err, sched.Now(ctx).Sub(begin))
		}
	})
}

// lapsed is a file system that refuses the tokens of its process.
type lapsed struct{ *dfsmodel.FileSystem }

func (l lapsed) err() error { return fmt.Errorf("get file info: %w", yarnrpc.ErrInvalidToken) }

func (l lapsed) MkdirMode(context.Context, string, fs.FileMode) error { return l.err() }

func (l lapsed) Rename(context.Context, string, string) error { return l.err() }

func (l lapsed) Stat(context.Context, string) (filesystem.FileInfo, error) {
	return filesystem.FileInfo{}, l.err()
}

// The test would catch an application that cannot end without a keytab, because its tokens have ended; and one that ends
// although its keytab will give it others.
func TestEndedTokensAreFinalWithoutALogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		if _, err := attempt(files, home, 1).Lead(ctx); err != nil {
			t.Error(err)
			return
		}
		for _, noLogin := range []bool{true, false} {
			e := ha.NewDirectory(ha.Options{Files: files, Dir: home, Epoch: 1, Names: ids.Source{Reader: &names{9}}, NoLogin: noLogin})
			term, err := e.Lead(ctx)
			if err != nil {
				t.Error(err)
				return
			}
			e.Files = lapsed{files}
			for what, do := range map[string]func(context.Context) error{
				"end":    func(ctx context.Context) error { return term.Store.End(ctx, end) },
				"a job":  func(ctx context.Context) error { return term.Store.AddJob(ctx, jobA, job("a")) },
				"result": func(ctx context.Context) error { return term.Store.AddResult(ctx, jobA, msg.JobFailed, nil) },
				"remove": func(ctx context.Context) error { return term.Store.RemoveJob(ctx, jobA) },
			} {
				late := errors.New("late")
				short, cancel := sched.WithTimeoutCause(ctx, time.Hour, late)
				err := do(short)
				cancel()
				if want := map[bool]error{true: ha.ErrNoCredentials, false: late}[noLogin]; !errors.Is(err, want) {
					t.Errorf("%s without a login (%t): %v, want %v", what, noLogin, err, want)
				}
			}
		}
	})
}

// An attempt may die after it has stored the outcome. The test would catch a next attempt that takes it for the end, or
// that cannot store another one.
func TestTheOutcomeAloneIsNoEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		if err := files.WriteFile(ctx, home+"/live-0/outcome", []byte(`{"status":"FAILED"}`), 0o600); err != nil {
			t.Error(err)
		}
		term, err := attempt(files, home, 1).Lead(ctx)
		if err != nil || term.Outcome != nil {
			t.Errorf("the next attempt finds %+v, %v", term.Outcome, err)
			return
		}
		if err := term.Store.End(ctx, end); err != nil {
			t.Error(err)
		}
		if term, err = attempt(files, home, 2).Lead(ctx); err != nil || term.Outcome == nil || *term.Outcome != end {
			t.Errorf("the last attempt finds %+v, %v", term.Outcome, err)
		}
	})
}

// The test would catch an application that runs again because its outcome cannot be read.
func TestAnEndThatCannotBeReadIsAnEnd(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{"missing": "", "cut": `{"status":"SUCC`, "large": strings.Repeat("x", 2<<20)} {
		w := newWorld(t, 1)
		w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
			err := files.Rename(ctx, home+"/live-0", home+"/ended-1")
			if content != "" {
				err = errors.Join(err, files.WriteFile(ctx, home+"/ended-1/outcome", []byte(content), 0o600))
			}
			if err != nil {
				t.Error(err)
			}
			term, err := attempt(files, home, 2).Lead(ctx)
			if err != nil || term.Outcome == nil || term.Outcome.Status != msg.ApplicationUnknown || term.Outcome.Diagnostics == "" {
				t.Errorf("%s: %+v, %v", name, term.Outcome, err)
				return
			}
			if err := term.Store.Remove(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
		if left := w.tree(); len(left) > 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
}

// A call of the client may be executed late, and make a directory that is not the leader's. The test would catch an attempt
// that leads there.
func TestTheHighestEpochCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		term, err := attempt(files, home, 1).Lead(ctx)
		if err == nil {
			err = errors.Join(term.Store.AddJob(ctx, jobA, job("a")), files.Mkdir(ctx, home+"/live-0"))
		}
		if err != nil {
			t.Error(err)
			return
		}
		if term, err = attempt(files, home, 2).Lead(ctx); err == nil {
			var jobs []ha.JobEntry
			if jobs, err = term.Store.Jobs(ctx); len(jobs) != 1 {
				t.Errorf("the next attempt finds %v", jobs)
			}
		}
		if err != nil {
			t.Error(err)
			return
		}
		if err := errors.Join(term.Store.End(ctx, end), term.Store.Remove(ctx)); err != nil {
			t.Error(err)
		}
	})
	if left := w.tree(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// The directory of an application in the staging area has other files. The test would catch a removal that takes them
// along: the client may still need them.
func TestRemoveLeavesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		err := files.WriteFile(ctx, home+"/staged.json", []byte("staged"), 0o600)
		var term ha.Term
		if err == nil {
			term, err = attempt(files, home, 1).Lead(ctx)
		}
		if err == nil {
			err = errors.Join(term.Store.End(ctx, end), term.Store.Remove(ctx))
		}
		if err != nil {
			t.Error(err)
		}
	})
	if diff := cmp.Diff([]string{"staged.json staged"}, w.tree()); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}

// A session of 1,000 jobs comes back. A call to HDFS takes 2 ms here. The test would catch a list that reads its jobs, or asks
// for one after the other: 1,000 jobs must cost less than 2 s.
func TestAThousandJobsAreFoundFast(t *testing.T) {
	t.Parallel()
	const jobs = 1000
	w := newWorld(t, 1)
	w.alone(t, func(ctx context.Context, files *dfsmodel.FileSystem) {
		term, err := attempt(files, home, 1).Lead(ctx)
		for i := range jobs {
			if id := ids.JobID(fmt.Sprintf("%032d", i)); err == nil {
				err = errors.Join(term.Store.AddJob(ctx, id, job("x")), term.Store.AddResult(ctx, id, msg.JobFinished, nil))
			}
		}
		if err != nil {
			t.Error(err)
			return
		}
		began, calls := sched.Now(ctx), w.calls
		if term, err = attempt(files, home, 2).Lead(ctx); err != nil {
			t.Error(err)
			return
		}
		found, err := term.Store.Jobs(ctx)
		ended, also := term.Store.Results(ctx)
		if len(found) != jobs || len(ended) != jobs || err != nil || also != nil {
			t.Errorf("%d jobs, %d results, %v, %v", len(found), len(ended), err, also)
		}
		if took, calls := sched.Now(ctx).Sub(began), w.calls-calls; took > 200*time.Millisecond || calls > jobs+10 {
			t.Errorf("it takes %v and %d calls", took, calls)
		}
	})
}
