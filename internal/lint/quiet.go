package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// quiet proves that code changes only its own variables, and collects the variables that it reads.
// If the proof fails, the code may be quiet all the same.
type quiet struct {
	*reach
	seen  map[types.Object]bool
	reads map[types.Object]bool // variables, and fields of any value
	apart map[*ast.Ident]bool   // names that do not count as reads
}

func (r *reach) newQuiet() *quiet {
	return &quiet{reach: r, seen: map[types.Object]bool{}, reads: map[types.Object]bool{}, apart: map[*ast.Ident]bool{}}
}

// function reports whether a function is quiet.
func (q *quiet) function(f *types.Func) bool {
	f = f.Origin()
	if q.seen[f] {
		return true // if it is not quiet, its first check returned false
	}
	q.seen[f] = true
	if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		all := q.implementations(recv.Type().Underlying().(*types.Interface), func(pkg *types.Package) bool { return q.core.of.within[pkg] })
		return !slices.ContainsFunc(all, func(t *types.Named) bool {
			method, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, f.Pkg(), f.Name())
			has, is := method.(*types.Func)
			return !is || !q.function(has)
		})
	}
	if b, ours := q.bodies[f]; ours {
		return q.code(b.of.info, b.node, func(o types.Object) bool { return o.Pkg() != nil && o.Parent() != o.Pkg().Scope() })
	}
	return quietForeign(f)
}

// quietForeign reports whether a function of another module only computes a value.
func quietForeign(f *types.Func) bool {
	if f.Pkg() == nil {
		return true
	}
	if recv := f.Signature().Recv(); recv != nil {
		_, pointer := recv.Type().(*types.Pointer)
		return !pointer && f.Pkg().Path() == "time"
	}
	starts := func(beginnings ...string) bool {
		return slices.ContainsFunc(beginnings, func(s string) bool { return strings.HasPrefix(f.Name(), s) })
	}
	switch f.Pkg().Path() {
	case "cmp", "math", "math/bits", "path", "strconv", "strings", "unicode", "unicode/utf8":
		return true
	case "errors":
		return starts("Is", "Join", "New", "Unwrap")
	case "fmt":
		return starts("Sprint", "Errorf")
	case "maps":
		return starts("Keys", "Values", "All", "Clone", "Collect", "Equal")
	case "slices":
		return starts("All", "Backward", "BinarySearch", "Clone", "Collect", "Compare", "Concat", "Contains", "Equal", "Index", "IsSorted", "Max", "Min", "Repeat", "Sorted", "Values")
	case "time":
		what, _ := foreign(f)
		return what == ""
	}
	return false
}

// code reports whether code is quiet. own reports whether a variable belongs to the code.
func (q *quiet) code(info *types.Info, n ast.Node, own func(types.Object) bool) bool {
	is := true
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.DeferStmt, *ast.SendStmt, *ast.SelectStmt:
			is = false
		case *ast.AssignStmt:
			is = is && !slices.ContainsFunc(n.Lhs, func(to ast.Expr) bool { return !staysIn(info, to, own) })
		case *ast.IncDecStmt:
			is = is && staysIn(info, n.X, own)
		case *ast.RangeStmt:
			is = is && (n.Key == nil || staysIn(info, n.Key, own)) && (n.Value == nil || staysIn(info, n.Value, own)) && !isChannel(info.TypeOf(n.X))
		case *ast.UnaryExpr:
			is = is && n.Op != token.ARROW
		case *ast.CallExpr:
			is = is && quietCall(info, ast.Unparen(n.Fun))
		case *ast.Ident:
			switch o := info.Uses[n].(type) {
			case *types.Var:
				if !q.apart[n] {
					q.reads[o.Origin()] = true
				}
			case *types.Func:
				is = is && q.function(o)
			}
		}
		return is
	})
	return is
}

// quietCall reports whether a call is of a quiet builtin or of a named function. The check of the
// name shows whether the function is quiet.
func quietCall(info *types.Info, fun ast.Expr) bool {
	switch t := info.Types[fun]; {
	case t.IsType():
		return true
	case t.IsBuiltin():
		name, is := fun.(*ast.Ident)
		return is && slices.Contains([]string{"append", "cap", "len", "make", "max", "min", "new"}, name.Name)
	}
	return callee(info, fun) != nil
}

// staysIn reports whether an assignment changes an own variable, and not through a pointer, a map
// or a slice.
func staysIn(info *types.Info, to ast.Expr, own func(types.Object) bool) bool {
	switch to := ast.Unparen(to).(type) {
	case *ast.Ident:
		o := info.ObjectOf(to)
		return o == nil || to.Name == "_" || own(o)
	case *ast.SelectorExpr:
		_, plain := info.TypeOf(to.X).Underlying().(*types.Struct)
		return plain && staysIn(info, to.X, own)
	case *ast.IndexExpr:
		_, plain := info.TypeOf(to.X).Underlying().(*types.Array)
		return plain && staysIn(info, to.X, own)
	}
	return false
}
