package web_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestEachClassHasOneFile would catch a class that two parts of the page use: vite joins all files, so that each of them
// gets the looks of both. Slots in use looked like free ones.
func TestEachClassHasOneFile(t *testing.T) {
	t.Parallel()
	rule := regexp.MustCompile(`(?m)^\s*\.([a-z][\w-]*)`)
	source := os.DirFS("src")
	owners := map[string]string{}
	err := fs.WalkDir(source, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".css") {
			return err
		}
		text, err := fs.ReadFile(source, path)
		for _, found := range rule.FindAllSubmatch(text, -1) {
			class := string(found[1])
			if owner, owned := owners[class]; owned && owner != path {
				t.Errorf("class %s has rules in %s and in %s", class, owner, path)
			}
			owners[class] = path
		}
		return err
	})
	if err != nil || len(owners) < 100 {
		t.Errorf("src has %d classes: %v", len(owners), err)
	}
}
