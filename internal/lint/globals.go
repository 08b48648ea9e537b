package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
)

// registries returns the package variables that code may write to, with the reason.
func registries() map[string]string {
	return map[string]string{
		// A job is a package variable of the user's program, so that every process of the program
		// knows it by name.
		"dataflow.jobs": "jobs register where they are declared",
	}
}

// Globals checks the files of one package (path from the module's root, content by file name) for
// package variables that hold state. A variable holds state if code assigns to it after its
// declaration, in whole or in part, takes its address, or if its type is for changes (a lock, an
// atomic, a channel). Tables and sentinels hold no state.
func Globals(folder string, files map[string][]byte) []string {
	fset := token.NewFileSet()
	var parsed []*ast.File
	declared := map[string]bool{}
	var complaints []string
	complain := func(n ast.Node, variable, what string) {
		if _, ok := registries()[folder+"."+variable]; !ok {
			complaints = append(complaints, fmt.Sprintf("%s: package variable %s %s: let a type own it", fset.Position(n.Pos()), variable, what))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if generatedLine.Match(files[name]) {
			continue
		}
		file, err := parser.ParseFile(fset, folder+"/"+name, files[name], 0)
		if err != nil {
			return []string{err.Error()}
		}
		parsed = append(parsed, file)
		for _, spec := range variables(file) {
			for _, id := range spec.Names {
				declared[id.Name] = id.Name != "_"
				if madeForChange(spec) {
					complain(id, id.Name, "is a lock, an atomic or a channel")
				}
			}
		}
	}
	for _, file := range parsed {
		ast.Inspect(file, func(n ast.Node) bool {
			for _, target := range written(n) {
				// Names that the parser resolved to anything but a package variable are local.
				id := rootIdent(target)
				if id != nil && declared[id.Name] && (id.Obj == nil || isPackageLevel(file, id.Obj)) {
					complain(n, id.Name, "is changed")
				}
			}
			return true
		})
	}
	return complaints
}

// variables returns a file's package variables.
func variables(file *ast.File) []*ast.ValueSpec {
	var specs []*ast.ValueSpec
	for _, decl := range file.Decls {
		if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.VAR {
			for _, spec := range group.Specs {
				specs = append(specs, spec.(*ast.ValueSpec))
			}
		}
	}
	return specs
}

func madeForChange(spec *ast.ValueSpec) bool {
	switch t := spec.Type.(type) {
	case *ast.ChanType:
		return true
	case *ast.SelectorExpr:
		pkg, ok := t.X.(*ast.Ident)
		return ok && (pkg.Name == "sync" || pkg.Name == "atomic")
	case *ast.IndexExpr: // atomic.Pointer[T]
		return madeForChange(&ast.ValueSpec{Type: t.X})
	default:
		return false
	}
}

// written returns the expressions that a node changes or lets other code change.
func written(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			return []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") && fn.Obj == nil {
			return n.Args[:1]
		}
	}
	return nil
}

// rootIdent returns v for v, v.f, v[i], *v and any mixture.
func rootIdent(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func isPackageLevel(file *ast.File, obj *ast.Object) bool { //nolint:staticcheck // names suffice here; types would need every dependency
	spec, ok := obj.Decl.(*ast.ValueSpec)
	return ok && slices.Contains(variables(file), spec)
}
