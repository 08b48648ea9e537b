package ha_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// rival is an attempt among others that lead at the same time.
type rival struct {
	epoch    ids.Epoch
	led      time.Time // when it had become the leader
	last     time.Time // when it began its last change that was answered
	accepted []ids.JobID
	tried    map[ids.JobID]bool
	ended    bool
	why      error // of its end
}

// run accepts jobs until it is replaced. The attempt number `ends` ends the application after some jobs.
func (r *rival) run(ctx context.Context, e ha.Election, ends bool) {
	term, err := e.Lead(ctx)
	if r.led, r.why = sched.Now(ctx), err; err != nil {
		return
	}
	r.ended = term.Outcome != nil
	for n := 0; n < 30 && !r.ended; n++ {
		began, id := sched.Now(ctx), ids.JobID(fmt.Sprintf("%d-%d", r.epoch, n))
		if ends && n == 2 {
			if r.why = term.Store.End(ctx, end); r.why == nil {
				r.ended = true
			}
			return
		}
		r.tried[id] = true
		if r.why = term.Store.AddJob(ctx, id, job("x")); r.why != nil {
			return
		}
		r.last = began
		r.accepted = append(r.accepted, id)
	}
}

// Four attempts lead at the same time, in many orders, and calls are lost or late. The test would catch an attempt that
// goes on when another one leads, a job that was accepted and is lost, two ends, and attempts that prevent each other from
// leading.
func TestAttemptsThatLeadAtTheSameTime(t *testing.T) {
	t.Parallel()
	const seeds = 80
	replaced, ended := 0, 0
	for seed := range uint64(seeds) {
		w := newWorld(t, seed)
		w.delays, w.lateBy = true, 1100*time.Millisecond
		w.fate = func(int, string, dfsmodel.Operation) fate {
			if w.random.IntN(40) > 0 {
				return answered
			}
			return []fate{lost, unheard, late}[w.random.IntN(3)]
		}
		rivals := make([]*rival, 4)
		for i := range rivals {
			r := &rival{epoch: ids.Epoch(i + 1), tried: map[ids.JobID]bool{}}
			rivals[i] = r
			w.After(time.Duration(w.random.IntN(3000*(1+int(seed%10))))*time.Millisecond, nil, func() {
				w.process(fmt.Sprint("attempt ", r.epoch), func(ctx context.Context, files *dfsmodel.FileSystem) {
					r.run(ctx, attempt(files, home, r.epoch), seed%2 == 0 && r.epoch == 2)
				})
			})
		}
		w.run(t)
		w.fate = nil
		found := map[ids.JobID]bool{}
		over := false
		w.process("attempt 9", func(ctx context.Context, files *dfsmodel.FileSystem) {
			term, err := attempt(files, home, 9).Lead(ctx)
			if err != nil {
				t.Errorf("seed %d: the last attempt: %v", seed, err)
				return
			}
			if over = term.Outcome != nil; over {
				return
			}
			jobs, err := term.Store.Jobs(ctx)
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			for _, j := range jobs {
				found[j.ID] = true
			}
		})
		w.run(t)
		w.Close()
		tried := 0
		for i, r := range rivals {
			if r.why != nil && class(r.why) != "superseded" && class(r.why) != "ended" {
				t.Errorf("seed %d: attempt %d: %v", seed, r.epoch, r.why)
			}
			if class(r.why) == "superseded" {
				replaced++
			}
			for _, later := range rivals[i+1:] {
				if class(later.why) != "superseded" && !later.led.IsZero() && r.last.After(later.led) {
					t.Errorf("seed %d: attempt %d makes a change at %v, when attempt %d has led since %v", seed, r.epoch, r.last, later.epoch, later.led)
				}
			}
			if r.ended != over && r.ended {
				t.Errorf("seed %d: attempt %d has ended the application, which goes on", seed, r.epoch)
			}
			for _, id := range r.accepted {
				if !over && !found[id] {
					t.Errorf("seed %d: %s was accepted, and is lost", seed, id)
				}
			}
			for id := range r.tried {
				if found[id] {
					tried++
				}
			}
		}
		if tried != len(found) {
			t.Errorf("seed %d: there are jobs that nobody has submitted: %v", seed, found)
		}
		if over {
			ended++
		}
	}
	if replaced < seeds || ended < seeds/20 {
		t.Errorf("of all attempts %d were replaced, and %d applications have ended: the test shows little", replaced, ended)
	}
}
