package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// lookedFor are the methods that packages fmt and encoding/json call on their arguments, if these
// have them.
var lookedFor = [...]string{"Error", "String", "Format", "GoString", "MarshalJSON", "MarshalText", "UnmarshalJSON", "UnmarshalText"}

// Purity follows the calls of each core (see cores) and of its constructors through all packages of
// the module. It forbids the clock, goroutines, channels, locks, unseeded random numbers, the
// environment and I/O, and effects of the random order of a map. A call through an interface leads
// to each implementation in the packages that the core's package imports, directly or not. A
// function value counts as called where the code makes it. So a core must not call a function from
// a field, because any package may set it.
func Purity(p *Program, kit string) []string {
	found, err := p.cores(kit)
	if err != nil {
		return []string{err.Error()}
	}
	var complaints []string
	known := map[string]bool{}
	for _, c := range found {
		r := reach{Program: p, core: c, seen: map[types.Object]bool{}}
		for _, root := range slices.Concat(c.steps, constructors(c.state)) {
			r.follow(root, nil)
		}
		for len(r.queue) > 0 {
			next := r.queue[0]
			r.queue = r.queue[1:]
			r.inspect(next)
		}
		for _, f := range r.findings {
			if place := p.at(f.at.Pos()); !known[place+f.what] {
				known[place+f.what] = true
				complaints = append(complaints, fmt.Sprintf("%s: %s: %s: %s", place, f.reached.path(), f.what, f.remedy))
			}
		}
	}
	for _, m := range p.marks {
		switch {
		case m.reason == "":
			complaints = append(complaints, fmt.Sprintf("%s: %s without a reason: say why the order does not matter", p.at(m.pos), anyOrder))
		case m.about == token.NoPos:
			complaints = append(complaints, fmt.Sprintf("%s: %s excuses nothing: remove it", p.at(m.pos), anyOrder))
		}
	}
	return complaints
}

// reach is the code that one core calls.
type reach struct {
	*Program
	core     core
	seen     map[types.Object]bool
	queue    []*reached
	findings []finding
}

// reached is a function or a package variable, and the way there from a core.
type reached struct {
	body
	name string
	from *reached
}

type finding struct {
	at           ast.Node
	reached      *reached
	what, remedy string
}

// path returns Step → f → g.
func (r *reached) path() string {
	if r.from == nil {
		return r.name
	}
	return r.from.path() + " → " + r.name
}

// follow queues an object of the module, once.
func (r *reach) follow(object types.Object, from *reached) {
	if function, is := object.(*types.Func); is {
		object = function.Origin()
	}
	if b, ours := r.bodies[object]; ours && !r.seen[object] {
		r.seen[object] = true
		r.queue = append(r.queue, &reached{body: b, name: title(object), from: from})
	}
}

// title returns package.Type.Method, package.Function or package.Variable.
func title(object types.Object) string {
	name := object.Name()
	if function, is := object.(*types.Func); is && function.Signature().Recv() != nil {
		if of := receiver(function); of != nil {
			name = of.Obj().Name() + "." + name
		}
	}
	if object.Pkg() == nil {
		return name
	}
	return object.Pkg().Name() + "." + name
}

// receiver returns the type that declares a method, if it has a name.
func receiver(method *types.Func) *types.Named {
	t := method.Signature().Recv().Type()
	if pointer, is := t.(*types.Pointer); is {
		t = pointer.Elem()
	}
	named, _ := t.(*types.Named)
	return named
}

const (
	channelRemedy = "emit an effect; its result comes as an event"
	shellRemedy   = "emit an effect; the shell performs it"
	orderRemedy   = "sort, as slices.Sorted(maps.Keys(m)) does, or mark the line " + anyOrder + " REASON"
)

func (r *reach) complain(in *reached, n ast.Node, what, remedy string) {
	r.findings = append(r.findings, finding{n, in, what, remedy})
}

// inspect checks the statements of a body, and queues the functions that it names.
func (r *reach) inspect(in *reached) {
	var above []ast.Node
	ast.Inspect(in.node, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		switch n := n.(type) {
		case *ast.GoStmt:
			r.complain(in, n, "starts a goroutine", shellRemedy)
		case *ast.SendStmt, *ast.SelectStmt:
			r.complain(in, n, "uses a channel", channelRemedy)
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				r.complain(in, n, "uses a channel", channelRemedy)
			}
		case *ast.RangeStmt:
			r.loop(in, n, above)
		case *ast.CallExpr:
			r.call(in, n, above)
		case *ast.Ident:
			if what, remedy := r.name(in, in.of.info.Uses[n]); what != "" {
				r.complain(in, n, what, remedy)
			}
		}
		above = append(above, n)
		return true
	})
}

// loop checks a range statement.
func (r *reach) loop(in *reached, n *ast.RangeStmt, above []ast.Node) {
	switch ranged(in.of.info.TypeOf(n.X)).(type) {
	case *types.Chan:
		r.complain(in, n, "uses a channel", channelRemedy)
	case *types.Map:
		if !r.anyOrder(in.body, n, n.Key, n.Value, above) && !r.excused(n) {
			r.complain(in, n, "ranges over a map in random order", orderRemedy)
		}
	}
}

// ranged returns the type of which an expression of type t is made. For a type parameter that is the type of
// any term of its constraint, since a range statement needs terms of one underlying type.
func ranged(t types.Type) types.Type {
	switch under := t.Underlying().(type) {
	case *types.Interface:
		for embedded := range under.EmbeddedTypes() {
			return ranged(embedded)
		}
		return under
	case *types.Union:
		return ranged(under.Term(0).Type())
	default:
		return under
	}
}

// call checks a call for faults that the name of the function does not show.
func (r *reach) call(in *reached, call *ast.CallExpr, above []ast.Node) {
	info := in.of.info
	fun := ast.Unparen(call.Fun)
	if info.Types[fun].IsBuiltin() {
		name, is := fun.(*ast.Ident)
		switch {
		case !is: // of package unsafe
		case name.Name == "print" || name.Name == "println":
			r.complain(in, call, "uses "+name.Name, shellRemedy)
		case name.Name == "close" || name.Name == "make" && isChannel(info.TypeOf(call.Args[0])):
			r.complain(in, call, "uses a channel", channelRemedy)
		}
		return
	}
	called := callee(info, fun)
	if called == nil {
		if field := functionField(info, fun); field != "" {
			r.complain(in, call, "calls a function from field "+field, "any package may set it; call a method")
		}
		return
	}
	if iterates(called) && !r.ordered(in.body, call, above) && !r.excused(call) {
		r.complain(in, call, "calls maps."+called.Name()+", which takes entries in random order", orderRemedy)
	}
	if called.Pkg() != nil && r.byTypes[called.Pkg()] == nil {
		r.handOver(in, call, called.Signature())
	}
}

// functionField returns the name of the field from which a call takes its function, or "".
func functionField(info *types.Info, fun ast.Expr) string {
	if info.Types[fun].IsType() {
		return ""
	}
	switch f := fun.(type) {
	case *ast.IndexExpr:
		return functionField(info, ast.Unparen(f.X))
	case *ast.SelectorExpr:
		if selection := info.Selections[f]; selection != nil && selection.Kind() == types.FieldVal {
			return f.Sel.Name
		}
	}
	return ""
}

func isChannel(t types.Type) bool {
	_, is := t.Underlying().(*types.Chan)
	return is
}

// callee returns the function or method that a call names; nil if it names none.
func callee(info *types.Info, fun ast.Expr) *types.Func {
	switch f := fun.(type) {
	case *ast.Ident:
		called, _ := info.Uses[f].(*types.Func)
		return called
	case *ast.SelectorExpr:
		called, _ := info.Uses[f.Sel].(*types.Func)
		return called
	case *ast.IndexExpr:
		return callee(info, f.X)
	case *ast.IndexListExpr:
		return callee(info, f.X)
	}
	return nil
}

// handOver follows the methods that a function of another module may call on its arguments: those of the interface that it
// takes, and those in lookedFor where it takes anything.
func (r *reach) handOver(in *reached, call *ast.CallExpr, to *types.Signature) {
	for i, argument := range call.Args {
		wanted, is := parameter(to, i).Underlying().(*types.Interface)
		if !is {
			continue
		}
		names := lookedFor[:]
		if wanted.NumMethods() > 0 {
			names = nil
			for method := range wanted.Methods() {
				names = append(names, method.Name())
			}
		}
		for _, name := range names {
			given := in.of.info.TypeOf(argument)
			if method, _, _ := types.LookupFieldOrMethod(given, true, in.of.types, name); method != nil {
				r.name(in, method)
			}
		}
	}
}

// parameter returns the type of a signature's i-th argument.
func parameter(of *types.Signature, i int) types.Type {
	last := of.Params().Len() - 1
	if !of.Variadic() || i < last {
		return of.Params().At(i).Type()
	}
	if list, is := of.Params().At(last).Type().(*types.Slice); is {
		return list.Elem()
	}
	return of.Params().At(last).Type()
}

// name follows an object that a body names, or returns the fault of using it.
func (r *reach) name(in *reached, object types.Object) (what, remedy string) {
	switch o := object.(type) {
	case *types.Var:
		if o.Pkg() == nil || o.Parent() != o.Pkg().Scope() {
			return "", ""
		}
	case *types.Func:
		if recv := o.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			r.dispatch(in, o, recv.Type().Underlying().(*types.Interface))
		}
	default:
		return "", ""
	}
	if object.Pkg() == nil || r.byTypes[object.Pkg()] != nil {
		r.follow(object, in)
		return "", ""
	}
	return foreign(object)
}

// dispatch follows a method of an interface to the types that implement it.
func (r *reach) dispatch(in *reached, method *types.Func, of *types.Interface) {
	for _, t := range r.implementations(of, func(pkg *types.Package) bool { return r.core.of.within[pkg] }) {
		if has, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, method.Pkg(), method.Name()); has != nil {
			r.follow(has, in)
		}
	}
}
