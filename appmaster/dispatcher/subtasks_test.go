package dispatcher

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// keptSubtasks are those of a job that has ended.
func keptSubtasks() []msg.Subtask {
	all := make([]msg.Subtask, 3)
	for s := range all {
		all[s] = msg.Subtask{
			TaskAttempt: msg.TaskAttempt{Number: 1, State: msg.ExecutionFinished, Resource: "w1", Node: "n1", Traffic: msg.Traffic{ReadRecords: int64(s)}},
			Earlier:     []msg.TaskAttempt{{State: msg.ExecutionFailed, Resource: "w2", Node: "n2"}},
		}
	}
	return all
}

// TestSubtasksOutliveTheirJob would catch subtasks that are lost when their job ends, or when the next master leads; a job
// with too many of them that looks as if it had none; and a list of jobs that reads all of them.
func TestSubtasksOutliveTheirJob(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outlives := ha.NewMemory()
		d, die := runOver(t, Session, 1, leading(t, outlives, 1), newFakeMaster)
		jobs := []ids.JobID{"j1", "huge"}
		for _, job := range jobs {
			submit(t, d, job)
		}
		synctest.Wait()
		for _, job := range jobs {
			if v, err := d.VertexSubtasks(t.Context(), job, "v"); err != nil || len(v.Subtasks) != 3 {
				t.Errorf("%s runs, and has %+v, error %v", job, v, err)
			}
			if _, err := d.VertexSubtasks(t.Context(), job, "x"); !errors.Is(err, msg.ErrVertexNotFound) {
				t.Errorf("an unknown vertex of %s, which runs: error %v", job, err)
			}
		}
		time.Sleep(time.Hour + time.Minute)
		check := func(which string) {
			t.Helper()
			v, err := d.VertexSubtasks(t.Context(), "j1", "v")
			if diff := cmp.Diff(keptSubtasks(), v.Subtasks, cmp.AllowUnexported(msg.Traffic{})); err != nil || diff != "" || v.Parallelism != 3 {
				t.Errorf("%s: %+v, error %v (-want +got):\n%s", which, v.VertexDetails, err, diff)
			}
			for name, test := range map[string]struct {
				job    ids.JobID
				vertex string
				want   error
			}{
				"an unknown vertex": {"j1", "x", msg.ErrVertexNotFound}, "a huge job": {"huge", "v", msg.ErrSubtasksGone}, "an unknown job": {"j9", "v", msg.ErrJobNotFound},
			} {
				if _, err := d.VertexSubtasks(t.Context(), test.job, test.vertex); !errors.Is(err, test.want) {
					t.Errorf("%s: %s: got error %v, want %v", which, name, err, test.want)
				}
			}
		}
		check("the same master")
		_ = die()
		d, die = runOver(t, Session, 2, leading(t, outlives, 2), newFakeMaster)
		check("the next master")
		_ = die()
	})
}
