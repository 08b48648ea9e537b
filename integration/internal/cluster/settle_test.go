package cluster

import (
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// The test would catch a start that leaves a folder behind when it fails. On a machine that runs tests for weeks, these
// folders would fill the disk.
func TestNothingStaysOfAClusterThatCannotBegin(t *testing.T) {
	for name, c := range map[string]struct {
		limit string
		cfg   Config
	}{
		"a limit that is none":                {"many", Config{}},
		"more NodeManagers than it has ports": {"", Config{NodeManagers: 100, AtOnce: true}},
	} {
		t.Run(name, func(t *testing.T) {
			temporary := t.TempDir()
			t.Setenv("TMPDIR", temporary)
			t.Setenv(LimitVariable, c.limit)
			c.cfg.Log = discard()
			if _, err := settle(t.Context(), c.cfg.withDefaults(), "java", artifacts.Jars{}); err == nil {
				t.Fatal("it has begun")
			}
			left, err := os.ReadDir(temporary)
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
