package lint

import (
	"os"
	"path/filepath"
	"testing"
)

func TestScheduledCodeOfTheRepository(t *testing.T) {
	for name, content := range trackedFiles(t) {
		if filepath.Ext(name) == ".go" && !inTestdata(name) {
			report(t, Scheduled(name, content))
		}
	}
	for _, folder := range scheduledFolders {
		if _, err := os.Stat(filepath.Join(root(t), folder)); err != nil {
			t.Errorf("scheduledFolders: %v", err)
		}
	}
	for name := range processFiles {
		if _, err := os.Stat(filepath.Join(root(t), name)); err != nil {
			t.Errorf("processFiles: %v", err)
		}
	}
}

func TestScheduledRules(t *testing.T) {
	for name, test := range map[string]struct {
		file, source string
		complaints   int
	}{
		"code that waits in sched":           {"appmaster/x.go", "func f() { sched.First(ctx, c); sched.Go(ctx, g); var g sched.Group }", 0},
		"a goroutine":                        {"appmaster/x.go", "func f() { go g() }", 1},
		"a goroutine elsewhere":              {"appmaster/rest/x.go", "func f() { go g() }", 0},
		"a goroutine of a test":              {"appmaster/x_test.go", "func f() { go g() }", 0},
		"a goroutine of the process":         {"appmaster/ports.go", "func f() { go g() }", 0},
		"nothing that only a process does":   {"appmaster/ports.go", "func f() { g() }", 1},
		"the clock":                          {"internal/staging/x.go", "func f() { time.Now() }", 1},
		"the clock as a value":               {"internal/staging/x.go", "var now = time.Now", 1},
		"a duration":                         {"internal/staging/x.go", "const d = 3 * time.Second", 0},
		"a limit":                            {"taskrunner/taskhost/x.go", "func f() { context.WithTimeout(ctx, d) }", 1},
		"a group of goroutines":              {"taskrunner/taskhost/x.go", "var g sync.WaitGroup", 1},
		"a lock":                             {"taskrunner/taskhost/x.go", "type t struct { mu sync.Mutex }", 0},
		"a group from another module":        {"internal/actor/x.go", "import \"golang.org/x/sync/errgroup\"", 1},
		"an id from the system's source":     {"appmaster/x.go", "var id = ids.Random()", 1},
		"an id from the caller's source":     {"appmaster/x.go", "func f() { c.Entropy.Random() }", 0},
		"a select of two channels":           {"appmaster/x.go", "func f() { select { case <-a: case b <- 1: } }", 1},
		"a select of two that does not wait": {"appmaster/x.go", "func f() { select { case <-a: case <-b: default: } }", 1},
		"a look at one channel":              {"appmaster/x.go", "func f() { select { case <-a: default: } }", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Scheduled(test.file, []byte("package a\n"+test.source)); len(got) != test.complaints {
				t.Errorf("complaints %q, want %d", got, test.complaints)
			}
		})
	}
}
