package lint

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryOptionIsRead would catch an option that users set and no code reads.
func TestEveryOptionIsRead(t *testing.T) {
	read := map[string]bool{} // by the constant's name
	var sdk []byte            // package dataflow, which does not import the constants
	elsewhere, inside := regexp.MustCompile(`\bconfig\.([A-Z]\w*)`), regexp.MustCompile(`\bc\.\w+\(([A-Z]\w*)\)`)
	for name, content := range trackedFiles(t) {
		use := elsewhere
		if path.Dir(name) == "internal/config" {
			use = inside // functions that read several options for others
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			if path.Dir(name) == "dataflow" {
				sdk = append(sdk, content...)
			}
			for _, found := range use.FindAllSubmatch(content, -1) {
				read[string(found[1])] = true
			}
		}
	}
	options := keys(t)
	if len(options) < 50 {
		t.Fatalf("only %d options found", len(options))
	}
	for constant, option := range options {
		if !read[constant] && !bytes.Contains(sdk, []byte(strconv.Quote(option))) {
			t.Errorf("%s is read by nothing", option)
		}
	}
}

// keys returns the names of the options in internal/config/keys.go by their constants.
func keys(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path.Join(root(t), "internal", "config", "keys.go"), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		kind, ok := spec.Type.(*ast.Ident)
		literal, isText := spec.Values[0].(*ast.BasicLit)
		if !ok || !isText || !strings.HasSuffix(kind.Name, "Key") {
			return true
		}
		name, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		names[spec.Names[0].Name] = name
		return true
	})
	return names
}
