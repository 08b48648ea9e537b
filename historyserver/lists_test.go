package historyserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
)

// deaf is a client that does not read its answer.
type deaf struct {
	header http.Header
	begun  func()        // called when the answer begins
	gone   chan struct{} // closed when the client goes
}

func (d *deaf) Header() http.Header { return d.header }
func (d *deaf) WriteHeader(int)     {}

func (d *deaf) Write(p []byte) (int, error) {
	d.begun()
	<-d.gone
	return len(p), nil
}

// TestReadersTakeNoMemory would catch a server of which each client that does not read takes some megabytes: all of a list of
// jobs, or of an answer in an archive.
func TestReadersTakeNoMemory(t *testing.T) { // alone, because others allocate too
	const jobs, readers, each = 400, 64, 64 << 10
	files := dataflowtest.NewFiles(nil)
	for n := range jobs {
		text := archiveOf(idOf(n), "FINISHED", "/jobs/"+string(idOf(n)), `"`+strings.Repeat("x", (1-min(n, 1))<<20)+`"`)
		files.Write("/done/"+string(idOf(n)), strings.Replace(text, "word", "word"+strings.Repeat("d", 3<<10), 1))
	}
	s, _ := newTestServer(t, files, func(c *Config) { c.Limits = Limits{Jobs: jobs, Bytes: 1 << 30, Archive: 1 << 24} })
	s.refresh(t.Context())
	for _, path := range []string{"/jobs/overview", "/jobs/" + string(idOf(0))} {
		if _, text := ask(s, path); len(text) < 1<<20 {
			t.Fatalf("%s has %d bytes", path, len(text))
		}
		var begun, ended sync.WaitGroup
		begun.Add(readers)
		gone := make(chan struct{})
		before := heaptest.InUse()
		for range readers {
			ended.Go(func() {
				s.handler().ServeHTTP(&deaf{header: make(http.Header), begun: sync.OnceFunc(begun.Done), gone: gone}, httptest.NewRequest(http.MethodGet, path, nil))
			})
		}
		begun.Wait()
		if took := heaptest.InUse() - before; took > readers*each {
			t.Errorf("%d readers of %s take %d KiB, want %d at most", readers, path, took>>10, readers*each>>10)
		}
		close(gone)
		ended.Wait()
	}
}

// TestTheListsAreThoseOfTheLastRefresh would catch lists without a job that was added, with one that was removed, or that are
// no JSON; lists that are made again for nothing; and lists that stay as they were after the local folder could not be written.
func TestTheListsAreThoseOfTheLastRefresh(t *testing.T) {
	t.Parallel()
	files := dataflowtest.NewFiles(nil)
	s, hook := newTestServer(t, files, func(c *Config) { c.Limits.Forget = true })
	check := func(want int) {
		t.Helper()
		s.refresh(t.Context())
		for _, path := range []string{"/jobs", "/jobs/overview"} {
			var list struct {
				Jobs []map[string]any `json:"jobs"`
			}
			if status, text := ask(s, path); status != http.StatusOK || json.Unmarshal([]byte(text), &list) != nil || list.Jobs == nil || len(list.Jobs) != want {
				t.Errorf("%s: status %d, want %d jobs: %s", path, status, want, text)
			}
		}
	}
	check(0)
	for n := range 3 {
		files.Write("/done/"+string(idOf(n)), archiveOf(idOf(n), "FINISHED"))
		check(n + 1)
	}
	made, err := os.Stat(s.lists())
	if err != nil {
		t.Fatal(err)
	}
	check(3)
	if again, err := os.Stat(s.lists()); err != nil || !os.SameFile(made, again) {
		t.Errorf("the lists are made again, error %v", err)
	}
	if err := os.Mkdir(s.lists()+".new", 0o700); err != nil { // in the place of the file
		t.Fatal(err)
	}
	if err := files.Remove(t.Context(), "mem:///done/"+string(idOf(2))); err != nil {
		t.Fatal(err)
	}
	hook.Reset()
	check(3)
	check(3)
	if len(hook.AllEntries()) != 1 {
		t.Errorf("%d lines are logged, want 1", len(hook.AllEntries()))
	}
	if err := os.Remove(s.lists() + ".new"); err != nil {
		t.Fatal(err)
	}
	check(2)
	if err := os.Remove(s.lists()); err != nil {
		t.Fatal(err)
	}
	if status, _ := ask(s, "/jobs"); status != http.StatusInternalServerError {
		t.Errorf("the file of the lists is gone: status %d", status)
	}
}
