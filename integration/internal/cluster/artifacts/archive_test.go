package artifacts

import (
	"os"
	"path/filepath"
	"testing"
)

// TestMergeClassLists would catch a line that a killed daemon has not completed, which java takes for an error, and
// duplicate classes.
func TestMergeClassLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lists := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for i, content := range []string{
		"# NOTE\njava/lang/Object\norg/Both\n@lambda-proxy org/Both run\norg/A\norg/Cut",
		"java/lang/Object\norg/B\norg/Both\n",
	} {
		if err := os.WriteFile(lists[i], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := mergeClassLists(lists)
	if want := "java/lang/Object\norg/Both\norg/A\norg/B\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestArchiveIsOfOneJava would catch an archive that another JDK gets. That JDK would ignore it, with a warning in each
// daemon's log.
func TestArchiveIsOfOneJava(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	jars := Jars{Version: "1.2.3", Dir: filepath.Join(home, "hadoop-1.2.3")}
	java := filepath.Join(home, "jdk", "bin", "java")
	if err := os.MkdirAll(filepath.Dir(java), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(java, "")
	release := filepath.Join(home, "jdk", "release")
	write(release, "17")
	path, err := jars.archive(java)
	if err != nil {
		t.Fatal(err)
	}
	if got := jars.Archive(java); got != "" {
		t.Errorf("before it is made: %s", got)
	}
	write(path, "")
	if got := jars.Archive(java); got != path {
		t.Errorf("got %q, want %s", got, path)
	}
	write(release, "21")
	if got := jars.Archive(java); got != "" {
		t.Errorf("of another java: %s", got)
	}
}
