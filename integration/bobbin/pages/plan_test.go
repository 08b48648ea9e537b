package pages

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shownPlan matches the command that draws a plan, and the picture below it.
var shownPlan = regexp.MustCompile("(?m)^```sh\nbobbin info (.+)\n```\n\n```text\n((?s:.+?))^```$")

// TestThePlanIsDrawnAsThePageShows would catch a picture in the documentation that differs from the
// command's output, and one that differs from the plan in JSON.
func TestThePlanIsDrawnAsThePageShows(t *testing.T) {
	t.Parallel()
	w := fork(t, "plan")
	content, err := os.ReadFile(filepath.Join(w.repo, "docs", "getting-started.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := shownPlan.FindSubmatch(content)
	if shown == nil {
		t.Fatal("the page shows no plan")
	}
	text := filepath.Join(w.repo, "out", "text")
	if err := os.MkdirAll(text, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(text, "words"), []byte("a b\n"), 0o600); err != nil { // a plan needs its input
		t.Fatal(err)
	}
	info := func(arguments ...string) string {
		t.Helper()
		out, err := output(w.command(t.Context(), "bin/bobbin", append([]string{"info"}, arguments...)...))
		if err != nil {
			t.Fatal(err)
		}
		return out + "\n"
	}
	arguments := strings.Fields(string(shown[1]))
	picture := info(arguments...)
	if picture != string(shown[2]) {
		t.Errorf("the command draws\n%s\nthe page shows\n%s", picture, shown[2])
	}
	var told struct {
		Plan struct {
			Name  string
			Nodes []struct {
				ID, Description string
				Parallelism     int
				Inputs          []struct {
					ID       string
					Strategy string `json:"ship_strategy"`
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(info(append([]string{"-o", "json"}, arguments...)...)), &told); err != nil {
		t.Fatal(err)
	}
	// The plan is a chain: each vertex reads the one above it.
	chain := told.Plan.Name + "\n"
	for i, node := range told.Plan.Nodes {
		for _, in := range node.Inputs {
			if len(node.Inputs) > 1 || in.ID != told.Plan.Nodes[max(i-1, 0)].ID {
				t.Fatalf("the plan is no chain: %+v", told.Plan)
			}
			chain += fmt.Sprintf("  │ %s\n  ▼\n", strings.ToLower(in.Strategy))
		}
		chain += fmt.Sprintf("%d %s, parallelism %d\n", i+1, node.Description, node.Parallelism)
	}
	if picture != chain {
		t.Errorf("the command draws\n%s\nof the plan\n%s", picture, chain)
	}
}
