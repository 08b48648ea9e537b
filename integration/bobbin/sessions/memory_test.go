package sessions

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// submitting submits jobs of a program by REST, without the client.
type submitting struct {
	*bobbintest.Master
	t       *testing.T
	program string // SHA-256
}

// submit submits a graph.
func (s *submitting) submit(g *jobgraph.JobGraph) (ids.JobID, bobbintest.Answer) {
	g.ProtocolVersion, g.Job, g.Name = jobgraph.ProtocolVersion, "collect", "by hand"
	g.Digest = g.ComputeDigest()
	job := ids.JobID(ids.Random())
	body, err := json.Marshal(restapi.JobSubmission{Job: job, Graph: *g, Program: restapi.ProgramID{SHA256: s.program}, Attached: true})
	if err != nil {
		s.t.Error(err)
	}
	answer, err := s.Ask(s.t.Context(), http.MethodPost, "/v1/jobs", http.Header{"Content-Type": {"application/json"}}, bytes.NewReader(body))
	if err != nil {
		s.t.Error(err)
	}
	return job, answer
}

// cancel cancels a job, unless it has already failed in the slot that has become free.
func (s *submitting) cancel(job ids.JobID) {
	answer, err := s.Ask(s.t.Context(), http.MethodPatch, "/jobs/"+string(job), nil, nil)
	if err != nil || answer.Status != http.StatusAccepted && answer.Status != http.StatusConflict {
		s.t.Errorf("cancel job %s: %s, %v", job, answer, err)
	}
}

// waiting returns a job with this number of results and splits, which needs a slot that does not
// exist.
func waiting(results, splits int) *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{Vertices: []jobgraph.Vertex{{Name: "read", Operators: []string{"read"}, Parallelism: 1, Source: true}}}
	for i := range splits {
		g.Vertices[0].Splits = append(g.Vertices[0].Splits, jobgraph.Split{
			Base: "hdfs://cluster/events/2026/", Parts: []jobgraph.Part{{Name: fmt.Sprintf("part-%05d", i), Length: 1 << 27, FileLength: 1 << 30}},
			Hosts: []string{"n1.example.com", "n2.example.com"},
		})
	}
	for i := range results {
		g.Vertices = append(g.Vertices, jobgraph.Vertex{Name: "collect", Operators: []string{"collect"}, Parallelism: 1, Collect: fmt.Sprintf("r%d", i)})
		g.Edges = append(g.Edges, jobgraph.Edge{Output: i, To: jobgraph.VertexID(i + 1), Pattern: jobgraph.AllToAll, Type: "bytes"})
	}
	return g
}

// TestUsersCannotFillTheMaster sends a small session more results, graphs and requests than its
// memory holds. It would catch a master that grows until YARN ends it with all jobs, refusals
// without a remedy, a result that is lost because of others, and memory that is not returned.
func TestUsersCannotFillTheMaster(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	suite := suite.Plain()
	u := owner(t, suite)
	id := start(t, u, "-s", "1", "-D", "slotmanager.number-of-slots.max=1")
	master := bobbintest.ProcessesIn(t, id, bobbintest.ApplicationMaster)[0]
	began := master.Memory(t)
	program := suite.Program(t, "collector")
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	hand := &submitting{u.Master(t, id), t, fmt.Sprintf("%x", sha256.Sum256(content))}
	dir := u.Scratch(t)
	text := strings.Repeat(strings.Repeat("x", 1023)+"\n", 20<<10)
	u.Write(t, dir+"/text", text)

	// A client that does not read its job's collected result. The job then waits in the only slot.
	client := u.Start(t, "run", program, dir+"/text")
	wait.For(t, "the job is submitted", func() (bool, error) {
		var answer struct{ Jobs []struct{ ID string } }
		err := hand.Get(t.Context(), "/jobs", &answer)
		return len(answer.Jobs) == 1, err
	})
	client.Signal(t, syscall.SIGSTOP)
	wait.For(t, "the master holds what may be held", func() (bool, error) {
		return master.Memory(t) > began+(12<<10), nil
	})
	t.Logf("the ApplicationMaster has %d KiB before its first job, %d with a result that no client reads", began, master.Memory(t))

	// Other clients that submit as much as they can.
	var accepted []ids.JobID
	refused := 0
	for range 100 {
		switch job, answer := hand.submit(waiting(10, 0)); answer.Status {
		case http.StatusAccepted:
			accepted = append(accepted, job)
		case http.StatusServiceUnavailable:
			refused++
			if !strings.Contains(answer.Body, "jobmanager.memory.process.size") || !strings.Contains(answer.Body, "submit it again") {
				t.Fatalf("the refusal names no remedy: %s", answer)
			}
		default:
			t.Fatal(answer)
		}
	}
	if len(accepted) == 0 || len(accepted) > 5 {
		t.Errorf("%d of 100 jobs are accepted, each with 10 results of at least 10 MiB", len(accepted))
	}
	for name, g := range map[string]*jobgraph.JobGraph{
		"a graph of 16 MB":    waiting(0, 70_000),
		"a million tasks":     {Vertices: []jobgraph.Vertex{{Name: "read", Operators: []string{"read"}, Parallelism: jobgraph.MaxParallelism, Source: true}, {Name: "again", Operators: []string{"read"}, Parallelism: jobgraph.MaxParallelism, Source: true}}},
		"a hundred results":   waiting(100, 0),
		"what nothing is big": {Vertices: make([]jobgraph.Vertex, jobgraph.MaxVertices+1)},
	} {
		if _, answer := hand.submit(g); answer.Status/100 != 4 {
			t.Errorf("%s: %s", name, answer)
		} else if answer.Status == http.StatusRequestEntityTooLarge && !strings.Contains(answer.Body, "jobmanager.memory.process.size") {
			t.Errorf("%s: the refusal names no remedy: %s", name, answer)
		}
	}
	var many sync.WaitGroup
	for range 8 {
		many.Go(func() {
			for range 4 {
				if _, answer := hand.submit(waiting(0, 8000)); answer.Status != http.StatusAccepted && answer.Status != http.StatusServiceUnavailable {
					t.Errorf("a graph slightly below the limit: %s", answer)
				}
			}
		})
	}
	many.Wait()
	cluster.Figure(t, "an ApplicationMaster of 256 MB that receives more data than that holds %d KiB, and held at most %d", master.Memory(t), master.Peak(t))

	client.Signal(t, syscall.SIGCONT) // it reads the rest of the result
	want := fmt.Sprintf("%d bytes, sha256 %x\n", len(text), sha256.Sum256([]byte(text)))
	if got := client.Wait(t); got.Code != 0 || !strings.HasSuffix(got.Stdout, want) {
		t.Errorf("the client that reads late, want %q: %s", want, got)
	}
	for _, j := range jobs(t, u, "-id", id) {
		hand.cancel(ids.JobID(j.Job))
	}
	wait.For(t, "there is room again", func() (bool, error) {
		job, answer := hand.submit(waiting(30, 0))
		if answer.Status != http.StatusAccepted {
			return false, nil
		}
		hand.cancel(job)
		return true, nil
	})
	if got := u.Run(t, "run", program, dir+"/text"); got.Code != 0 || !strings.HasSuffix(got.Stdout, want) {
		t.Errorf("the next job, want %q: %s", want, got)
	}
	if app := u.App(t, id); app.State != "RUNNING" {
		t.Errorf("the session is %s: %s", app.State, app.Diagnostics)
	}
}
