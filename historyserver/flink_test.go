package historyserver

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// flinksJob is a job of integration/bench/flink/WordCount.java, which a Flink 1.20.5 has archived.
const flinksJob ids.JobID = "3924cd6c817d7e03d838bb3a0a3fc041"

// TestFlinksArchivesAreShown would catch an archive of a real Flink that is refused, and an answer of it that is lost.
func TestFlinksArchivesAreShown(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/" + string(flinksJob))
	if err != nil {
		t.Fatal(err)
	}
	s, hook := newTestServer(t, dataflowtest.NewFiles(map[string]string{"/done/" + string(flinksJob): string(text)}), nil)
	s.refresh(t.Context())
	if entries := hook.AllEntries(); len(entries) > 0 {
		t.Errorf("%s: %v", entries[0].Message, entries[0].Data)
	}
	var archive struct {
		Archive []struct{ Path, JSON string }
	}
	if err := json.Unmarshal(text, &archive); err != nil {
		t.Fatal(err)
	}
	if len(archive.Archive) < 20 {
		t.Errorf("the archive has %d answers", len(archive.Archive))
	}
	for _, e := range archive.Archive {
		if status, got := ask(s, e.Path); status != http.StatusOK || e.Path != overviewPath && got != strings.TrimSpace(e.JSON) {
			t.Errorf("%s: %d %s, want %s", e.Path, status, got, e.JSON)
		}
	}
	if status, got := ask(s, "/jobs"); status != http.StatusOK || got != `{"jobs":[{"id":"`+string(flinksJob)+`","status":"FINISHED"}]}` {
		t.Errorf("the list of jobs: %d %s", status, got)
	}
}
