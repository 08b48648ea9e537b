package run

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// spectacle is a master that describes a job with two vertices.
type spectacle struct {
	began     time.Time
	takes     time.Duration // for each answer about activity
	err       error         // in place of each answer
	earlier   bool          // it is of an earlier release
	scheduled int           // tasks that wait
	setUp     time.Duration // when the job is set up: before, it has no vertices
	asked     []string      // what, and when
}

func (s *spectacle) ask(what string) {
	s.asked = append(s.asked, what+" "+time.Since(s.began).String())
}

func (s *spectacle) Details(_ context.Context, job ids.JobID) (restapi.JobDetailsInfo, error) {
	s.ask("details")
	if time.Since(s.began) < s.setUp {
		return restapi.JobDetailsInfo{ID: job, State: msg.JobInitializing, EndTime: -1}, s.err
	}
	vertex := restapi.VertexInfo{ID: "a", Name: "read", Status: msg.ExecutionRunning, Parallelism: 2, Tasks: map[msg.ExecutionState]int{msg.ExecutionScheduled: s.scheduled}}
	return restapi.JobDetailsInfo{ID: job, State: msg.JobRunning, EndTime: -1, Vertices: []restapi.VertexInfo{vertex, {ID: "b"}}}, s.err
}

func (s *spectacle) Activity(ctx context.Context, _ ids.JobID) (restapi.JobVertices, error) {
	s.ask("vertices")
	if err := pause(ctx, s.takes); err != nil || s.earlier {
		return restapi.JobVertices{}, err
	}
	if time.Since(s.began) < s.setUp {
		return restapi.JobVertices{Now: 1}, nil
	}
	return restapi.JobVertices{Now: 1, Vertices: []restapi.VertexSummary{
		{ID: "a", Activity: &restapi.VertexActivity{Tasks: 2, Busy: 0.9}, Rates: &restapi.VertexRates{}}, {ID: "b"},
	}}, nil
}

func (s *spectacle) Waiting(context.Context, ids.JobID) (string, time.Time, error) {
	s.ask("waiting")
	return "waits for slots", time.Time{}, nil
}

// TestAViewAsksRarely would catch questions about a short job, questions for each vertex, a client that keeps a slow master
// busy, one that asks a master of an earlier release again and again, one that takes a job without vertices for one of an
// earlier release, and a view that outlives its job.
func TestAViewAsksRarely(t *testing.T) {
	for _, c := range []struct {
		name string
		of   spectacle
		want []string // for 7 s
	}{
		{"a fast master", spectacle{}, []string{"details 2s", "vertices 2s", "details 4s", "vertices 4s", "details 6s", "vertices 6s"}},
		{"tasks wait", spectacle{scheduled: 1, takes: time.Second / 2}, []string{"details 2s", "vertices 2s", "waiting 2.5s", "details 7s", "vertices 7s"}},
		{"a slow master", spectacle{takes: time.Second}, []string{"details 2s", "vertices 2s"}},
		{"the job ends meanwhile", spectacle{takes: time.Hour}, []string{"details 2s", "vertices 2s"}},
		{"it does not answer", spectacle{err: &client.StatusError{Status: http.StatusServiceUnavailable}}, []string{"details 2s", "details 4s", "details 6s"}},
		{"it refuses", spectacle{err: errors.New("denied")}, []string{"details 2s"}},
		{"the job is set up late", spectacle{setUp: 5 * time.Second, scheduled: 1}, []string{"details 2s", "vertices 2s", "details 4s", "vertices 4s", "details 6s", "vertices 6s", "waiting 6s"}},
		{"an earlier release", spectacle{earlier: true}, []string{"details 2s", "vertices 2s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, ctx := c.of, t.Context()
				s.began = time.Now()
				ctx, end := context.WithTimeout(ctx, 7*time.Second+time.Millisecond)
				defer end()
				r := runner{Journal: NewJournal(t.Output(), s.began, false)}
				r.view(ctx, &s, "job")
				if !slices.Equal(s.asked, c.want) {
					t.Errorf("asked %q, want %q", s.asked, c.want)
				}
				if lasted := time.Since(s.began); lasted > 8*time.Second {
					t.Errorf("it lasted %v", lasted)
				}
			})
		})
	}
}
