package pages

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// javaPages are the pages that map Java's classes and methods to ours. If the line above a table names a class by its
// full name, the table lists the methods of that class. If the line names a package, the table lists its classes, and
// their getters whose fields have other names. All names must exist.
var (
	javaPages = []string{"docs/java.md", "docs/java-records.md"}

	javaSubject = regexp.MustCompile("^`(org\\.apache\\.hadoop\\.[A-Za-z0-9_.$]+)`")
	codeSpan    = regexp.MustCompile("`([^`]+)`")
	goName      = regexp.MustCompile(`^[a-z0-9]+\.[A-Z]\w*(\.[A-Z]\w*)?$`)
	javaClass   = regexp.MustCompile(`^public .*?(?:class|interface) ([A-Za-z0-9_.$]+)`)
	javaMember  = regexp.MustCompile(`^  (?:public|protected) .*?([A-Za-z0-9_$]+)\(`)
	getter      = regexp.MustCompile(`^(?:get|is)([A-Z]\w*)$`)
)

// mapping is the mapping of one Java class or package on a page.
type mapping struct {
	subject string
	rows    []row
}

// row is a row of a mapping's table.
type row struct {
	java []string // methods; or classes without their package, or getters as Class.getter
	ours []string // names such as yarnclient.Client.Kill
}

func (m mapping) ofPackage() bool { return strings.ToLower(m.subject) == m.subject }

// names returns all Java names of the mapping.
func (m mapping) names() []string {
	var names []string
	for _, r := range m.rows {
		names = append(names, r.java...)
	}
	return names
}

func mappings(page string) []mapping {
	var found []mapping
	for line := range strings.Lines(page) {
		if subject := javaSubject.FindStringSubmatch(line); subject != nil {
			found = append(found, mapping{subject: subject[1]})
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(found) == 0 || !strings.HasPrefix(line, "| `") || len(cells) != 2 {
			continue
		}
		var r row
		for _, span := range codeSpan.FindAllStringSubmatch(cells[0], -1) {
			r.java = append(r.java, span[1])
		}
		for _, span := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
			if goName.MatchString(span[1]) {
				r.ours = append(r.ours, span[1])
			}
		}
		m := &found[len(found)-1]
		m.rows = append(m.rows, r)
	}
	return found
}

// The test would catch a Java method that is missing on the page, a method that Java does not have, and names of ours
// that do not exist any more.
func TestThePageForJavaProgrammersIsTrueAndComplete(t *testing.T) {
	var content strings.Builder
	for _, name := range javaPages {
		page, err := os.ReadFile(filepath.Join("..", "..", "..", name)) // not the copy, so that go test knows the dependency
		if err != nil {
			t.Fatal(err)
		}
		content.Write(page)
	}
	jars, err := artifacts.Fetch(t.Context(), artifacts.DefaultVersion)
	if err != nil {
		t.Fatal(err)
	}
	ours := declared(t)
	tables := mappings(content.String())
	if len(tables) < 10 {
		t.Fatalf("only %d classes and packages are mapped", len(tables))
	}
	methods := methodsOf(t, jars, tables)
	for _, m := range tables {
		all := methods[m.subject]
		if m.ofPackage() {
			all = append(classesOf(t, jars, m.subject), renamed(m, methods, ours)...)
		}
		if len(all) == 0 {
			t.Errorf("%s: Hadoop %s has nothing there", m.subject, jars.Version)
		}
		names := m.names()
		for _, name := range names {
			if !slices.Contains(all, name) {
				t.Errorf("%s: Hadoop %s has no %s there, or it needs no row", m.subject, jars.Version, name)
			}
		}
		for _, name := range all {
			if !slices.Contains(names, name) {
				t.Errorf("%s: %s is not on the page", m.subject, name)
			}
		}
		for _, r := range m.rows {
			for _, name := range r.ours {
				if err := ours.has(name); err != nil {
					t.Errorf("%s: %v", m.subject, err)
				}
			}
		}
	}
}

// renamed returns the getters, as Class.getter, of a package's classes for which our type has no field or method with
// that name.
func renamed(m mapping, methods map[string][]string, ours packages) []string {
	var names []string
	for _, r := range m.rows {
		for _, class := range r.java {
			if len(r.ours) == 0 || strings.Contains(class, ".") {
				continue
			}
			for _, method := range methods[m.subject+"."+class] {
				if found := getter.FindStringSubmatch(method); found != nil && !ours.hasMember(r.ours[0], found[1]) {
					names = append(names, class+"."+method)
				}
			}
		}
	}
	return names
}

// methodsOf asks javap for the methods of all mapped classes, except enumerations.
func methodsOf(t *testing.T, jars artifacts.Jars, tables []mapping) map[string][]string {
	t.Helper()
	args := []string{"-public", "-cp", jars.Classpath()}
	for _, m := range tables {
		if !m.ofPackage() {
			args = append(args, m.subject)
			continue
		}
		for _, name := range classesOf(t, jars, m.subject) {
			args = append(args, m.subject+"."+name)
		}
	}
	out, err := output(exec.CommandContext(t.Context(), "javap", args...))
	if err != nil {
		t.Fatal(err)
	}
	methods, class := map[string][]string{}, ""
	for line := range strings.Lines(out) {
		if header := javaClass.FindStringSubmatch(line); header != nil {
			class = header[1]
		}
		found := javaMember.FindStringSubmatch(line)
		if found == nil || strings.HasSuffix(class, "."+found[1]) { // a constructor
			continue
		}
		known := slices.Contains(methods[class], found[1]) // with other arguments
		if !known && !slices.Contains([]string{"equals", "hashCode", "toString", "main"}, found[1]) && !strings.HasSuffix(found[1], "ForTesting") {
			methods[class] = append(methods[class], found[1])
		}
	}
	return methods
}

// classesOf lists the public top-level classes of a package.
func classesOf(t *testing.T, jars artifacts.Jars, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(jars.Dir, "hadoop-yarn-api-*.jar"))
	if err != nil || len(files) != 1 {
		t.Fatalf("jars %q, %v", files, err)
	}
	archive, err := zip.OpenReader(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var names []string
	for _, file := range archive.File {
		dir, name := filepath.Split(file.Name)
		class, is := strings.CutSuffix(name, ".class")
		if is && dir == strings.ReplaceAll(pkg, ".", "/")+"/" && !strings.Contains(class, "$") && class != "package-info" {
			names = append(names, class)
		}
	}
	return names
}

// packages are the packages that a program can import, by name.
type packages map[string]*types.Package

// declared asks the compiler for the declarations of yarnrpc and of its imports.
func declared(t *testing.T) packages {
	t.Helper()
	const all = "github.com/bobbin-yarn/bobbin/yarnrpc/..." // of the work tree, which is compiled already, instead of its copy
	list := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Module", all)
	out, err := output(list)
	if err != nil {
		t.Fatal(err)
	}
	exports, public := map[string]string{}, []string{}
	for decoder := json.NewDecoder(strings.NewReader(out)); ; {
		var listed struct {
			ImportPath, Export string
			Module             *struct{ Main bool }
		}
		if err := decoder.Decode(&listed); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[listed.ImportPath] = listed.Export
		if standard := listed.Module == nil; (standard || listed.Module.Main) && !strings.Contains(listed.ImportPath, "internal") && listed.ImportPath != "unsafe" {
			public = append(public, listed.ImportPath)
		}
	}
	compiler := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	known := packages{}
	for _, path := range public {
		pkg, err := compiler.Import(path)
		if err != nil {
			t.Fatalf("import %s: %v", path, err)
		}
		known[pkg.Name()] = pkg
	}
	return known
}

// has looks for package.Name, or package.Name.Member for a field or method.
func (p packages) has(name string) error {
	parts := strings.Split(name, ".")
	pkg, ok := p[parts[0]]
	if !ok {
		return fmt.Errorf("%s: no package is called %s", name, parts[0])
	}
	object := pkg.Scope().Lookup(parts[1])
	if object == nil {
		return fmt.Errorf("%s: package %s has no %s", name, pkg.Path(), parts[1])
	}
	if len(parts) == 3 {
		if member, _, _ := types.LookupFieldOrMethod(object.Type(), true, pkg, parts[2]); member == nil {
			return fmt.Errorf("%s: %s.%s has no field or method %s", name, pkg.Path(), parts[1], parts[2])
		}
	}
	return nil
}

// hasMember reports whether a type, package.Name, has a field or method with this name, ignoring case.
func (p packages) hasMember(name, member string) bool {
	pkg, rest, _ := strings.Cut(name, ".")
	typeName, _, isMember := strings.Cut(rest, ".")
	if isMember || p[pkg] == nil || p[pkg].Scope().Lookup(typeName) == nil {
		return true // it maps to something that is not a record
	}
	object := p[pkg].Scope().Lookup(typeName)
	record, is := object.Type().Underlying().(*types.Struct)
	if !is {
		return true
	}
	for field := range record.Fields() {
		if strings.EqualFold(field.Name(), member) {
			return true
		}
	}
	for method := range types.NewMethodSet(types.NewPointer(object.Type())).Methods() {
		if strings.EqualFold(method.Obj().Name(), member) {
			return true
		}
	}
	return false
}
