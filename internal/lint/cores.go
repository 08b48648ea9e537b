package lint

import (
	"fmt"
	"go/types"
	"slices"
)

// core is a type that must be pure: the state of a role, which has the methods of interface Core of
// the kit (internal/actor), or a type with the line //bobbin:pure in its comment.
type core struct {
	of    *typedPackage
	state *types.Named
	steps []*types.Func // the methods that its owner calls: those of Core, or all of a marked type
}

// cores finds the cores by their methods and comments, so a new role needs no entry in a list.
func (p *Program) cores(kit string) ([]core, error) {
	var wanted *types.Interface
	for _, pkg := range p.packages {
		if declared := pkg.types.Scope().Lookup("Core"); pkg.types.Path() == kit && declared != nil {
			wanted, _ = declared.Type().Underlying().(*types.Interface)
		}
	}
	if wanted == nil || wanted.NumMethods() == 0 {
		return nil, fmt.Errorf("package %s declares no interface Core", kit)
	}
	var found []core
	for _, state := range p.named(func(*types.Package) bool { return true }) {
		if types.IsInterface(state) {
			continue
		}
		c := core{of: p.byTypes[state.Obj().Pkg()], state: state}
		declares := false // false for a type that only embeds a core
		for method := range wanted.Methods() {
			object, _, _ := types.LookupFieldOrMethod(types.NewPointer(state), false, state.Obj().Pkg(), method.Name())
			if has, is := object.(*types.Func); is && alike(method.Signature(), has.Signature()) {
				c.steps = append(c.steps, has)
				declares = declares || receiver(has).Origin() == state
			}
		}
		if p.pure[state.Obj()] {
			c.steps = slices.Collect(state.Methods())
		} else if !declares || len(c.steps) < wanted.NumMethods() {
			continue
		}
		found = append(found, c)
	}
	return found, nil
}

// constructors returns the functions of a type's package that return the type.
func constructors(of *types.Named) []*types.Func {
	var found []*types.Func
	scope := of.Obj().Pkg().Scope()
	for _, name := range scope.Names() {
		function, is := scope.Lookup(name).(*types.Func)
		if !is {
			continue
		}
		for result := range function.Signature().Results().Variables() {
			t := result.Type()
			if pointer, is := t.(*types.Pointer); is {
				t = pointer.Elem()
			}
			if types.Identical(t, of) {
				found = append(found, function)
			}
		}
	}
	return found
}

// alike reports whether a method has the signature of an interface's method. Any types may stand
// for its type parameters.
func alike(wanted, has *types.Signature) bool {
	return alikeAll(wanted.Params(), has.Params()) && alikeAll(wanted.Results(), has.Results())
}

func alikeAll(wanted, has *types.Tuple) bool {
	if wanted.Len() != has.Len() {
		return false
	}
	for i := range wanted.Len() {
		w, h := wanted.At(i).Type(), has.At(i).Type()
		list, isList := w.(*types.Slice)
		if other, is := h.(*types.Slice); isList && is {
			w, h = list.Elem(), other.Elem()
		}
		if _, open := w.(*types.TypeParam); !open && !types.Identical(w, h) {
			return false
		}
	}
	return true
}
