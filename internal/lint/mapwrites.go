package lint

import (
	"go/ast"
	"go/token"
	"go/types"
)

// writesTo records the way in which an assignment changes its target, and reports whether the loop
// may do that. allowed is the caller's own condition.
func (l *loop) writesTo(to ast.Expr, how string, allowed bool) bool {
	o := target(l.of.of.info, to)
	if o == nil || !allowed {
		return false
	}
	index, indexed := ast.Unparen(to).(*ast.IndexExpr)
	atHand := indexed && l.isKey(index.Index) && isMap(l.of.of.info.TypeOf(index.X)) && !l.mentionsElement(index.X)
	if o == l.over && !atHand {
		return false // the loop may or may not reach a new entry
	}
	if atHand {
		how = entries
	}
	if before, is := l.writes[o]; is && before != how {
		return false
	}
	l.writes[o] = how
	switch to := ast.Unparen(to).(type) {
	case *ast.SelectorExpr:
		return l.computes(to.X)
	case *ast.IndexExpr:
		if within, is := ast.Unparen(to.X).(*ast.SelectorExpr); is && !l.computes(within.X) {
			return false
		}
		return l.computes(to.Index)
	case *ast.StarExpr:
		return l.computes(to.X)
	}
	return true
}

func (l *loop) isKey(e ast.Expr) bool {
	name, is := ast.Unparen(e).(*ast.Ident)
	return is && l.key != nil && l.of.of.info.Uses[name] == l.key
}

func isInteger(t types.Type) bool {
	basic, is := t.Underlying().(*types.Basic)
	return is && basic.Info()&types.IsInteger != 0
}

// assignment reports whether an assignment has the same result in any order.
func (l *loop) assignment(s *ast.AssignStmt) bool {
	info := l.of.of.info
	if s.Tok != token.DEFINE && s.Tok != token.ASSIGN {
		how := sums
		switch s.Tok {
		case token.ADD_ASSIGN, token.SUB_ASSIGN:
		case token.OR_ASSIGN, token.AND_ASSIGN, token.XOR_ASSIGN, token.MUL_ASSIGN:
			how = combines + s.Tok.String()
		default:
			return l.ownTurn(s.Lhs[0]) && l.computes(s.Rhs...)
		}
		return l.computes(s.Rhs...) && (l.ownTurn(s.Lhs[0]) || l.writesTo(s.Lhs[0], how, isInteger(info.TypeOf(s.Lhs[0]))))
	}
	for i, to := range s.Lhs {
		if l.ownTurn(to) {
			continue
		}
		if len(s.Rhs) != len(s.Lhs) || !l.assigns(to, s.Rhs[i]) {
			return false
		}
	}
	if len(s.Rhs) != len(s.Lhs) {
		return l.computes(s.Rhs...)
	}
	for i, to := range s.Lhs {
		if l.ownTurn(to) && !l.computes(s.Rhs[i]) {
			return false
		}
	}
	return true
}

// ownTurn reports whether an assignment changes only variables that the loop declares.
func (l *loop) ownTurn(to ast.Expr) bool { return staysIn(l.of.of.info, to, l.inside) }

// assigns reports whether the loop may assign a value to a variable that outlives the current element.
func (l *loop) assigns(to, from ast.Expr) bool {
	info := l.of.of.info
	if value, is := l.constant(from); is {
		return l.writesTo(to, assigns+value, true)
	}
	if index, is := ast.Unparen(to).(*ast.IndexExpr); is && l.isKey(index.Index) {
		return l.computes(from) && l.writesTo(to, entries, isMap(info.TypeOf(index.X)) && !l.mentionsElement(index.X))
	}
	if others, is := l.again(to, from, "append"); is {
		l.appended = append(l.appended, to)
		return l.computes(others...) && l.writesTo(to, appends, true)
	}
	for _, operation := range []string{"max", "min", "||", "&&"} {
		if others, is := l.again(to, from, operation); is {
			return l.computes(others...) && l.writesTo(to, combines+operation, exact(info.TypeOf(to)))
		}
	}
	return l.ofElement(to) && !l.mentions(from, l.key) && l.computes(from) && l.writesTo(to, elements, true)
}

// exact reports whether equal values of a type are identical. Floats (0 and -0) and times (time zones) are not.
func exact(t types.Type) bool {
	basic, is := t.Underlying().(*types.Basic)
	return is && basic.Info()&(types.IsInteger|types.IsString|types.IsBoolean) != 0
}

func isMap(t types.Type) bool {
	_, is := t.Underlying().(*types.Map)
	return is
}

// again returns e of `to = f(to, e…)`, `to = to f e` and `to = e f to`.
func (l *loop) again(to, from ast.Expr, operation string) ([]ast.Expr, bool) {
	same := func(e ast.Expr) bool { return types.ExprString(ast.Unparen(e)) == types.ExprString(ast.Unparen(to)) }
	switch from := ast.Unparen(from).(type) {
	case *ast.CallExpr:
		if name, is := from.Fun.(*ast.Ident); !is || name.Name != operation || !l.of.of.info.Types[name].IsBuiltin() {
			return nil, false
		}
		if same(from.Args[0]) {
			return from.Args[1:], true
		}
		if operation != "append" && len(from.Args) == 2 && same(from.Args[1]) {
			return from.Args[:1], true
		}
	case *ast.BinaryExpr:
		switch {
		case from.Op.String() != operation:
		case same(from.X):
			return []ast.Expr{from.Y}, true
		case same(from.Y):
			return []ast.Expr{from.X}, true
		}
	}
	return nil, false
}

func (l *loop) mentions(e ast.Expr, o types.Object) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		name, is := n.(*ast.Ident)
		found = found || is && o != nil && l.of.of.info.Uses[name] == o
		return !found
	})
	return found
}

// mentionsElement reports whether an expression depends on the current element.
func (l *loop) mentionsElement(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		name, is := n.(*ast.Ident)
		found = found || is && l.inside(l.of.of.info.Uses[name])
		return !found
	})
	return found
}

// constant returns the text of a value that is the same in each turn.
func (l *loop) constant(e ast.Expr) (string, bool) {
	e = ast.Unparen(e)
	if composite, is := e.(*ast.CompositeLit); is && len(composite.Elts) == 0 {
		_, plain := l.of.of.info.TypeOf(e).Underlying().(*types.Struct)
		return types.ExprString(e), plain
	}
	t := l.of.of.info.Types[e]
	if t.Value != nil {
		return t.Value.ExactString(), true
	}
	return "nil", t.IsNil()
}
