package dispatcher

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestJobsSurviveTheirDispatcher lets masters die at any point of random sessions and applications, also between a change
// of the store and its answer. It would catch an accepted job that is lost; a job that runs before it is stored, or again
// after its result is; a request for a job's end that is answered and then forgotten; an end that is told before it is
// stored, and another one later; a job that was refused and stays in the store; a result that is removed before its job is; and a question that is never answered.
func TestJobsSurviveTheirDispatcher(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &survival{
			T: t, mode: rapid.SampledFrom([]Mode{Session, Application}).Draw(t, "mode"), kept: rapid.IntRange(1, 4).Draw(t, "kept"),
			now: testEpoch, outlives: ha.NewMemory(),
			accepted: make(map[ids.JobID]bool), stopped: make(map[ids.JobID]bool), told: make(map[ids.JobID]msg.JobStatus), forgotten: make(map[ids.JobID]bool),
		}
		w.begin()
		for range rapid.IntRange(0, 80).Draw(t, "steps") {
			w.act()
		}
		w.settle()
	})
}

// survival is a cluster whose master may die, and what its users have been told.
type survival struct {
	*rapid.T
	mode     Mode
	kept     int // most ended jobs in memory
	now      time.Time
	outlives *ha.Memory
	store    inMemory // of this master
	epoch    ids.Epoch

	core     *core
	requests []effect                     // to the store, not answered
	running  map[ids.JobID]StartJobMaster // with their JobMasters
	cancels  map[ids.JobID]bool           // the JobMaster was told to end the job
	asked    map[uint64]any               // questions without an answer
	last     uint64

	accepted  map[ids.JobID]bool          // the submission was answered
	stopped   map[ids.JobID]bool          // the request for the end was answered
	told      map[ids.JobID]msg.JobStatus // how the job has ended
	forgotten map[ids.JobID]bool
}

// begin starts the next master.
func (w *survival) begin() {
	w.epoch++
	w.store = leading(w.T, w.outlives, w.epoch)
	c := configured(w.mode)
	c.Epoch, c.Archive.Jobs = w.epoch, w.kept
	w.core = newCore(c)
	w.requests, w.running, w.cancels, w.asked = nil, make(map[ids.JobID]StartJobMaster), make(map[ids.JobID]bool), make(map[uint64]any)
	left, err := ReadStore(w.Context(), w.store)
	if err != nil {
		w.Fatal(err)
	}
	w.step(recovered{left})
	for id := range w.accepted {
		if !w.forgotten[id] && w.core.jobs[id] == nil && !w.core.past.has(id) {
			w.Fatalf("job %s is lost", id)
		}
	}
	for id, status := range w.told {
		if j := w.core.jobs[id]; j != nil && (j.phase != ended || j.details.Status != status) {
			w.Fatalf("job %s was %s, and is not under the next master", id, status)
		}
	}
}

// die ends the master. What it has asked the store for is done, or not.
func (w *survival) die() {
	for _, request := range w.requests {
		if rapid.Bool().Draw(w.T, "done") {
			w.perform(request)
		}
	}
	w.begin()
}

// perform makes a change of the store, or reads from it.
func (w *survival) perform(request effect) event {
	ctx, k := w.Context(), stored{w.store}
	var err error
	switch e := request.(type) {
	case storeJob:
		err = k.addJob(ctx, e.Submission, e.Submitted)
	case storeCancel:
		err = k.cancel(ctx, e.Job)
	case storeResult:
		err = k.addResult(ctx, e.Job, e.Result)
	case removeJob:
		if w.store.result(e.Job) == "" && w.accepted[e.Job] {
			w.Fatalf("job %s is removed without a result", e.Job)
		}
		err = k.removeJob(ctx, e.Job)
	case removeResult:
		if _, has := w.store.accepted(e.Job); has || !w.forgotten[e.Job] {
			w.Fatalf("the result of job %s is removed, and the job itself may run again", e.Job)
		}
		err = k.removeResult(ctx, e.Job)
		delete(w.accepted, e.Job) // the id may be that of another job
		delete(w.stopped, e.Job)
		delete(w.told, e.Job)
		delete(w.forgotten, e.Job)
	case loadResult:
		r, err := k.result(ctx, e.Job, e.Status, func(int) error { return nil })
		return resultLoaded{Job: e.Job, Result: r, Err: err}
	case loadOverview:
		r, err := k.overview(ctx, e.Job, e.Status)
		if err != nil {
			w.Fatal(err)
		}
		return overviewLoaded{Job: e.Job, Identity: r.Identity, Overview: r.Details.Overview()}
	}
	if err != nil {
		w.Fatalf("%#v: %v", request, err)
	}
	return taken(request)
}

func (w *survival) step(event event) {
	for _, effect := range w.core.Step(w.now, event) {
		switch e := effect.(type) {
		case StartJobMaster:
			w.started(e)
		case cancelJob:
			w.cancels[e.Job] = true
		case jobArchived:
			w.tell(e.Job, e.Status)
		case jobForgotten:
			w.forgotten[e.Job] = w.mode == Session
		case reply:
			w.answered(e)
		case storeJob, storeCancel, storeResult, removeJob, removeResult, loadResult, loadOverview:
			w.requests = append(w.requests, e)
		}
	}
	if at := w.core.Alarm(); event == (woken{}) && !at.IsZero() && !at.After(w.now) {
		w.Fatalf("the core was woken at %s, and leaves its alarm at %s", w.now, at)
	}
	if w.mode == Application {
		for _, job := range w.core.ended.order {
			w.forgotten[job.id] = true
		}
	}
}

func (w *survival) started(e StartJobMaster) {
	id := e.Submission.Job
	if _, has := w.store.accepted(id); !has {
		w.Fatalf("job %s runs before it is stored", id)
	}
	if status := w.store.result(id); status != "" {
		w.Fatalf("job %s runs again, though it is %s", id, status)
	}
	if w.stopped[id] && !e.Cancelled {
		w.Fatalf("job %s runs again, though its end was requested", id)
	}
	if commits := w.store.commits(id); e.Recovered != nil && len(e.Recovered) != commits || e.JobMaster.Epoch() != w.epoch {
		w.Fatalf("job %s starts as %s with %d of %d commits", id, e.JobMaster, len(e.Recovered), commits)
	}
	w.running[id] = e
}

// tell notes that somebody may know how a job has ended.
func (w *survival) tell(id ids.JobID, status msg.JobStatus) {
	if stored := w.store.result(id); stored != status {
		w.Fatalf("job %s is told to be %s, and stored as %q", id, status, stored)
	}
	if known := w.told[id]; known != "" && known != status {
		w.Fatalf("job %s is %s and was %s", id, status, known)
	}
	w.told[id] = status
}

func ask[R any](w *survival, asking func(actor.Question[R]) event) {
	w.last++
	e := asking(actor.Question[R](w.last))
	w.asked[w.last] = e
	w.step(e)
}

func (w *survival) answered(r reply) {
	question, asked := w.asked[r.To()]
	if !asked {
		w.Fatalf("question %d is answered twice", r.To())
	}
	delete(w.asked, r.To())
	err, _ := r.Content().(error)
	switch e := question.(type) {
	case submitAsked:
		if id := e.Submission.Job; err == nil || errors.Is(err, msg.ErrJobExists) {
			w.accepted[id] = true
		}
	case cancelAsked:
		if job, _ := w.store.accepted(e.Job); err == nil && w.store.result(e.Job) != msg.JobCanceled && !job.Cancelled {
			w.Fatalf("the end of job %s is granted, and not stored", e.Job)
		}
		w.stopped[e.Job] = w.stopped[e.Job] || err == nil
	case jobAsked, resultAsked:
		if entry := r.Content().(jobEntry); entry.Details != nil {
			w.tell(entry.Job, entry.Details.Status)
		}
	}
}

// act does something at random.
func (w *survival) act() {
	action := rapid.SampledFrom([]string{
		"store", "store", "store", "store", "store", "refuse", "submit", "submit", "cancel", "end", "end", "end", "commit", "ask", "ask", "wait", "die",
	}).Draw(w.T, "action")
	job := ids.JobID(fmt.Sprintf("j%d", rapid.IntRange(0, 8).Draw(w.T, "job")))
	switch action {
	case "store", "refuse":
		if len(w.requests) == 0 {
			return
		}
		i := rapid.IntRange(0, len(w.requests)-1).Draw(w.T, "request")
		request := w.requests[i]
		w.requests = slices.Delete(w.requests, i, i+1)
		if action == "store" {
			w.step(w.perform(request))
			return
		}
		if id, change := changeOf(request); change != 0 {
			if change == storeTheJob && rapid.Bool().Draw(w.T, "done") {
				w.perform(request) // a first try has stored it, and its answer was lost
			}
			w.step(changed{Job: id, Change: change, Err: errors.New("quota exceeded")})
		} else if e, is := request.(loadResult); is {
			w.step(resultLoaded{Job: e.Job, Err: errors.New("no such block")})
		} else {
			w.step(overviewLoaded{Job: request.(loadOverview).Job, Err: errors.New("no such block")})
		}
	case "submit":
		ask(w, func(q actor.Question[error]) event {
			e := submission(Submission{Job: job, Graph: collecting(1), Detached: rapid.Bool().Draw(w.T, "detached"), ClientTimeout: time.Hour})
			e.Question = q
			return e
		})
	case "cancel":
		ask(w, func(q actor.Question[error]) event { return cancelAsked{Job: job, Question: q} })
	case "end":
		w.end(job)
	case "commit":
		if _, runs := w.running[job]; runs {
			_ = w.store.AddCommit(w.Context(), job, rapid.IntRange(0, 2).Draw(w.T, "region"), []byte("winners"))
		}
	case "ask":
		w.askAbout(job)
	case "wait":
		w.now = w.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(w.T, "minutes")) * time.Minute)
		w.step(woken{})
	case "die":
		w.die()
	}
}

func (w *survival) askAbout(job ids.JobID) {
	switch rapid.IntRange(0, 4).Draw(w.T, "question") {
	case 0:
		ask(w, func(q actor.Question[jobEntry]) event { return jobAsked{Job: job, Question: q} })
	case 1:
		ask(w, func(q actor.Question[jobEntry]) event { return resultAsked{Job: job, Question: q} })
	case 2:
		ask(w, func(q actor.Question[pageAnswer]) event { return pageAsked{Job: job, Name: "r0", Question: q} })
	case 3:
		ask(w, func(q actor.Question[[]jobEntry]) event { return jobsAsked{Question: q} })
	case 4:
		ask(w, func(q actor.Question[Outcome]) event { return jobsAwaited{Question: q} })
	}
}

// end ends a job that runs.
func (w *survival) end(job ids.JobID) {
	start, runs := w.running[job]
	if !runs {
		return
	}
	delete(w.running, job)
	if rapid.IntRange(0, 3).Draw(w.T, "fails") == 0 {
		w.step(jobMasterFailed{Job: job, JobMaster: start.JobMaster, Err: errors.New("no such option")})
		return
	}
	status := rapid.SampledFrom([]msg.JobStatus{msg.JobFinished, msg.JobFailed}).Draw(w.T, "status")
	if start.Cancelled || w.cancels[job] && rapid.Bool().Draw(w.T, "in time") {
		status = msg.JobCanceled
	}
	w.step(jobEnded{Job: job, JobMaster: start.JobMaster, Details: msg.JobDetails{ID: job, Status: status, End: w.now}, Results: collect.Results{"r0": filled(w.T, collect.LeastBuffered, 10)}})
}

// settle lets all that is under way come to its end, and checks that nothing is left of it.
func (w *survival) settle() {
	for len(w.requests) > 0 || len(w.running) > 0 || len(w.core.retries) > 0 {
		if len(w.requests) > 0 {
			request := w.requests[0]
			w.requests = w.requests[1:]
			w.step(w.perform(request))
			continue
		}
		for _, id := range w.core.order {
			w.end(id)
		}
		w.now = w.now.Add(retryTime)
		w.step(woken{})
	}
	if len(w.asked) > 0 {
		w.Fatalf("there is no answer to %v", w.asked)
	}
	if w.core.memory.Reserved() != 0 || len(w.core.watched) > 0 || len(w.core.loads.waiting)+len(w.core.loads.order)+len(w.core.loads.overviews) > 0 {
		w.Fatalf("%d bytes are reserved, and %d clients and %d results are awaited", w.core.memory.Reserved(), len(w.core.watched), len(w.core.loads.waiting))
	}
	if jobs, err := w.store.Jobs(w.Context()); err != nil || len(jobs) > 0 {
		w.Fatalf("jobs %v stay in the store, error %v", jobs, err)
	}
	for id := range w.accepted {
		if w.store.result(id) == "" {
			w.Fatalf("job %s has not ended", id)
		}
	}
	for id, r := range w.core.records {
		if status := w.store.result(id); status == "" || *r != (record{result: true, cancelled: r.cancelled}) {
			w.Fatalf("the record of job %s is %+v, and it is %q", id, *r, status)
		}
	}
	if results, err := w.store.Results(w.Context()); err != nil || len(results) != len(w.core.records) {
		w.Fatalf("the store has %d results, recorded are %d, error %v", len(results), len(w.core.records), err)
	}
}
