package lint

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// iterates reports whether a function of package maps visits entries in random order.
func iterates(f *types.Func) bool {
	return f.Pkg() != nil && f.Pkg().Path() == "maps" && slices.Contains([]string{"All", "DeleteFunc", "EqualFunc", "Keys", "Values"}, f.Name())
}

// ordered reports whether the result of such a call is the same in any order: its caller sorts the
// entries, puts them into a map, or ranges over them with a loop for which anyOrder is true. A
// callback must be quiet.
func (r *reach) ordered(in body, call *ast.CallExpr, above []ast.Node) bool {
	if f := callee(in.of.info, ast.Unparen(call.Fun)); strings.HasSuffix(f.Name(), "Func") {
		given := call.Args[len(call.Args)-1]
		return r.newQuiet().code(in.of.info, given, func(o types.Object) bool { return given.Pos() <= o.Pos() && o.Pos() < given.End() })
	}
	switch taker := above[len(above)-1].(type) {
	case *ast.RangeStmt:
		key, value := taker.Key, taker.Value
		if callee(in.of.info, ast.Unparen(call.Fun)).Name() == "Values" {
			key, value = nil, taker.Key
		}
		return r.anyOrder(in, taker, key, value, above[:len(above)-1])
	case *ast.CallExpr:
		f := callee(in.of.info, ast.Unparen(taker.Fun))
		if f == nil || f.Pkg() == nil {
			return false
		}
		switch f.Pkg().Name() + "." + f.Name() {
		case "slices.Sorted", "slices.SortedFunc", "maps.Collect", "maps.Insert":
			return true
		case "slices.Collect", "slices.AppendSeq":
			into, is := above[len(above)-2].(*ast.AssignStmt)
			return is && len(into.Lhs) == 1 && sortedAfter(in, into, into.Lhs[0], above[:len(above)-2])
		}
	}
	return false
}

// sorters leave no trace of the old order. A stable sort does, among equal elements.
var sorters = [...]string{"slices.Sort", "slices.SortFunc", "sort.Ints", "sort.Slice", "sort.Sort", "sort.Strings"}

// sortedAfter reports whether the function sorts a slice before any other use of the slice.
func sortedAfter(in body, appending ast.Node, to ast.Expr, above []ast.Node) bool {
	info := in.of.info
	function, begins := in.node, appending.Pos()
	for _, n := range above {
		switch n.(type) {
		case *ast.FuncLit:
			function, begins = n, appending.Pos()
		case *ast.ForStmt, *ast.RangeStmt: // the next turn uses it
			begins = min(begins, n.Pos())
		}
	}
	wanted := target(info, to)
	var first *ast.Ident
	sorted := map[*ast.Ident]bool{}
	ast.Inspect(function, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if call, is := ast.Unparen(n.Rhs[0]).(*ast.CallExpr); is && len(n.Lhs) == 1 && target(info, n.Lhs[0]) == wanted && appendsTo(info, call, wanted) {
				return false
			}
		case *ast.CallExpr:
			if f := callee(info, ast.Unparen(n.Fun)); f != nil && f.Pkg() != nil && len(n.Args) > 0 && slices.Contains(sorters[:], f.Pkg().Name()+"."+f.Name()) {
				sorted[last(n.Args[0])] = true
			}
		case *ast.Ident:
			if n.Pos() >= begins && first == nil && info.Uses[n] != nil && info.Uses[n] == wanted {
				first = n
			}
		}
		return true
	})
	return wanted != nil && first != nil && sorted[first]
}

// appendsTo reports whether a call appends to a slice, or makes it.
func appendsTo(info *types.Info, call *ast.CallExpr, to types.Object) bool {
	if f := callee(info, ast.Unparen(call.Fun)); f != nil {
		return f.Pkg() != nil && f.Pkg().Path() == "slices" && (f.Name() == "Collect" || f.Name() == "AppendSeq" && target(info, call.Args[0]) == to)
	}
	name, is := call.Fun.(*ast.Ident)
	return is && name.Name == "append" && target(info, call.Args[0]) == to
}

// last returns the last name of x, x.f or *x.
func last(e ast.Expr) *ast.Ident {
	switch e := ast.Unparen(e).(type) {
	case *ast.StarExpr:
		return last(e.X)
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	}
	return nil
}
