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
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".tsx") && !strings.HasSuffix(name, ".ts") {
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
			whole, query, _ := strings.Cut(asked.path, "?")
			words := []string{path.Base(whole)}
			if _, list, is := strings.Cut(query, "get="); is {
				for name := range strings.SplitSeq(list, ",") {
					words = append(words, strings.TrimPrefix(name, "Status.Go.")) // as the page puts them together
				}
			} else if query != "" {
				words = append(words, strings.TrimSuffix(query, "FULL"))
			}
			for _, word := range words {
				word = strings.TrimPrefix(word, "Rpc.protocol.")
				if _, field, is := strings.Cut(word, "Protocol."); is {
					word = field
				}
				if word == strings.ToUpper(word) || strings.HasSuffix(word, ".log") {
					continue // a JOB, a VERTEX, a WORKER or a file
				}
				if !regexp.MustCompile("['\"`/}?]" + regexp.QuoteMeta(word) + "['\"`?$]").MatchString(source.String()) {
					t.Errorf("page %s asks for %q of %s, which is not in web/src", page.name, word, asked.path)
				}
			}
		}
	}
	for _, name := range askedProtocols() {
		if !strings.Contains(source.String(), name+":") {
			t.Errorf("the page does not know %s", name)
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
