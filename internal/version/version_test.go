package version

import (
	"runtime/debug"
	"slices"
	"testing"
)

// TestABuildNamesItsCommit would catch a bug report without the source of its build.
func TestABuildNamesItsCommit(t *testing.T) {
	recorded := []debug.BuildSetting{
		{Key: "GOARCH", Value: "amd64"}, {Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.time", Value: "2026-11-21T10:00:00Z"},
	}
	modified := slices.Concat(recorded, []debug.BuildSetting{{Key: "vcs.modified", Value: "true"}})
	for want, settings := range map[string][]debug.BuildSetting{
		"no commit recorded":                                    nil,
		"commit 0123456789ab of 2026-11-21T10:00:00Z":           recorded,
		"commit 0123456789ab of 2026-11-21T10:00:00Z, modified": modified,
	} {
		if got := buildOf(settings).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
