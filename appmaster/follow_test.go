package appmaster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// endedMaster is the JobMaster of a job that finishes at once.
type endedMaster struct {
	dispatcher.JobMaster
	details msg.JobDetails
	results collect.Results
}

func (m endedMaster) Run(context.Context) (msg.JobDetails, collect.Results, error) {
	return m.details, m.results, nil
}

func (endedMaster) CollectPage(context.Context, string, int64, time.Duration) (msg.CollectPage, error) {
	return msg.CollectPage{}, actor.ErrStopped
}

// awayStore is a Store whose results cannot be read for a while.
type awayStore struct {
	ha.Store
	until time.Time
}

func (s awayStore) ResultHead(ctx context.Context, job ids.JobID, most int64) ([]byte, error) {
	timer := time.NewTimer(time.Until(s.until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.Store.ResultHead(ctx, job, most)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TestAProgramThatRunsAgainReadsItsResults would catch a program that gets only the part of a result that it had not read
// before its master was replaced, or none because HDFS answers slowly, and takes that for the whole.
func TestAProgramThatRunsAgainReadsItsResults(t *testing.T) {
	t.Parallel()
	graph := &jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "j", Name: "j",
		Vertices: []jobgraph.Vertex{{Name: "v", Parallelism: 1, Source: true, Collect: "top"}},
	}
	graph.Digest = graph.ComputeDigest()
	for name, c := range map[string]struct {
		keep bool
		want string
		err  error
	}{
		"all was kept":      {true, "ab", nil},
		"there was no room": {false, "", msg.ErrResultGone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				result := collect.New(collect.MaxBuffered, 1, c.keep)
				for n, text := range []string{"a", "b"} {
					if _, err := result.Add(int64(n), []byte(text)); err != nil {
						t.Fatal(err)
					}
				}
				page, _, err := result.Page(0)
				if err == nil {
					_, _, err = result.Page(page.Next) // the program has read this, and waits for more
				}
				if err != nil {
					t.Fatal(err)
				}
				result.End()
				start := func(context.Context, dispatcher.StartJobMaster) (dispatcher.JobMaster, error) {
					details := msg.JobDetails{ID: "j1", Name: "j", Status: msg.JobFinished, Start: time.Now(), End: time.Now()}
					return endedMaster{details: details, results: collect.Results{"top": result}}, nil
				}
				outlives := ha.NewMemory()
				run := func(epoch ids.Epoch, do func(*Component)) {
					t.Helper()
					term, err := outlives.Election(epoch).Lead(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					config := dispatcher.Config{Mode: dispatcher.Application, Epoch: epoch, IDs: "0", Archive: dispatcher.Limits{Time: time.Hour, Jobs: 1, Bytes: 1 << 20}}
					d := dispatcher.New(config, awayStore{term.Store, time.Now().Add(time.Minute)}, start, func(context.Context, ids.JobID, msg.JobStatus) {}, quiet())
					left, err := dispatcher.ReadStore(t.Context(), term.Store)
					if err == nil {
						err = d.Recover(t.Context(), left)
					}
					if err != nil {
						t.Fatal(err)
					}
					ctx, die := context.WithCancel(t.Context())
					done := make(chan error, 1)
					go func() { done <- d.Run(ctx) }()
					do(&Component{Dispatcher: d})
					die()
					<-done
				}
				run(1, func(first *Component) {
					if err := first.Dispatcher.Submit(t.Context(), dispatcher.Submission{Job: "j1", Graph: graph}); err != nil {
						t.Error(err)
					}
					if ended, err := first.Wait(t.Context(), "j1"); err != nil || ended.Status != msg.JobFinished {
						t.Errorf("ended %+v, error %v", ended, err)
					}
				})
				run(2, func(next *Component) {
					begin, got := time.Now(), ""
					ended, err := next.Follow(t.Context(), "j1", graph, func(_ string, _ int, records []byte) error {
						got += string(records)
						return nil
					})
					if !errors.Is(err, c.err) || ended.Status != msg.JobFinished || got != c.want || time.Since(begin) < time.Minute {
						t.Errorf("%s with %q after %s, error %v", ended.Status, got, time.Since(begin), err)
					}
					if err := next.Dispatcher.Submit(t.Context(), dispatcher.Submission{Job: "j1", Graph: graph}); !errors.Is(err, msg.ErrJobEnded) {
						t.Errorf("the program executes its job again: error %v", err)
					}
				})
			})
		})
	}
}
