package metrics_test

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// TestTheTableIsInOrder would catch a metric that is in the table twice, that says nothing of itself, or whose row breaks the
// page. The levels stay together, because each has a section.
func TestTheTableIsInOrder(t *testing.T) {
	seen := map[string]bool{}
	sections := map[metrics.Level]bool{}
	last := metrics.Level("")
	for _, d := range metrics.Definitions() {
		name := string(d.Level) + " " + d.Name
		if seen[name] {
			t.Errorf("%s is in the table twice", name)
		}
		seen[name] = true
		if d.Level != last && sections[d.Level] {
			t.Errorf("%s is apart from the others of its level", name)
		}
		last, sections[d.Level] = d.Level, true
		if d.Kind.String() == "unknown" || d.Meaning == "" || strings.HasSuffix(d.Meaning, ".") || strings.ContainsAny(d.Meaning+d.Name+d.Group, "|\n`") {
			t.Errorf("%s: %+v", name, d)
		}
	}
	sections[metrics.Operator] = true // of users' metrics
	if page := metrics.Reference(); strings.Contains(page, "\n\n\n") || strings.Count(page, "\n## ") != len(sections) {
		t.Errorf("a section of the page is missing:\n%s", page)
	}
}
