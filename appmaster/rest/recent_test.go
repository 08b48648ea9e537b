package rest

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// countingGateway counts how often the jobs are asked for.
type countingGateway struct {
	fakeGateway

	asked int
}

func (g *countingGateway) Jobs(ctx context.Context) ([]msg.JobOverview, error) {
	g.asked++
	return g.fakeGateway.Jobs(ctx)
}

// TestViewersShareAnswers would catch ten viewers who cost ten times one, an answer that grows old while people look at it, a
// command that does not see what it has just changed, and an answer to another question.
func TestViewersShareAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &countingGateway{}
		server := newServer(g)
		look := func(path string, asked int) {
			t.Helper()
			w := askServer(server, http.MethodGet, path)
			if w.Code != http.StatusOK || g.asked != asked {
				t.Errorf("%s: status %d, and the jobs were asked for %d times, want %d", path, w.Code, g.asked, asked)
			}
		}
		look("/jobs/overview?maxAge=1000", 1)
		for range 10 {
			look("/jobs/overview?maxAge=1000", 1)
		}
		look("/jobs/overview", 2)
		look("/overview?maxAge=1000", 3)
		time.Sleep(600 * time.Millisecond)
		look("/jobs/overview?maxAge=1000", 3)
		look("/jobs/overview?maxAge=500", 4)
		time.Sleep(600 * time.Millisecond)
		look("/jobs/overview?maxAge=1000", 4) // that of 600 ms ago
		time.Sleep(600 * time.Millisecond)
		look("/jobs/overview?maxAge=100000", 5)
	})
}

// TestRecentAnswersAreBounded would catch answers that fill the memory of the ApplicationMaster.
func TestRecentAnswersAreBounded(t *testing.T) {
	t.Parallel()
	var kept recent
	now := time.Unix(1, 0)
	sum := func() (bytes int) {
		for _, k := range kept.kept {
			bytes += len(k.key) + len(k.told.body) + recentEntry
		}
		return bytes
	}
	for i := range 100 {
		kept.keep(string(rune('a'+i%7))+string(rune('a'+i%11)), reply{body: make([]byte, i*1000%(mostRecent/3))}, now)
		if got := sum(); got != kept.bytes || got > mostRecent {
			t.Fatalf("after %d: %d bytes are kept, and %d counted", i, got, kept.bytes)
		}
	}
	for i := range 1000 { // questions that differ in a parameter that nobody reads
		kept.keep(fmt.Sprint("/jobs?x=", i), reply{body: []byte("{}")}, now)
	}
	if n := len(kept.kept); n > mostRecent/recentEntry {
		t.Errorf("%d small answers are kept", n)
	}
	kept.keep("large", reply{body: make([]byte, mostRecent+1)}, now)
	if _, found := kept.find("large", time.Second, now); found {
		t.Error("an answer larger than the room is kept")
	}
	if kept.find("", 0, now.Add(longestRecent+1)); kept.bytes != 0 || len(kept.kept) != 0 {
		t.Errorf("%d bytes of old answers are kept", kept.bytes)
	}
}
