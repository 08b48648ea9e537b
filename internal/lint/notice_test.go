package lint

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheNoticeNamesWhatBinariesHold would catch a module that comes into the binaries without its license being told.
func TestTheNoticeNamesWhatBinariesHold(t *testing.T) {
	notice, err := os.ReadFile(filepath.Join(root(t), "NOTICE"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./client/cmd/bobbin", ".")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	words := regexp.MustCompile(`[^\s,]+`).FindAllString(string(notice), -1)
	modules := slices.Compact(slices.Sorted(strings.FieldsSeq(string(out))))
	if len(modules) < 10 {
		t.Fatalf("only %q found", modules)
	}
	version := regexp.MustCompile(`/v\d+$`)
	for _, module := range modules {
		name := version.ReplaceAllString(module, "")
		named := slices.ContainsFunc(words, func(word string) bool { // those of one owner stand behind one another
			word = version.ReplaceAllString(word, "")
			return word == name || word == path.Base(name) || strings.HasPrefix(name, word+"/") && strings.Count(word, "/") > 0
		})
		if module != Module && !named {
			t.Errorf("NOTICE does not name %s, which is in a binary", module)
		}
	}
}
