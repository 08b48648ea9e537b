package dispatcher

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// collecting is a graph that collects the given number of results.
func collecting(results int) *jobgraph.JobGraph {
	g := graph()
	for i := range results {
		g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: "c", Parallelism: 1, Collect: fmt.Sprintf("r%d", i)})
		g.Edges = append(g.Edges, jobgraph.Edge{Output: i, To: jobgraph.VertexID(i + 1), Pattern: jobgraph.AllToAll})
	}
	g.Digest = g.ComputeDigest()
	return g
}

// filled is an unread result of the given size, or of as many bytes as its task may send.
func filled(t interface{ Fatal(...any) }, limit, size int) *collect.Buffer {
	b := collect.New(limit, 0, false)
	acknowledged := int64(0)
	for sequence := int64(0); size > 0 && sequence < acknowledged+msg.CollectWindow; sequence++ {
		n := min(size, operator.MaxCollectBatch)
		a, err := b.Add(sequence, make([]byte, n))
		if err != nil {
			t.Fatal(err)
		}
		acknowledged = a.To
		size -= n
	}
	b.End()
	return b
}

// TestJobsStayWithinTheirMemory runs random sessions. It would catch jobs whose graphs, results and remains
// exceed the memory; memory that is not given back when a result was read or a job is dropped, so that a
// session finally refuses all jobs; and a job that is refused although there is room.
func TestJobsStayWithinTheirMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const memory = 12 << 20
		core := newInstant(Config{Mode: Session, Memory: memory, Archive: Limits{Time: time.Hour, Jobs: 100, Bytes: 100 << 20}})
		now := testEpoch
		running := map[ids.JobID]StartJobMaster{}
		var ended []ids.JobID
		step := func(event event) (err error) {
			for _, effect := range core.Step(now, event) {
				switch e := effect.(type) {
				case StartJobMaster:
					running[e.Submission.Job] = e
				case reply:
					err, _ = e.Content().(error)
				}
			}
			return err
		}
		check := func() {
			t.Helper()
			reserved, kept := int64(0), int64(0)
			for _, j := range core.jobs {
				if j.details == nil {
					reserved += j.reserved.Bytes
					continue
				}
				kept += budget.EndedSize(j.details)
				for _, b := range j.results {
					kept += int64(b.Size())
				}
			}
			if core.memory.Reserved() != reserved || core.archive.size != kept || reserved+kept > memory {
				t.Fatalf("%d bytes are reserved and %d kept, counted as %d and %d, allowed are %d", reserved, kept, core.memory.Reserved(), core.archive.size, memory)
			}
		}
		submit := func(job ids.JobID) {
			results := rapid.IntRange(0, 4).Draw(t, "results")
			s := Submission{Job: job, Graph: collecting(results), Detached: rapid.Bool().Draw(t, "detached")}
			least := budget.GraphSize(s.Graph)
			if !s.Detached {
				least += int64(results) * collect.LeastBuffered
			}
			busy := core.memory.Reserved()
			for _, j := range core.archive.jobs {
				if now.Sub(j.heard) < handoverTime {
					busy += j.size
				}
			}
			switch err := step(submission(s)); {
			case err == nil:
			case !errors.Is(err, msg.ErrNoMemory):
				t.Fatal(err)
			case busy+least <= memory:
				t.Fatalf("refused though only %d bytes are busy: %v", busy, err)
			}
		}
		end := func(job ids.JobID) {
			start := running[job]
			delete(running, job)
			ended = append(ended, job)
			results := collect.Results{}
			for _, v := range start.Submission.Graph.Vertices {
				if v.Collect != "" {
					results[v.Collect] = filled(t, start.ResultBytes, rapid.IntRange(0, start.ResultBytes).Draw(t, "left"))
				}
			}
			details := msg.JobDetails{ID: job, Status: msg.JobFinished, End: now, Name: strings.Repeat("n", rapid.IntRange(0, 1<<10).Draw(t, "name"))}
			_ = step(jobEnded{Job: job, JobMaster: start.JobMaster, Details: details, Results: results})
		}
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
			switch action := rapid.IntRange(0, 3).Draw(t, "action"); {
			case action < 2:
				submit(ids.JobID(fmt.Sprintf("j%d", i)))
			case action == 2 && len(running) > 0:
				for _, job := range core.order {
					if _, runs := running[job]; runs {
						end(job)
						break
					}
				}
			case len(ended) > 0:
				job := rapid.SampledFrom(ended).Draw(t, "job")
				_ = step(pageAsked{Job: job, Name: "r0", Cursor: int64(rapid.IntRange(0, 8).Draw(t, "cursor"))})
				_ = step(resultAsked{Job: job})
			}
			check()
		}
		for job := range running {
			end(job)
		}
		check()
		now = now.Add(time.Hour)
		_ = step(woken{})
		if core.memory.Reserved() != 0 || core.archive.size != 0 || len(core.jobs) != 0 {
			t.Fatalf("%d bytes are reserved, %d kept, and %d jobs known, when all have been forgotten", core.memory.Reserved(), core.archive.size, len(core.jobs))
		}
	})
}

// TestAJobWithoutRoomIsToldWhatToDo would catch an error without a remedy, and an error that makes scripts
// retry for ever what cannot succeed.
func TestAJobWithoutRoomIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	core := newInstant(Config{Mode: Session, Memory: 8 << 20, MemoryBy: config.JobManagerFlinkSize, Archive: Limits{Time: time.Hour, Jobs: 100, Bytes: 100 << 20}})
	submit := func(job ids.JobID, g *jobgraph.JobGraph) (err error) {
		for _, effect := range core.Step(testEpoch, submission(Submission{Job: job, Graph: g})) {
			if answer, is := effect.(reply); is {
				err, _ = answer.Content().(error)
			}
		}
		return err
	}
	if err := submit("first", collecting(5)); err != nil {
		t.Fatal(err)
	}
	wide := graph()
	wide.Vertices[0].Parallelism = jobgraph.MaxParallelism
	wide.Digest = wide.ComputeDigest()
	for _, test := range []struct {
		job  ids.JobID
		g    *jobgraph.JobGraph
		want error
	}{
		{"later", collecting(4), msg.ErrNoMemory},
		{"many results", collecting(9), msg.ErrJobTooLarge},
		{"many tasks", wide, msg.ErrJobTooLarge},
	} {
		err := submit(test.job, test.g)
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), config.JobManagerFlinkSize.Name()) || !strings.Contains(err.Error(), string(test.job)) {
			t.Errorf("%s: got %v, want %v with the option and the job", test.job, err, test.want)
		}
		if core.jobs[test.job] != nil {
			t.Errorf("%s is listed", test.job)
		}
	}
	if err := submit("small", graph()); err != nil {
		t.Errorf("a job for which there is room: %v", err)
	}
}

// TestRoomIsMadeOldestFirst would catch a new job for which the Dispatcher drops results that a client is
// reading, or an outcome that a client does not know yet; a session that refuses jobs because of old ones,
// or because a client requests one of them again and again; and a session that drops jobs although that
// does not make enough room.
func TestRoomIsMadeOldestFirst(t *testing.T) {
	t.Parallel()
	core := newInstant(Config{Mode: Session, Memory: 8 << 20, Archive: Limits{Time: time.Hour, Jobs: 100, Bytes: 100 << 20}})
	now := testEpoch
	step := func(event event) (forgotten string, err error) {
		for _, effect := range core.Step(now, event) {
			switch e := effect.(type) {
			case reply:
				err, _ = e.Content().(error)
			case jobForgotten:
				forgotten += string(e.Job) + " "
			}
		}
		return strings.TrimSpace(forgotten), err
	}
	submit := func(job ids.JobID, results int) (string, error) {
		return step(submission(Submission{Job: job, Graph: collecting(results)}))
	}
	for _, job := range []ids.JobID{"a", "b", "c"} {
		if _, err := submit(job, 1); err != nil {
			t.Fatal(err)
		}
		e := jobEnded{Job: job, JobMaster: core.jobs[job].jobMaster, Details: msg.JobDetails{ID: job, Status: msg.JobFinished, End: now}}
		e.Results = collect.Results{"r0": filled(t, collect.LeastBuffered, collect.LeastBuffered)}
		_, _ = step(e)
		now = now.Add(handoverTime / 4)
	}
	for _, test := range []struct {
		name      string
		wait      time.Duration
		results   int
		forgotten string
		want      error
	}{
		{"all have just ended", 0, 6, "", msg.ErrNoMemory},
		{"even the oldest is not enough", handoverTime / 4, 7, "", msg.ErrNoMemory},
		{"the oldest is enough", 0, 5, "a", nil},
	} {
		now = now.Add(test.wait)
		forgotten, err := submit(ids.JobID(test.name), test.results)
		if forgotten != test.forgotten || !errors.Is(err, test.want) {
			t.Errorf("%s: forgotten %q, error %v; want %q, %v", test.name, forgotten, err, test.forgotten, test.want)
		}
	}
	now = now.Add(handoverTime)
	_, _ = step(pageAsked{Job: "b", Name: "r0"}) // its client continues to read, but slowly
	if forgotten, err := submit("large", 2); forgotten != "" || !errors.Is(err, msg.ErrNoMemory) {
		t.Errorf("the oldest is being read, and the other is not enough: forgotten %q, error %v", forgotten, err)
	}
	if forgotten, err := submit("small", 1); forgotten != "c" || err != nil {
		t.Errorf("the oldest is being read, and the other is enough: forgotten %q, error %v", forgotten, err)
	}
}

// TestWhatYieldsFirst would catch a page that is dropped although no job needs its room, so that a client
// that was asleep has lost its result; a page that is kept while others are dropped; a result that is
// dropped while a person reads it, because people need longer for a page than programs; and a result that
// outlasts all others because no client reads it.
func TestWhatYieldsFirst(t *testing.T) {
	t.Parallel()
	const each = collect.LeastBuffered
	ended := budget.EndedSize(&msg.JobDetails{})
	for _, test := range []struct {
		name      string
		wait      time.Duration
		events    []event
		lacking   int64
		forgotten string
		held      map[ids.JobID]int
	}{
		{"nothing, for time alone", 50 * time.Minute, nil, 0, "", map[ids.JobID]int{"unread": each, "bare": 0, "read": each}},
		{"a page that the client has", time.Minute, nil, each, "", map[ids.JobID]int{"unread": each, "bare": 0, "read": 0}},
		{"then a job that nobody waits for, though it is younger", time.Minute, nil, each + 1, "bare", map[ids.JobID]int{"unread": each, "read": 0}},
		{"then all others", time.Minute, nil, each + 3*ended, "bare read unread", nil},
		{"a result whose client is gone before what is younger", readingTime, nil, each + 1, "unread", map[ids.JobID]int{"bare": 0, "read": 0}},
		{"no result whose client was seen", time.Hour / 2, []event{clientSeen{Job: "unread"}}, each + 1, "bare", map[ids.JobID]int{"unread": each, "read": 0}},
		{"not even a page while its client asks", time.Minute, []event{resultAsked{Job: "read"}}, each, "bare unread", map[ids.JobID]int{"read": each}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			now := testEpoch
			core := newInstant(Config{Mode: Session, Archive: Limits{Time: time.Hour, Jobs: 100, Bytes: 100 << 20}})
			for _, id := range []ids.JobID{"unread", "bare", "read"} {
				core.Step(now, submission(Submission{Job: id, Graph: graph()}))
				e := jobEnded{Job: id, JobMaster: core.jobs[id].jobMaster, Details: msg.JobDetails{ID: id, Status: msg.JobFinished, End: now}}
				if id != "bare" {
					e.Results = collect.Results{"r0": filled(t, each, each)}
				}
				core.Step(now, e)
			}
			core.Step(now, pageAsked{Job: "read", Name: "r0"}) // its one page
			now = now.Add(test.wait)
			core.Step(now, woken{})
			for _, event := range test.events {
				core.Step(now, event)
			}
			var forgotten []string
			if test.lacking > 0 {
				for _, j := range core.archive.yield(now, test.lacking) {
					forgotten = append(forgotten, string(j.id))
				}
			}
			held := map[ids.JobID]int{}
			for _, j := range core.archive.jobs {
				held[j.id] = int(j.size) - int(budget.EndedSize(j.details))
			}
			if got := strings.Join(forgotten, " "); got != test.forgotten || !maps.Equal(held, test.held) {
				t.Errorf("forgotten %q, held %v; want %q, %v", got, held, test.forgotten, test.held)
			}
		})
	}
}

// TestEndedJobsLeaveHalfOfTheMemory would catch an idle session that gives each new job the least memory,
// because unread results fill the rest.
func TestEndedJobsLeaveHalfOfTheMemory(t *testing.T) {
	t.Parallel()
	const memory = 16 << 20
	core := newInstant(Config{Mode: Session, Memory: memory, Archive: Limits{Time: time.Hour, Jobs: 100, Bytes: 100 << 20}})
	now := testEpoch
	for n := range 40 {
		id := ids.JobID(fmt.Sprintf("j%d", n))
		core.Step(now, submission(Submission{Job: id, Graph: collecting(1)}))
		core.Step(now, jobEnded{
			Job: id, JobMaster: core.jobs[id].jobMaster, Details: msg.JobDetails{ID: id, Status: msg.JobFinished, End: now},
			Results: collect.Results{"r0": filled(t, collect.LeastBuffered, collect.LeastBuffered)},
		})
		if now = now.Add(time.Minute); core.archive.size > memory/2 {
			t.Fatalf("%d jobs that have ended take %d bytes", n, core.archive.size)
		}
	}
	if least := int64(memory/2 - 2*collect.LeastBuffered); core.archive.size < least {
		t.Errorf("only %d bytes are kept", core.archive.size)
	}
}

// TestAPageThatWasDroppedIsGone would catch a dropped page that the client takes for the end of the result.
func TestAPageThatWasDroppedIsGone(t *testing.T) {
	t.Parallel()
	s := &script{t: t, now: testEpoch}
	s.command("mode session")
	s.command("submit j1")
	s.command("ended j1 #1 FINISHED results=top")
	s.command("page j1 top 0")
	s.command("wait 1m")
	s.core.archive.yield(s.now, 1)
	for line, want := range map[string]string{
		"page j1 top 0": "answer: result page is not held any more: batch 0 was asked for, and batches 1 to 1 are left",
		"page j1 top 1": `answer: "", end true`,
	} {
		if got := s.command(line); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
