package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// The test would catch a folder that each failed call leaves if Flink is missing, and a message about logs of a cluster
// that never ran.
func TestNothingStaysWhereThereIsNoFlink(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	var stderr bytes.Buffer
	if code := run(t.Context(), []string{"-flink", "/nowhere"}, &stderr); code != 1 || !strings.Contains(stderr.String(), "has no Flink distribution") || strings.Contains(stderr.String(), "logs") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
