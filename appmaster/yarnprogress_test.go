package appmaster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestProgressIsThatOfTheTasksLeft would catch a progress bar in YARN's pages that is full from the start,
// as Flink's is, or that a session's old jobs keep full.
func TestProgressIsThatOfTheTasksLeft(t *testing.T) {
	job := func(status msg.JobStatus, finished, total int) msg.JobOverview {
		return msg.JobOverview{Status: status, Tasks: map[msg.ExecutionState]int{msg.ExecutionFinished: finished}, TotalTasks: total}
	}
	for _, c := range []struct {
		name string
		jobs []msg.JobOverview
		want float32
	}{
		{"a session without jobs has nothing to do", nil, 1},
		{"a job that begins", []msg.JobOverview{job(msg.JobRunning, 0, 8)}, 0},
		{"a job that is being set up", []msg.JobOverview{job(msg.JobInitializing, 0, 0)}, 0},
		{"a job under way", []msg.JobOverview{job(msg.JobRunning, 6, 8)}, 0.75},
		{"two jobs, the larger of which counts more", []msg.JobOverview{job(msg.JobRunning, 1, 1), job(msg.JobRestarting, 0, 3)}, 0.25},
		{"jobs that have ended do not count", []msg.JobOverview{job(msg.JobFinished, 8, 8), job(msg.JobRunning, 1, 2)}, 0.5},
		{"all have ended", []msg.JobOverview{job(msg.JobFailed, 2, 8)}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := shareOf(c.jobs); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestProgressIsWatched would catch progress that keeps its first value, and a watch that ends after one
// error.
func TestProgressIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p progress
		looks := 0
		go p.watch(t.Context(), time.Second, func(context.Context) ([]msg.JobOverview, error) {
			if looks++; looks == 2 {
				return nil, errors.New("being started")
			}
			return []msg.JobOverview{{Status: msg.JobRunning, Tasks: map[msg.ExecutionState]int{msg.ExecutionFinished: looks}, TotalTasks: 4}}, nil
		})
		for i, want := range []float32{0.25, 0.25, 0.75} {
			synctest.Wait()
			if got := p.share(); got != want {
				t.Errorf("after %d s: %v, want %v", i, got, want)
			}
			time.Sleep(time.Second)
		}
	})
}
