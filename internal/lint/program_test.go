package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const kit = Module + "/internal/actor"

// A core that reads the clock, depends on the order of a map or holds a connection cannot be
// replayed, in a simulation or after a failure.
func TestCoresOfTheRepository(t *testing.T) {
	p := loadProgram(t, "./...")
	if found, err := p.cores(kit); err != nil || len(found) < 8 {
		t.Errorf("%d cores, %v", len(found), err)
	}
	report(t, Purity(p, kit))
	for _, all := range PlainData(p, kit) {
		report(t, all)
	}
}

// TestCoreRules has an example of each bug in a file that is named after the bug. A comment states
// the expected complaint about its line, or about the line above if the comment stands alone.
func TestCoreRules(t *testing.T) {
	p := loadProgram(t, "./internal/lint/testdata/cores/...")
	const kit = Module + "/internal/lint/testdata/cores/actor"
	complaints := Purity(p, kit)
	for _, all := range PlainData(p, kit) {
		complaints = append(complaints, all...)
	}
	wanted := wants(p)
	for _, complaint := range complaints {
		place, _, _ := strings.Cut(complaint, ": ")
		i := slices.IndexFunc(wanted[place], func(text string) bool { return strings.Contains(complaint, text) })
		if i < 0 {
			t.Errorf("not wanted: %s", complaint)
			continue
		}
		wanted[place] = slices.Delete(wanted[place], i, i+1)
	}
	for _, place := range slices.Sorted(maps.Keys(wanted)) {
		for _, text := range wanted[place] {
			t.Errorf("%s: not found: %s", place, text)
		}
	}
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// wants returns the expected complaints of comments, by place.
func wants(p *Program) map[string][]string {
	wanted := map[string][]string{}
	for _, pkg := range p.packages {
		for _, file := range pkg.files {
			code := map[string]bool{} // places
			ast.Inspect(file, func(n ast.Node) bool {
				switch n.(type) {
				case nil, *ast.CommentGroup:
					return false
				default:
					code[p.at(n.Pos())], code[p.at(n.End()-1)] = true, true
				}
				return true
			})
			for _, group := range file.Comments {
				for _, comment := range group.List {
					_, texts, is := strings.Cut(comment.Text, "// want ")
					if !is {
						continue
					}
					place := p.at(comment.Pos())
					if !code[place] {
						place = p.at(p.fset.File(comment.Pos()).LineStart(p.fset.Position(comment.Pos()).Line - 1))
					}
					for _, text := range quoted.FindAllStringSubmatch(texts, -1) {
						wanted[place] = append(wanted[place], text[1])
					}
				}
			}
		}
	}
	return wanted
}

// loadProgram asks the go command for packages, and for what they import.
func loadProgram(t *testing.T, patterns ...string) *Program {
	t.Helper()
	var mine []Listed
	imported := []string{"-export"}
	for _, listed := range list(t, append([]string{"-deps"}, patterns...)...) {
		switch _, is := ours(listed.ImportPath); {
		case is:
			mine = append(mine, listed)
		case listed.ImportPath != "unsafe":
			imported = append(imported, listed.ImportPath)
		}
	}
	p, err := NewProgram(root(t), mine, list(t, imported...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func list(t *testing.T, arguments ...string) []Listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Export"}, arguments...)...)
	cmd.Dir, cmd.Stderr = root(t), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []Listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed Listed
		if err := dec.Decode(&listed); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, listed)
	}
}
