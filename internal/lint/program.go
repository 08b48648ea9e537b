package lint

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Listed is a package in the output of `go list -json`.
type Listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Export     string // the file with the types of a package of another module
}

// Program holds packages of the module with their types, without tests, for the rules that follow
// calls and fields.
type Program struct {
	fset     *token.FileSet
	dir      string // positions are relative to it
	packages []*typedPackage
	byTypes  map[*types.Package]*typedPackage
	bodies   map[types.Object]body // of functions, and initial values of package variables
	pure     map[types.Object]bool // types with the mark //bobbin:pure
	marks    []*mark               // //bobbin:anyorder
}

// typedPackage is a package with its syntax.
type typedPackage struct {
	types  *types.Package
	info   *types.Info
	files  []*ast.File
	within map[*types.Package]bool // the package and those of the module that it imports, directly or not
}

// body is the code of a function, or the initial value of a package variable.
type body struct {
	node ast.Node
	of   *typedPackage
}

// NewProgram checks the types of the module's packages. Each must come after the packages that it
// imports. The types of other packages come from their export files. Positions are relative to dir.
func NewProgram(dir string, ours, others []Listed) (*Program, error) {
	p := &Program{
		fset:    token.NewFileSet(),
		dir:     dir,
		byTypes: map[*types.Package]*typedPackage{},
		bodies:  map[types.Object]body{},
		pure:    map[types.Object]bool{},
	}
	exports := map[string]string{}
	for _, listed := range others {
		exports[listed.ImportPath] = listed.Export
	}
	imports := &packageImporter{checked: map[string]*types.Package{}}
	imports.exported = importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) {
		file, err := os.Open(exports[path])
		if err != nil {
			return nil, fmt.Errorf("open the types of %s: %w", path, err)
		}
		return file, nil
	})
	for _, listed := range ours {
		if err := p.add(listed, imports); err != nil {
			return nil, fmt.Errorf("check the types of %s: %w", listed.ImportPath, err)
		}
	}
	return p, nil
}

// packageImporter returns the types of packages of the module that are checked already, and of
// other packages.
type packageImporter struct {
	checked  map[string]*types.Package
	exported types.Importer
}

// Import returns the types of a package.
func (i *packageImporter) Import(path string) (*types.Package, error) {
	if checked := i.checked[path]; checked != nil {
		return checked, nil
	}
	return i.exported.Import(path)
}

func (p *Program) add(listed Listed, imports *packageImporter) error {
	pkg := &typedPackage{
		info: &types.Info{
			Types:      map[ast.Expr]types.TypeAndValue{},
			Defs:       map[*ast.Ident]types.Object{},
			Uses:       map[*ast.Ident]types.Object{},
			Implicits:  map[ast.Node]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
		within: map[*types.Package]bool{},
	}
	for _, name := range listed.GoFiles {
		file, err := parser.ParseFile(p.fset, filepath.Join(listed.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg.files = append(pkg.files, file)
		p.marks = append(p.marks, marksOf(p.fset, file)...)
	}
	config := types.Config{Importer: imports}
	checked, err := config.Check(listed.ImportPath, p.fset, pkg.files, pkg.info)
	if err != nil {
		return err
	}
	pkg.types, imports.checked[listed.ImportPath] = checked, checked
	pkg.within[checked] = true
	for _, imported := range checked.Imports() {
		if other := p.byTypes[imported]; other != nil {
			for dependency := range other.within {
				pkg.within[dependency] = true
			}
		}
	}
	p.packages, p.byTypes[checked] = append(p.packages, pkg), pkg
	p.keepBodies(pkg)
	return nil
}

func (p *Program) keepBodies(pkg *typedPackage) {
	for _, file := range pkg.files {
		for _, declared := range file.Decls {
			if function, is := declared.(*ast.FuncDecl); is && function.Body != nil {
				p.bodies[pkg.info.Defs[function.Name]] = body{function.Body, pkg}
			}
		}
		for _, name := range pureTypes(file) {
			p.pure[pkg.info.Defs[name]] = true
		}
		for _, spec := range variables(file) {
			for i, name := range spec.Names {
				if len(spec.Values) > 0 {
					p.bodies[pkg.info.Defs[name]] = body{spec.Values[min(i, len(spec.Values)-1)], pkg}
				}
			}
		}
	}
}

// at returns the file and line of a position.
func (p *Program) at(pos token.Pos) string {
	position := p.fset.Position(pos)
	if name, err := filepath.Rel(p.dir, position.Filename); err == nil {
		position.Filename = filepath.ToSlash(name)
	}
	return fmt.Sprintf("%s:%d", position.Filename, position.Line)
}

// named returns the types that packages declare, also in functions.
func (p *Program) named(in func(*types.Package) bool) []*types.Named {
	var found []*types.Named
	for _, pkg := range p.packages {
		if !in(pkg.types) {
			continue
		}
		for _, object := range pkg.info.Defs {
			if name, is := object.(*types.TypeName); is && !name.IsAlias() {
				if named, is := name.Type().(*types.Named); is {
					found = append(found, named)
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b *types.Named) int { return int(a.Obj().Pos() - b.Obj().Pos()) })
	return found
}

// implementations returns the types of packages that implement an interface.
func (p *Program) implementations(of *types.Interface, in func(*types.Package) bool) []*types.Named {
	return slices.DeleteFunc(p.named(in), func(t *types.Named) bool {
		return types.IsInterface(t) || !types.Implements(t, of) && !types.Implements(types.NewPointer(t), of)
	})
}

// pureTypes returns the names of a file's types that have the line //bobbin:pure in their comment.
func pureTypes(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	for _, declared := range file.Decls {
		group, is := declared.(*ast.GenDecl)
		if !is || group.Tok != token.TYPE || group.Doc == nil {
			continue
		}
		if slices.ContainsFunc(group.Doc.List, func(c *ast.Comment) bool { return c.Text == "//bobbin:pure" }) {
			names = append(names, group.Specs[0].(*ast.TypeSpec).Name)
		}
	}
	return names
}

// mark is a comment `//bobbin:anyorder REASON`. It excuses a loop or call on its own line or the next.
type mark struct {
	file   string
	line   int
	pos    token.Pos
	reason string
	about  token.Pos // the loop or call that it excuses
}

const anyOrder = "//bobbin:anyorder"

func marksOf(fset *token.FileSet, file *ast.File) []*mark {
	var marks []*mark
	for _, group := range file.Comments {
		for _, comment := range group.List {
			if reason, is := strings.CutPrefix(comment.Text, anyOrder); is {
				at := fset.Position(comment.Pos())
				marks = append(marks, &mark{file: at.Filename, line: at.Line, pos: comment.Pos(), reason: strings.TrimSpace(reason)})
			}
		}
	}
	return marks
}

// excused reports whether a mark is about a node. A mark excuses one node.
func (p *Program) excused(n ast.Node) bool {
	at := p.fset.Position(n.Pos())
	for _, m := range p.marks {
		near := m.file == at.Filename && (m.line == at.Line || m.line == at.Line-1)
		if near && (m.about == token.NoPos || m.about == n.Pos()) {
			m.about = n.Pos()
			return true
		}
	}
	return false
}
