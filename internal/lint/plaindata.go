package lint

import (
	"fmt"
	"go/types"
	"slices"
)

// livePackages are packages without plain data.
var livePackages = [...]string{"context", "sync", "sync/atomic", "unsafe"}

// PlainData checks the state of each core (see cores) and the parameters and results of its
// methods: events and effects. They hold no channel, function, lock or context, at any depth. An
// interface counts as all types that implement it: in the interface's package if a method is
// unexported, and otherwise in all packages of the module. An interface other than error that no
// type implements breaks the rule. A Reply holds the answer type of its Question, which is in an
// event. PlainData returns its complaints by the path of the core's package.
func PlainData(p *Program, kit string) map[string][]string {
	found, err := p.cores(kit)
	if err != nil {
		return map[string][]string{kit: {err.Error()}}
	}
	complaints := map[string][]string{}
	for _, c := range found {
		object := c.state.Obj()
		w := &plainWalk{Program: p, kit: kit, seen: map[types.Type]bool{}}
		w.walk(c.state, object, title(object))
		for _, step := range c.steps {
			for _, tuple := range []*types.Tuple{step.Signature().Params(), step.Signature().Results()} {
				for v := range tuple.Variables() {
					w.walk(v.Type(), object, title(step))
				}
			}
		}
		complaints[object.Pkg().Path()] = append(complaints[object.Pkg().Path()], w.complaints...)
	}
	return complaints
}

// plainWalk goes through the types of one core.
type plainWalk struct {
	*Program
	kit        string              // the package of Question and Reply
	seen       map[types.Type]bool // types of the module
	complaints []string
}

// walk checks a type that the declaration of an object names. path leads there from the core.
func (w *plainWalk) walk(t types.Type, in types.Object, path string) {
	complain := func(what string) {
		w.complaints = append(w.complaints, fmt.Sprintf("%s: %s %s: keep plain data in state, events and effects, and name a live object by an id", w.at(in.Pos()), path, what))
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		w.named(t, path, complain)
	case *types.Pointer:
		w.walk(t.Elem(), in, path)
	case *types.Slice:
		w.walk(t.Elem(), in, path+"[]")
	case *types.Array:
		w.walk(t.Elem(), in, path+"[]")
	case *types.Map:
		w.walk(t.Key(), in, path+"[key]")
		w.walk(t.Elem(), in, path+"[]")
	case *types.Struct:
		for field := range t.Fields() {
			w.walk(field.Type(), field, path+"."+field.Name())
		}
	default:
		if what := lives(t, map[types.Type]bool{}); what != "" {
			complain("is " + what)
		}
	}
}

func (w *plainWalk) named(t *types.Named, path string, complain func(string)) {
	if w.byTypes[t.Obj().Pkg()] == nil {
		switch what := lives(t, map[types.Type]bool{}); {
		case what == "":
		case what == qualified(t):
			complain("has type " + what)
		default:
			complain("has type " + qualified(t) + ", which holds " + what)
		}
		return
	}
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	if t.Obj().Pkg().Path() == w.kit {
		switch t.Obj().Name() {
		case "Question": // its answer is what Reply holds
			w.walk(t.TypeArgs().At(0), t.Obj(), path+" answered")
		case "Reply":
			return
		}
	}
	of, is := t.Underlying().(*types.Interface)
	if !is {
		w.walk(t.Underlying(), t.Obj(), path)
		return
	}
	sealed := false
	for method := range of.Methods() {
		sealed = sealed || !method.Exported()
	}
	all := w.implementations(of, func(pkg *types.Package) bool { return !sealed || pkg == t.Obj().Pkg() })
	if len(all) == 0 {
		complain("has type " + qualified(t) + ", which no type of ours implements")
	}
	for _, each := range all {
		w.walk(each, each.Obj(), path+".("+qualified(each)+")")
	}
}

func qualified(t *types.Named) string {
	if t.Obj().Pkg() == nil {
		return t.Obj().Name()
	}
	return t.Obj().Pkg().Name() + "." + t.Obj().Name()
}

// lives returns the part of a type that is not plain data, or "".
func lives(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if t.Obj().Pkg() != nil && slices.Contains(livePackages[:], t.Obj().Pkg().Path()) {
			return qualified(t)
		}
		if t.Obj().Pkg() == nil { // error
			return ""
		}
		if types.IsInterface(t) {
			return qualified(t)
		}
		return lives(t.Underlying(), seen)
	case *types.Pointer:
		return lives(t.Elem(), seen)
	case *types.Slice:
		return lives(t.Elem(), seen)
	case *types.Array:
		return lives(t.Elem(), seen)
	case *types.Map:
		if what := lives(t.Key(), seen); what != "" {
			return what
		}
		return lives(t.Elem(), seen)
	case *types.Struct:
		for field := range t.Fields() {
			if what := lives(field.Type(), seen); what != "" {
				return what
			}
		}
	case *types.Chan:
		return "a channel"
	case *types.Signature:
		return "a function"
	case *types.Interface:
		return "an interface that takes any type"
	}
	return ""
}
