package lint

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheNoticeNamesWhatBinariesHold would catch a module in a binary whose license NOTICE does not
// name.
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
		named := slices.ContainsFunc(words, func(word string) bool { // one owner's modules follow each other
			word = version.ReplaceAllString(word, "")
			return word == name || word == path.Base(name) || strings.HasPrefix(name, word+"/") && strings.Count(word, "/") > 0
		})
		if module != Module && !named {
			t.Errorf("NOTICE does not name %s, which is in a binary", module)
		}
	}
}

// TestTheLicenseIsTheStandardOne would catch a missing license, a text that differs from Apache's,
// by which tools recognize it, and a missing address for reports of vulnerabilities.
func TestTheLicenseIsTheStandardOne(t *testing.T) {
	license, err := os.ReadFile(filepath.Join(root(t), "LICENSE"))
	if err != nil {
		t.Fatal(err)
	}
	// Of https://www.apache.org/licenses/LICENSE-2.0.txt.
	const standard = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
	if got := fmt.Sprintf("%x", sha256.Sum256(license)); got != standard {
		t.Errorf("LICENSE has SHA-256 %s, the text of Apache-2.0 has %s", got, standard)
	}
	policy, err := os.ReadFile(filepath.Join(root(t), "SECURITY.md"))
	if err != nil || !strings.Contains(string(policy), "security/advisories/new") {
		t.Errorf("SECURITY.md does not say where to report: %v", err)
	}
}
