package taskrunner

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics/prom"
)

// TestPagesOfMetricsAreShared would catch a worker that renders a page for each client, one that shows an old page although there
// is room for a new one, and clients that do not read and fill the memory with pages.
func TestPagesOfMetricsAreShared(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	rendered := 0
	pages := &metricsPages{now: func() time.Time { return now }, render: func() prom.Page {
		rendered++
		return prom.Page{Body: fmt.Append(nil, rendered)}
	}}
	get := func(want string) *metricsPage {
		t.Helper()
		page := pages.get()
		if string(page.Body) != want {
			t.Errorf("page %s, want %s", page.Body, want)
		}
		return page
	}
	for range 2 {
		pages.done(get("1"))
	}
	now = now.Add(pageAge)
	stalled := []*metricsPage{get("2")}
	now = now.Add(pageAge)
	stalled = append(stalled, get("3"), get("3"))
	now = now.Add(pageAge)
	pages.done(get("4"))
	now = now.Add(pageAge)
	stalled = append(stalled, get("5")) // nobody reads the fourth one
	for range 10 {
		now = now.Add(pageAge)
		pages.done(get("5"))
	}
	if pages.held != mostPages {
		t.Errorf("%d pages are held", pages.held)
	}
	for _, page := range stalled {
		pages.done(page)
	}
	if pages.done(get("6")); pages.held != 1 {
		t.Errorf("%d pages are held when nobody reads", pages.held)
	}
	now = now.Add(pageAge)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { pages.done(pages.get()) })
	}
	if all.Wait(); rendered != 7 {
		t.Errorf("%d pages were rendered, want 7", rendered)
	}
}
