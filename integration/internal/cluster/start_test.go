package cluster

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestDaemonThatCannotStartIsReportedWithItsLog would catch a start that waits until its limit, or that leaves the
// healthy daemons behind.
func TestDaemonThatCannotStartIsReportedWithItsLog(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(t.Context(), Config{
		Dir:          dir,
		NodeManagers: 1,
		YARN:         map[string]string{"yarn.resourcemanager.scheduler.class": "org.example.NoSuchScheduler"},
	})
	if err == nil {
		t.Fatal("cluster with an impossible scheduler starts")
	}
	for _, want := range []string{"resourcemanager", "NoSuchScheduler", filepath.Join(dir, "logs", "resourcemanager.log")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not hold %q", err, want)
		}
	}
	if _, err := Attach(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("attach to a cluster that did not start: %v", err)
	}
}
