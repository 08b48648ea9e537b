package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// The limits of files, in lines. Generated files are exempt.
const (
	maxLines     = 800
	maxTestLines = 1200
)

// limitFunctions bound the waiting of a test. They are listed by the name on which they are called;
// "" is any connection.
var limitFunctions = map[string][]string{
	"context": {"WithTimeout", "WithTimeoutCause", "WithDeadline", "WithDeadlineCause"},
	"time":    {"After", "NewTimer"},
	"":        {"SetDeadline", "SetReadDeadline", "SetWriteDeadline"},
}

// limitedTests may call limitFunctions outside a bubble, with the reason: a bubble cannot contain
// sockets. Their limits are not for events that must come.
var limitedTests = map[string]string{
	"appmaster/master_test.go":     "YARN is away for longer than something else is waited for",
	"internal/rolerpc/tls_test.go": "a caller's deadline passes while a server says nothing",
	"yarnrpc/socket_test.go":       "callers leave early, and servers answer late",
}

var (
	generatedLine = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	// machinePath is an absolute path that only one machine has. It must not match inside a longer path: /user/root/ is HDFS's.
	machinePath  = regexp.MustCompile("(^|[\\s\"'`=:(,])/(work|root|home/[a-z]+)/")
	registryHost = compileHosts()
)

// hosts returns the names of package servers. Only the package managers' clients may ask them. The
// names are in pieces, so that this file does not break its own rule.
func hosts() []string {
	var names []string
	for _, labels := range [][]string{
		{"proxy", "golang", "org"},
		{"sum", "golang", "org"},
		{"repo", "maven", "apache", "org"},
		{"repo1", "maven", "org"},
		{"deb", "debian", "org"},
		{"registry", "npmjs", "org"},
		{"index", "crates", "io"},
		{"pypi", "org"},
	} {
		names = append(names, strings.Join(labels, "."))
	}
	return names
}

// compileHosts returns an expression that matches hosts.
func compileHosts() *regexp.Regexp {
	return regexp.MustCompile(`\b(` + strings.ReplaceAll(strings.Join(hosts(), "|"), ".", `\.`) + `)\b`)
}

// Source checks one Go file. name is its path from the module's root, with slashes.
func Source(name string, src []byte) []string {
	if generatedLine.Match(src) {
		return nil
	}
	var complaints []string
	complain := func(format string, args ...any) {
		complaints = append(complaints, name+": "+fmt.Sprintf(format, args...))
	}
	test := strings.HasSuffix(name, "_test.go")
	limit := maxLines
	if test {
		limit = maxTestLines
	}
	if lines := bytes.Count(src, []byte("\n")); lines > limit {
		complain("%d lines: split it, %d are the limit", lines, limit)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		complain("%v", err)
		return complaints
	}
	if !test {
		return complaints
	}
	at := func(n ast.Node) int { return fset.Position(n.Pos()).Line }
	if !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing/synctest"` }) {
		forEachCall(file, func(call *ast.CallExpr, on, function string) {
			if on == "time" && function == "Sleep" {
				complain("line %d: a test sleeps; let it wait for a condition, or run in a bubble of testing/synctest", at(call))
			}
		})
		switch found := limits(file); {
		case limitedTests[name] != "" && len(found) == 0:
			complain("no limit is left: take it out of limitedTests")
		case limitedTests[name] == "" && !within(name, "integration"):
			for _, call := range found {
				complain("line %d: a test has a limit; let it wait as long as the run may take, or run in a bubble of testing/synctest", at(call))
			}
		}
	}
	for _, call := range skips(file) {
		complain("line %d: a skipped test looks green; let it fail and say what is missing", at(call))
	}
	for _, target := range seedless(file) {
		complain("line %d: a fuzz target without f.Add starts from nothing, and an ordinary run of it tests nothing", at(target))
	}
	return complaints
}

// limits returns the calls of limitFunctions.
func limits(file *ast.File) []*ast.CallExpr {
	var found []*ast.CallExpr
	forEachCall(file, func(call *ast.CallExpr, on, function string) {
		if slices.Contains(limitFunctions[on], function) || slices.Contains(limitFunctions[""], function) {
			found = append(found, call)
		}
	})
	return found
}

// skips returns the calls that skip a test. A fuzz target and a property (of package rapid) may
// skip an input. In Go's short mode a test may skip itself: `make test-thorough` finds and runs it.
func skips(file *ast.File) []*ast.CallExpr {
	var found []*ast.CallExpr
	var short *ast.BlockStmt // the last body of an if testing.Short()
	fuzzBodies := map[*ast.FuncType]bool{}
	var scopes []*ast.FuncType // of the functions around a node; nil for other nodes
	inTest := func(variable string) bool {
		for _, scope := range slices.Backward(scopes) {
			if kind := parameterType(scope, variable); kind != "" {
				return strings.HasPrefix(kind, "testing.") && !fuzzBodies[scope]
			}
		}
		return false
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var scope *ast.FuncType
		switch n := n.(type) {
		case nil:
			scopes = scopes[:len(scopes)-1]
			return true
		case *ast.FuncDecl:
			scope = n.Type
		case *ast.FuncLit:
			scope = n.Type
		case *ast.IfStmt:
			if isShort(n.Cond) {
				short = n.Body
			}
		case *ast.CallExpr:
			if short != nil && short.Pos() <= n.Pos() && n.End() <= short.End() {
				break
			}
			called, ok := n.Fun.(*ast.SelectorExpr)
			if !ok {
				break
			}
			if body, ok := lastArgument(n).(*ast.FuncLit); ok && called.Sel.Name == "Fuzz" {
				fuzzBodies[body.Type] = true
			}
			on, ok := called.X.(*ast.Ident)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, called.Sel.Name) && inTest(on.Name) {
				found = append(found, n)
			}
		}
		scopes = append(scopes, scope)
		return true
	})
	return found
}

// isShort reports whether a condition is testing.Short().
func isShort(condition ast.Expr) bool {
	call, ok := condition.(*ast.CallExpr)
	if !ok {
		return false
	}
	called, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := called.X.(*ast.Ident)
	return ok && from.Name == "testing" && called.Sel.Name == "Short"
}

// seedless returns the fuzz targets that add no seeds.
func seedless(file *ast.File) []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, declared := range file.Decls {
		function, ok := declared.(*ast.FuncDecl)
		if !ok || function.Recv != nil || !strings.HasPrefix(function.Name.Name, "Fuzz") {
			continue
		}
		seeds := 0
		forEachCall(function, func(_ *ast.CallExpr, on, called string) {
			if called == "Add" && parameterType(function.Type, on) == "testing.F" {
				seeds++
			}
		})
		if seeds == 0 {
			found = append(found, function)
		}
	}
	return found
}

func lastArgument(call *ast.CallExpr) ast.Expr {
	if len(call.Args) == 0 {
		return nil
	}
	return call.Args[len(call.Args)-1]
}

// parameterType returns package.Type of a function's parameter with this name, without pointers, or
// "".
func parameterType(function *ast.FuncType, name string) string {
	if function == nil {
		return ""
	}
	for _, field := range function.Params.List {
		if !slices.ContainsFunc(field.Names, func(id *ast.Ident) bool { return id.Name == name }) {
			continue
		}
		t := field.Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		if selector, ok := t.(*ast.SelectorExpr); ok {
			if pkg, ok := selector.X.(*ast.Ident); ok {
				return pkg.Name + "." + selector.Sel.Name
			}
		}
		return "other"
	}
	return ""
}

// forEachCall visits the calls of the form on.function(…). on is "" if it is more than a name.
func forEachCall(in ast.Node, visit func(call *ast.CallExpr, on, function string)) {
	ast.Inspect(in, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
			on := ""
			if name, ok := selector.X.(*ast.Ident); ok {
				on = name.Name
			}
			visit(call, on, selector.Sel.Name)
		}
		return true
	})
}

// Documented reports whether a Go file has a package comment.
func Documented(src []byte) bool {
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && file.Doc != nil
}

// Compiled checks that a file is no compiled program: the sources make those. It knows the formats of Linux,
// macOS, Windows and Java.
func Compiled(name string, content []byte) []string {
	for _, magic := range []string{"\x7fELF", "\xcf\xfa\xed\xfe", "MZ\x90\x00", "\xca\xfe\xba\xbe"} {
		if bytes.HasPrefix(content, []byte(magic)) {
			return []string{name + " is a compiled program: remove it, and keep what makes it"}
		}
	}
	return nil
}

// Text checks a file of any kind for paths and hosts that only one machine or workplace has.
func Text(name string, content []byte) []string {
	// Few files have one of these. The check of each line of all files would take a dozen seconds.
	contains := func(text string) bool { return bytes.Contains(content, []byte(text)) }
	if !slices.ContainsFunc([]string{"/work/", "/root/", "/home/"}, contains) && !slices.ContainsFunc(hosts(), contains) {
		return nil
	}
	var complaints []string
	for i, line := range bytes.Split(content, []byte("\n")) {
		for _, pattern := range []*regexp.Regexp{machinePath, registryHost} {
			if found := pattern.Find(line); found != nil {
				complaints = append(complaints, fmt.Sprintf("%s:%d: %q is of no use elsewhere", name, i+1, found))
			}
		}
	}
	return complaints
}
