package lint

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A loop over a map has the same result in any order if it changes each variable in only one of
// these ways, and reads none of these variables elsewhere.
const (
	sums     = "sums"     // adds to an integer
	appends  = "appends"  // appends to a slice that the function sorts before any other use
	entries  = "entries"  // writes or deletes the entry of a map at the current key
	deletes  = "deletes"  // deletes entries of another map
	elements = "elements" // writes a field of the current element
	assigns  = "assigns " // assigns the same value each time; the value follows
	combines = "combines" // combines by max, min, or a bit or boolean operator; the operator follows
)

// loop is a loop over a map during its check.
type loop struct {
	*quiet
	of         body
	node       ast.Node
	over       types.Object            // the map
	key, value types.Object            // nil: no name
	writes     map[types.Object]string // the changed variables and fields, and the way of the change
	own        map[types.Object]bool   // fields read of the current element, and maps read at the current key
	appended   []ast.Expr
	exits      map[string]bool // break and return statements
}

// anyOrder reports whether a loop over a map provably has the same result in any order. key and
// value are the loop's variables for them, or nil.
func (r *reach) anyOrder(in body, n *ast.RangeStmt, key, value ast.Expr, above []ast.Node) bool {
	if n.Tok == token.ASSIGN {
		return false // the variables keep the last element
	}
	declared := func(e ast.Expr) types.Object {
		if name, is := e.(*ast.Ident); is {
			return in.of.info.Defs[name]
		}
		return nil
	}
	l := &loop{
		quiet: r.newQuiet(), of: in, node: n,
		over: target(in.of.info, n.X), key: declared(key), value: declared(value),
		writes: map[types.Object]string{}, own: map[types.Object]bool{}, exits: map[string]bool{},
	}
	if call, is := ast.Unparen(n.X).(*ast.CallExpr); is && len(call.Args) > 0 {
		l.over = target(in.of.info, call.Args[0]) // of maps.Keys
	}
	l.dropChanged(n.Body)
	if !l.statement(n.Body, false) {
		return false
	}
	for o, how := range l.writes {
		if l.reads[o] || l.own[o] && how != elements && how != entries {
			return false
		}
		// The changes before a break depend on the order, except the one assignment that every order makes.
		if len(l.exits) > 0 && (len(l.writes) > 1 || !l.exits["break"] || !strings.HasPrefix(how, assigns)) {
			return false
		}
	}
	return len(l.exits) < 2 && !slices.ContainsFunc(l.appended, func(to ast.Expr) bool { return !sortedAfter(in, n, to, above) })
}

// target returns the variable or field that an assignment to x, x.f, x[i] or *x changes.
func target(info *types.Info, e ast.Expr) types.Object {
	var o types.Object
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		o = info.ObjectOf(e)
	case *ast.SelectorExpr:
		o = info.ObjectOf(e.Sel)
	case *ast.IndexExpr:
		return target(info, e.X)
	case *ast.StarExpr:
		return target(info, e.X)
	}
	if v, is := o.(*types.Var); is {
		return v.Origin()
	}
	return nil
}

// inside reports whether the loop declares a variable, so that each element has its own.
func (l *loop) inside(o types.Object) bool {
	return o != nil && l.node.Pos() <= o.Pos() && o.Pos() < l.node.End()
}

// dropChanged forgets the loop's variables if the loop assigns to them: they are then no longer the
// current key and element.
func (l *loop) dropChanged(in ast.Stmt) {
	ast.Inspect(in, func(n ast.Node) bool {
		for _, e := range written(n) {
			name, is := ast.Unparen(e).(*ast.Ident)
			if !is {
				continue
			}
			switch o := l.of.of.info.Uses[name]; {
			case o == nil:
			case o == l.key:
				l.key, l.value = nil, nil
			case o == l.value:
				l.value = nil
			}
		}
		return true
	})
}

// computes reports whether expressions are quiet. It records their reads of the current key and
// element separately.
func (l *loop) computes(all ...ast.Expr) bool {
	for _, e := range all {
		if e == nil {
			continue
		}
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if l.ofElement(n) {
					l.own[target(l.of.of.info, n)], l.apart[n.Sel] = true, true
				}
			case *ast.IndexExpr:
				if name := last(n.X); l.isKey(n.Index) && name != nil {
					l.own[target(l.of.of.info, n)], l.apart[name] = true, true
				}
			}
			return true
		})
		if !l.code(l.of.of.info, e, l.inside) {
			return false
		}
	}
	return true
}

// ofElement reports whether an expression is a field of the current element. The rule assumes that no element has two keys.
func (l *loop) ofElement(e ast.Expr) bool {
	selector, is := ast.Unparen(e).(*ast.SelectorExpr)
	if !is || l.value == nil || target(l.of.of.info, selector) == nil {
		return false
	}
	name, is := ast.Unparen(selector.X).(*ast.Ident)
	return is && l.of.of.info.Uses[name] == l.value
}

// statement reports whether a statement has the same result in any order. inner is true if a break
// in it leaves another statement.
func (l *loop) statement(s ast.Stmt, inner bool) bool {
	switch s := s.(type) {
	case nil, *ast.EmptyStmt, *ast.DeclStmt:
		return s == nil || l.declares(s)
	case *ast.BlockStmt:
		return l.statements(s.List, inner)
	case *ast.IfStmt:
		return l.statement(s.Init, inner) && l.computes(s.Cond) && l.statement(s.Body, inner) && l.statement(s.Else, inner)
	case *ast.ForStmt:
		return l.statement(s.Init, true) && l.computes(s.Cond) && l.statement(s.Post, true) && l.statement(s.Body, true)
	case *ast.RangeStmt:
		return s.Tok != token.ASSIGN && l.computes(s.X) && l.statement(s.Body, true)
	case *ast.SwitchStmt:
		return l.statement(s.Init, true) && l.computes(s.Tag) && l.statement(s.Body, true)
	case *ast.TypeSwitchStmt:
		return l.statement(s.Init, true) && l.statement(s.Assign, true) && l.statement(s.Body, true)
	case *ast.CaseClause:
		return l.computes(s.List...) && l.statements(s.Body, inner)
	case *ast.ExprStmt:
		return l.deletes(s.X)
	case *ast.IncDecStmt:
		return l.ownTurn(s.X) || l.writesTo(s.X, sums, isInteger(l.of.of.info.TypeOf(s.X)))
	case *ast.AssignStmt:
		return l.assignment(s)
	case *ast.BranchStmt:
		if s.Tok == token.BREAK && !inner {
			l.exits["break"] = true
		}
		return s.Label == nil && s.Tok != token.GOTO
	case *ast.ReturnStmt:
		var values []string
		for _, result := range s.Results {
			value, is := l.constant(result)
			if !is {
				return false
			}
			values = append(values, value)
		}
		l.exits["return "+strings.Join(values, ", ")] = true
		return true
	}
	return false
}

func (l *loop) statements(all []ast.Stmt, inner bool) bool {
	return !slices.ContainsFunc(all, func(s ast.Stmt) bool { return !l.statement(s, inner) })
}

func (l *loop) declares(s ast.Stmt) bool {
	is := true
	ast.Inspect(s, func(n ast.Node) bool {
		if spec, variable := n.(*ast.ValueSpec); variable {
			is = is && l.computes(spec.Values...)
		}
		return is
	})
	return is
}

// deletes reports whether an expression statement deletes an entry of a map.
func (l *loop) deletes(e ast.Expr) bool {
	call, is := e.(*ast.CallExpr)
	if !is {
		return l.computes(e) // x.(type) of a switch
	}
	if name, is := call.Fun.(*ast.Ident); !is || !l.of.of.info.Types[name].IsBuiltin() || name.Name != "delete" {
		return false
	}
	return l.computes(call.Args[1]) && l.writesTo(&ast.IndexExpr{X: call.Args[0], Index: call.Args[1]}, deletes, true)
}
