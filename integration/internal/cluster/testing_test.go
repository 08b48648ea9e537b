package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFiguresAreAddedToTheFile would catch a figure that replaces those of other tests, or that is lost.
func TestFiguresAreAddedToTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "figures")
	t.Setenv(FiguresVariable, name)
	t.Run("one", func(t *testing.T) { Figure(t, "%d %%", 100) })
	t.Run("two", func(t *testing.T) { Figure(t, "the longest was %v", "3s") })
	text, err := os.ReadFile(name)
	if want := t.Name() + "/one: 100 %\n" + t.Name() + "/two: the longest was 3s\n"; err != nil || string(text) != want {
		t.Errorf("the file holds %q, %v, want %q", text, err, want)
	}
}
