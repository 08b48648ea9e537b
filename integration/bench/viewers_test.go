package main

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestViewersAskAsThePageDoes would catch a measurement of paths that the page does not ask for any more.
func TestViewersAskAsThePageDoes(t *testing.T) {
	t.Parallel()
	var source strings.Builder
	err := fs.WalkDir(os.DirFS("../../web/src"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".tsx") {
			return err
		}
		content, err := os.ReadFile(path.Join("../../web/src", name))
		source.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range shownPages() {
		for _, asked := range page.questions {
			name, _, _ := strings.Cut(path.Base(asked.path), "?")
			if name == strings.ToUpper(name) {
				continue // a JOB, a VERTEX or a WORKER
			}
			if !regexp.MustCompile("['\"`/]" + name + "['\"`?]").MatchString(source.String()) {
				t.Errorf("page %s asks for %s, which is not in web/src", page.name, asked.path)
			}
		}
	}
}

// TestEachQuestionTakesAnAge would catch viewers whose answers nobody shares.
func TestEachQuestionTakesAnAge(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"overview": "?maxAge=1000", "taskmanagers/w/metrics?get=x": "&maxAge=1000"} {
		if got := maxAgeOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
