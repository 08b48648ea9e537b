package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// shortened returns the names of the tests in a folder that do less in Go's short mode, or nothing. Such a test, or a
// function of its package that it calls, has one of these calls:
//   - testing.Short or cluster.Thorough
//   - rapid.Check or rapid.MakeCheck, which then draw a fifth of the sequences
//   - clusters.Change or clusters.Use of a cluster that a short run does not have
func shortened(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	calls := make(map[string][]string) // by function: the functions of the package that it calls
	less := make(map[string]bool)      // the functions that do less
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			name := f.Name.Name
			ast.Inspect(f.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				switch callee := call.Fun.(type) {
				case *ast.Ident:
					calls[name] = append(calls[name], callee.Name)
				case *ast.SelectorExpr:
					less[name] = less[name] || doesLess(callee, call.Args)
					calls[name] = append(calls[name], callee.Sel.Name) // of a method, by its name alone
				}
				return true
			})
		}
	}
	for changed := true; changed; {
		changed = false
		for name, callees := range calls {
			if !less[name] && slices.ContainsFunc(callees, func(callee string) bool { return less[callee] }) {
				less[name], changed = true, true
			}
		}
	}
	var tests []string
	for _, name := range slices.Sorted(maps.Keys(less)) {
		if less[name] && strings.HasPrefix(name, "Test") && name != "TestMain" {
			tests = append(tests, name)
		}
	}
	return tests, nil
}

// doesLess reports whether a call of another package does less in Go's short mode.
func doesLess(callee *ast.SelectorExpr, args []ast.Expr) bool {
	from, ok := callee.X.(*ast.Ident)
	if !ok {
		return false
	}
	switch from.Name + "." + callee.Sel.Name {
	case "testing.Short", "cluster.Thorough", "rapid.Check", "rapid.MakeCheck":
		return true
	case "clusters.Change", "clusters.Use":
		return slices.ContainsFunc(args, needsMore)
	}
	return false
}

// needsMore reports whether an expression names a kind of cluster that a short run does not have.
func needsMore(e ast.Expr) (more bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			k := clusters.Kind(strings.ToLower(s.Sel.Name))
			more = more || slices.Contains(clusters.Kinds(), k) && !k.Short()
		}
		return true
	})
	return more
}
