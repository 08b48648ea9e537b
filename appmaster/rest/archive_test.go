package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// archived reads an archive as Flink's FsJobArchivist does: the answers by their paths.
func archived(t *testing.T, a Archive) map[string]string {
	t.Helper()
	var whole bytes.Buffer
	if err := a.Write(&whole); err != nil {
		t.Fatal(err)
	}
	var read struct {
		Archive []struct{ Path, JSON string }
	}
	if err := json.Unmarshal(whole.Bytes(), &read); err != nil {
		t.Fatalf("%v in\n%s", err, whole.Bytes())
	}
	answers := make(map[string]string)
	for _, e := range read.Archive {
		answers[e.Path] = e.JSON
	}
	return answers
}

// TestAnArchiveHasTheAnswersOfREST would catch an archive that no history server can read, and answers that differ from
// those that users saw while the ApplicationMaster ran.
func TestAnArchiveHasTheAnswersOfREST(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // for its clock
		g := &fakeGateway{start: time.Now().UTC()}
		time.Sleep(10 * time.Second)
		server := newServer(g)
		for _, job := range g.details() {
			answers := archived(t, Archive{Job: job, Now: time.Now(), Options: server.config.Options, Memory: server.config.Memory, Container: server.config.Container, Granted: g.start.Add(2 * time.Second), Subtasks: g.subtasksOf(t, job.ID)})
			var listed restapi.MultipleJobsDetails
			if err := json.Unmarshal([]byte(answers["/jobs/overview"]), &listed); err != nil || len(listed.Jobs) != 1 || listed.Jobs[0].ID != job.ID || listed.Jobs[0].Note != job.Note {
				t.Errorf("list of jobs %+v, error %v", listed, err)
			}
			for path, answer := range answers {
				if path == "/jobs/overview" { // of this job alone
					continue
				}
				w := httptest.NewRecorder()
				server.Unguarded().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				status := http.StatusOK
				if strings.Contains(path, "/checkpoints") {
					status = http.StatusNotFound
				}
				if diff := cmp.Diff(strings.TrimSuffix(w.Body.String(), "\n"), answer); w.Code != status || diff != "" {
					t.Errorf("%s (-REST +archive):\n%s", path, diff)
				}
			}
			paths := []string{"", "/config", "/plan", "/exceptions", "/accumulators", "/vertices", "/timeline", "/checkpoints", "/checkpoints/config", "/jobmanager/config", "/jobmanager/environment"}
			for _, v := range job.Vertices {
				for _, path := range []string{"", "/subtasktimes", "/taskmanagers", "/accumulators", "/subtasks/accumulators", "/subtasks/1", "/subtasks/1/attempts/0", "/subtasks/1/attempts/0/accumulators"} {
					paths = append(paths, "/vertices/"+v.ID+path)
				}
			}
			for _, path := range paths {
				if answers["/jobs/"+string(job.ID)+path] == "" {
					t.Errorf("the archive has no %q", path)
				}
			}
		}
	})
}

// TestAnArchiveAsksForEachVertexOnce would catch an archive of a large job, one of which is written each minute, that makes its
// JobMaster list all subtasks again and again.
func TestAnArchiveAsksForEachVertexOnce(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{start: time.Now()}
	for _, job := range g.details() {
		ask, asked := g.subtasksOf(t, job.ID), map[string]int{}
		counts := func(vertex string) (msg.VertexSubtasks, error) {
			asked[vertex]++
			return ask(vertex)
		}
		if err := (Archive{Job: job, Now: time.Now(), Options: testOptions(), Subtasks: counts}).Write(io.Discard); err != nil {
			t.Fatal(err)
		}
		for _, v := range job.Vertices {
			if n := asked[v.ID]; n != 1 {
				t.Errorf("vertex %s of job %s is asked for %d times", v.ID, job.ID, n)
			}
		}
	}
}

// subtasksOf describes the vertices of a job.
func (g *fakeGateway) subtasksOf(t *testing.T, job ids.JobID) func(string) (msg.VertexSubtasks, error) {
	return func(vertex string) (msg.VertexSubtasks, error) { return g.VertexSubtasks(t.Context(), job, vertex) }
}

// TestAJobWithTooManySubtasksIsArchived would catch a large job without any history, or one whose history does not say why it
// has no subtasks.
func TestAJobWithTooManySubtasksIsArchived(t *testing.T) {
	t.Parallel()
	job := (&fakeGateway{start: time.Now()}).details()[1]
	answers := archived(t, Archive{Job: job, Now: time.Now(), Options: testOptions(), Subtasks: func(string) (msg.VertexSubtasks, error) {
		return msg.VertexSubtasks{}, msg.ErrSubtasksGone
	}})
	if answer := answers["/jobs/"+string(job.ID)+"/vertices/"+job.Vertices[0].ID]; !strings.Contains(answer, "too many of them") {
		t.Errorf("the vertex: %s", answer)
	}
	lost := errors.New("no answer")
	err := Archive{Job: job, Options: testOptions(), Subtasks: func(string) (msg.VertexSubtasks, error) { return msg.VertexSubtasks{}, lost }}.Write(io.Discard)
	if !errors.Is(err, lost) {
		t.Errorf("without an answer of the JobMaster: error %v", err)
	}
}

// brief takes a number of bytes.
type brief int

var errFull = errors.New("full")

func (b *brief) Write(p []byte) (int, error) {
	if *b -= brief(len(p)); *b < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestAnArchiveThatIsCutOffIsNoArchive would catch an archive that looks whole although its end was not written.
func TestAnArchiveThatIsCutOffIsNoArchive(t *testing.T) {
	t.Parallel()
	g := &fakeGateway{start: time.Now()}
	job := g.details()[1]
	a := Archive{Job: job, Now: time.Now(), Options: testOptions(), Subtasks: g.subtasksOf(t, job.ID)}
	var whole bytes.Buffer
	if err := a.Write(&whole); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 10, 100, whole.Len() / 2, whole.Len() - 1} {
		room := brief(size)
		if err := a.Write(&room); !errors.Is(err, errFull) {
			t.Errorf("there is room for %d bytes of %d: error %v", size, whole.Len(), err)
		}
	}
}

// FuzzQuoted would catch a text in an answer that breaks the archive.
func FuzzQuoted(f *testing.F) {
	for _, text := range []string{"", `"`, `\`, "\n", "a\"\\\n\x00\u2028<&>ü\xff"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, step int) {
		answer, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var quotedText bytes.Buffer
		quotedText.WriteByte('"')
		for part := range slices.Chunk(answer, max(step%64, 1)) {
			if n, err := (quoted{&quotedText}).Write(part); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		quotedText.WriteByte('"')
		var back string
		if err := json.Unmarshal(quotedText.Bytes(), &back); err != nil || back != string(answer) {
			t.Errorf("%q becomes %q, error %v", answer, back, err)
		}
	})
}
