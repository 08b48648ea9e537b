package bobbintest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Unseen makes a program that no cache has: a copy with this name, and with bytes appended.
func (s *Suite) Unseen(t testing.TB, program, name string) string {
	t.Helper()
	content, err := os.ReadFile(s.Program(t, program))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := runnable.Write(path, append(content, ids.Random()...)); err != nil {
		t.Fatal(err)
	}
	return path
}
