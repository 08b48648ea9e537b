package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
)

// Leaks checks the tests of a package (its path from the module's root, content by file name) that
// starts goroutines, in its code or in its tests: they must check for goroutines that are left at
// their end. A package without tests is exempt, because the tests of the packages that use it check
// this.
func Leaks(folder string, files map[string][]byte) []string {
	fset := token.NewFileSet()
	tested, verifies := false, false
	start := token.NoPos
	for _, name := range slices.Sorted(maps.Keys(files)) {
		tested = tested || strings.HasSuffix(name, "_test.go")
		contains := func(text string) bool { return bytes.Contains(files[name], []byte(text)) }
		if !slices.ContainsFunc([]string{"\tgo ", "{ go ", ".Go(", ".VerifyTestMain("}, contains) || generatedLine.Match(files[name]) {
			continue // most files need no parser, because gofmt has formatted them
		}
		file, err := parser.ParseFile(fset, folder+"/"+name, files[name], 0)
		if err != nil {
			return []string{err.Error()}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				start = n.Pos()
			case *ast.CallExpr:
				called, is := n.Fun.(*ast.SelectorExpr)
				if is && called.Sel.Name == "Go" && len(n.Args) > 0 {
					start = n.Pos()
				}
				verifies = verifies || is && called.Sel.Name == "VerifyTestMain"
			}
			return true
		})
	}
	if start == token.NoPos || !tested || verifies {
		return nil
	}
	return []string{fmt.Sprintf("%s: package %s starts goroutines, and its tests do not call goleak.VerifyTestMain", fset.Position(start), folder)}
}
