package commands

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestTheBinaryNamesItsBuild would catch a binary of `make build` without the data for --version. Nobody could then
// find the source for a report.
func TestTheBinaryNamesItsBuild(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	var told struct {
		Version, Commit, Date string
		Modified              bool
	}
	got := u.Run(t, "--version", "-o", "json")
	if err := json.Unmarshal([]byte(got.Stdout), &told); err != nil || got.Code != 0 {
		t.Fatalf("%v: %s", err, got)
	}
	info, err := buildinfo.ReadFile(suite.Bobbin(t))
	if err != nil {
		t.Fatal(err)
	}
	recorded := make(map[string]string)
	for _, s := range info.Settings {
		recorded[s.Key] = s.Value
	}
	if told.Version == "" || told.Commit != recorded["vcs.revision"] || told.Date != recorded["vcs.time"] || told.Modified != (recorded["vcs.modified"] == "true") {
		t.Fatalf("told is %s and recorded %v", got.Stdout, recorded)
	}
	build := "no commit recorded"
	if recorded["vcs.revision"] != "" {
		build = "commit " + told.Commit[:12] + " of " + told.Date
	} else if stamped(t) {
		t.Errorf("a build in a repository has no commit: %v", recorded)
	}
	got = u.Run(t, "--version")
	if !strings.HasPrefix(got.Stdout, fmt.Sprintf("bobbin %s (", told.Version)) || !strings.Contains(got.Stdout, ", "+build) || strings.Count(got.Stdout, "\n") != 1 {
		t.Errorf("want %s and %q on a line: %s", told.Version, build, got)
	}
}

// stamped reports whether Go records the commit when the tests build. It does not in a second work tree, whose .git is
// a file, nor without a repository, nor if a flag says so.
func stamped(t *testing.T) bool {
	t.Helper()
	flags, err := exec.CommandContext(t.Context(), "go", "env", "GOFLAGS").Output()
	if err != nil {
		t.Fatal(err)
	}
	git, err := os.Stat("../../../.git")
	return err == nil && git.IsDir() && !strings.Contains(string(flags), "-buildvcs=false")
}
