package prom_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/prom"
)

// TestAlertsAndDashboardNameMetricsThatExist would catch an alert that never comes, and an empty panel, because a metric has
// another name or other labels.
func TestAlertsAndDashboardNameMetricsThatExist(t *testing.T) {
	known := map[string]bool{"bobbin_scrape_failed": true, "bobbin_scrape_dropped": true}
	for _, d := range metrics.Definitions() {
		known[prom.Name(d.Level, d.Name)] = true
	}
	pattern := regexp.MustCompile(`bobbin_[A-Za-z0-9_]+`)
	for _, name := range []string{"rules.yml", "rules_test.yml", "dashboard.json"} {
		content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "monitoring", name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(content) {
			t.Errorf("%s is no JSON", name)
		}
		found := pattern.FindAllString(string(content), -1)
		slices.Sort(found)
		for _, metric := range slices.Compact(found) {
			if !known[metric] {
				t.Errorf("%s names %s, which is not in the table of metrics", name, metric)
			}
		}
		if len(found) < 5 {
			t.Errorf("%s names only %v", name, found)
		}
	}
}

// TestPanelsOfTheGreatestSubtaskLeaveOutMeans would catch a panel of the greatest value over subtasks that also shows the series of a
// whole vertex: those are sums and means.
func TestPanelsOfTheGreatestSubtaskLeaveOutMeans(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(content)) {
		if !strings.Contains(line, "max by") || !strings.Contains(line, prom.Name(metrics.Task, "")) {
			continue
		}
		if found++; !strings.Contains(line, `subtask_index!=\"\"`) {
			t.Errorf("%s", line)
		}
	}
	if found < 4 {
		t.Errorf("there are %d such panels", found)
	}
}
