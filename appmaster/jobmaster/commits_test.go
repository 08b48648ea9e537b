package jobmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// archive is a store of commits that answers after a while.
type archive struct {
	takes   time.Duration
	err     error
	records map[int]ha.Commit
	gone    error // says FinishCommit
}

func (a *archive) AddCommit(ctx context.Context, region int, record []byte) error {
	select {
	case <-time.After(a.takes):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if a.err == nil {
		a.records[region] = ha.Commit{Record: record}
	}
	return a.err
}

func (a *archive) FinishCommit(_ context.Context, region int) error {
	if a.gone == nil {
		a.records[region] = ha.Commit{Record: a.records[region].Record, Finished: true}
	}
	return a.gone
}

// newCommittingCluster runs a job with outputs. The commit task of the first one commits when it has leave, and says so over
// the channel. The others go on.
func newCommittingCluster(t *testing.T, a *archive, outputs int) (*cluster, <-chan ids.ExecutionAttemptID) {
	t.Helper()
	a.records = make(map[int]ha.Commit)
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	c := &cluster{t: t, granted: make(chan ids.ExecutionAttemptID, 1)}
	c.run = func(c *cluster, task ids.ExecutionAttemptID) {
		c.state(task, msg.ExecutionRunning)
		if task.Vertex == 0 {
			c.state(task, msg.ExecutionFinished)
		}
		if task.Vertex != 1 {
			return
		}
		if err := c.say(t.Context(), msg.CommitPrepared{Execution: task, Winners: []string{"e1-v0-s0-a0"}}); err != nil {
			t.Errorf("report winners: %v", err)
		}
	}
	var err error
	if c.jm, err = New(sinks(t, outputs, 1), c, a, logger); err != nil {
		t.Fatal(err)
	}
	return c, c.granted
}

// TestLeaveFollowsTheRecord would catch leave to commit before the record is stored, and a record that the next master
// cannot read.
func TestLeaveFollowsTheRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{takes: 10 * time.Minute}
		c, granted := newCommittingCluster(t, a, 1)
		begin := time.Now()
		done := c.start(t.Context())
		task := <-granted
		if waited := time.Since(begin); waited != a.takes {
			t.Errorf("leave comes after %s, want %s", waited, a.takes)
		}
		records, err := commitrecord.DecodeAll(a.records)
		if err != nil || fmt.Sprint(records[0].Winners) != "map[1:[e1-v0-s0-a0]]" {
			t.Errorf("stored is %+v, %v", records, err)
		}
		c.state(task, msg.ExecutionFinished)
		if r := <-done; r.err != nil || r.Details.Status != msg.JobFinished {
			t.Errorf("job is %s, error %v", r.Details.Status, r.err)
		}
		synctest.Wait()
	})
}

// TestASupersededJobMasterTouchesNothing would catch a JobMaster that ends its job although its successor runs it: the
// workers would give up the job, and the Dispatcher would store a result.
func TestASupersededJobMasterTouchesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{takes: time.Second, err: fmt.Errorf("rename: %w", ha.ErrSuperseded)}
		c, granted := newCommittingCluster(t, a, 1)
		r := <-c.start(t.Context())
		if !errors.Is(r.err, ha.ErrSuperseded) {
			t.Errorf("job is %s, error %v, want %v", r.Details.Status, r.err, ha.ErrSuperseded)
		}
		if got := fmt.Sprint(c.declared); got != "[1]" || c.closed != "" || len(granted) > 0 {
			t.Errorf("declared slots %s, connection closed for %q, %d tasks have leave; want that nobody is told", got, c.closed, len(granted))
		}
		synctest.Wait()
	})
}

// TestTheEndOfACommitIsStored would catch a later master that looks for an output which its reader has moved away; a job that
// fails because this cannot be stored; and a JobMaster that goes on although its successor runs the job.
func TestTheEndOfACommitIsStored(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]error{"stored": nil, "refused": errors.New("disk quota exceeded"), "superseded": ha.ErrSuperseded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &archive{gone: gone}
				c, granted := newCommittingCluster(t, a, 2)
				leaving := errors.New("leaving")
				ctx, leave := context.WithCancelCause(t.Context())
				done := c.start(ctx)
				c.state(<-granted, msg.ExecutionFinished)
				synctest.Wait()
				leave(leaving)
				if r := <-done; !errors.Is(r.err, leaving) != errors.Is(gone, ha.ErrSuperseded) || r.Details.Status == msg.JobFailed {
					t.Errorf("job is %s, error %v", r.Details.Status, r.err)
				}
				if a.records[0].Finished != (gone == nil) {
					t.Errorf("stored is %+v", a.records)
				}
				synctest.Wait()
			})
		})
	}
}

// TestASuspendedJobStoresNothingMore would catch an end of the process that waits for storage, and a task that gets
// leave to commit from a JobMaster that has ended.
func TestASuspendedJobStoresNothingMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{takes: time.Hour}
		c, granted := newCommittingCluster(t, a, 1)
		leaving := errors.New("leaving")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := c.start(ctx)
		time.Sleep(time.Minute)
		cancel(leaving)
		if r := <-done; !errors.Is(r.err, leaving) {
			t.Errorf("got error %v", r.err)
		}
		time.Sleep(2 * time.Hour)
		if len(a.records)+len(granted) > 0 || c.closed != "" {
			t.Errorf("%d records are stored, %d tasks have leave, connection closed for %q", len(a.records), len(granted), c.closed)
		}
	})
}

// TestARefusedRecordFailsTheJob would catch a job that waits for ever for a record which cannot be stored.
func TestARefusedRecordFailsTheJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &archive{err: errors.New("disk quota exceeded")}
		c, granted := newCommittingCluster(t, a, 1)
		done := c.start(t.Context())
		time.Sleep(time.Second)
		c.state(ids.ExecutionAttemptID{Epoch: 1, Vertex: 1}, msg.ExecutionCanceled)
		r := <-done
		if r.err != nil || r.Details.Status != msg.JobFailed || !strings.Contains(r.Details.Root.Failure.Message, "disk quota exceeded") || len(granted) > 0 {
			t.Errorf("outcome %+v, error %v", r.Details, r.err)
		}
		synctest.Wait()
	})
}

// TestAJobThatCommitsNeedsAStore would catch a JobMaster that crashes when its first region has written everything.
func TestAJobThatCommitsNeedsAStore(t *testing.T) {
	t.Parallel()
	if _, err := New(sinks(t, 1, 1), nil, nil, logrus.New()); err == nil {
		t.Error("a job that commits needs no store")
	}
}
