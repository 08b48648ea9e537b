package lint

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportsOfTheRepository(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < 10 {
		t.Fatalf("only %d packages found", len(packages))
	}
	report(t, Imports(packages))
}

// A program that uses yarnfake, such as a demo, would otherwise contain a package that is only for
// test binaries.
func TestTheLibraryDoesNotLinkPackageTesting(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-f", `{{.ImportPath}}{{range .Deps}}{{if eq . "testing"}} links testing{{end}}{{end}}`, "./yarnrpc/...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasSuffix(strings.TrimSpace(line), "links testing") {
			t.Error(line)
		}
	}
}

func TestSourcesOfTheRepository(t *testing.T) {
	documented := map[string]bool{} // by folder
	files := trackedFiles(t)
	for name, content := range files {
		if !strings.HasSuffix(name, ".go") || inTestdata(name) {
			continue
		}
		report(t, Source(name, content))
		folder := path.Dir(name)
		documented[folder] = documented[folder] || Documented(content)
	}
	if len(documented) < 10 {
		t.Fatalf("only %d packages found", len(documented))
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s: no file has a comment for the package", folder)
		}
	}
}

func TestPackageVariablesOfTheRepository(t *testing.T) {
	packages := map[string]map[string][]byte{}
	for name, content := range trackedFiles(t) {
		folder, file := path.Split(name)
		folder = path.Clean(folder)
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || inTestdata(name) {
			continue
		}
		if packages[folder] == nil {
			packages[folder] = map[string][]byte{}
		}
		packages[folder][file] = content
	}
	for folder, files := range packages {
		report(t, Globals(folder, files))
	}
}

// A goroutine that outlives its test may make another test fail. Otherwise it stays unnoticed until
// a process that lives for days has thousands of them.
func TestLeaksOfTheRepository(t *testing.T) {
	packages := map[string]map[string][]byte{}
	for name, content := range trackedFiles(t) {
		folder, file := path.Split(name)
		folder = path.Clean(folder)
		if !strings.HasSuffix(file, ".go") || inTestdata(name) || within(folder, "integration") {
			continue
		}
		if packages[folder] == nil {
			packages[folder] = map[string][]byte{}
		}
		packages[folder][file] = content
	}
	for folder, files := range packages {
		report(t, Leaks(folder, files))
	}
}

func TestTextsOfTheRepository(t *testing.T) {
	for name, content := range trackedFiles(t) {
		report(t, Compiled(name, content))
		if bytes.IndexByte(content, 0) >= 0 || path.Dir(name) == "internal/lint" || name == "go.sum" {
			continue // binary, this test's own examples, checksums
		}
		report(t, Text(name, content))
	}
}

func TestImportRules(t *testing.T) {
	for name, test := range map[string]struct {
		from, to string
		allowed  bool
	}{
		"a role uses what roles share":              {"appmaster/jobmaster", "internal/msg", true},
		"the AM composes its roles":                 {"appmaster", "appmaster/jobmaster", true},
		"a role uses its own parts":                 {"appmaster/jobmaster", "appmaster/jobmaster/slotpool", true},
		"everybody uses the SDK":                    {"taskrunner/taskhost", "dataflow", true},
		"tests of jobs have a cluster":              {"dataflow/dataflowtest/clustertest", "client/minicluster", true},
		"no program has it":                         {"client/run", "dataflow/dataflowtest/clustertest", false},
		"the SDK has none":                          {"dataflow/dataflowtest", "dataflow/dataflowtest/clustertest", false},
		"the client starts the AM":                  {"client/cmd/bobbin", "appmaster", true},
		"the worker provider speaks to YARN":        {"appmaster/resourcemanager/yarnworkers", "yarnrpc/amrm", true},
		"integration tests try the clients":         {"integration/rpc/yarn", "yarnrpc/amrm", true},
		"an example uses the front door":            {"examples/wordcount", ".", true},
		"internal/dfs speaks to HDFS":               {"internal/dfs", "yarnrpc/hdfs", true},
		"a role imports another":                    {"appmaster/jobmaster", "appmaster/dispatcher", false},
		"the AM imports the worker":                 {"appmaster", "taskrunner/exchange", false},
		"the worker imports the AM":                 {"taskrunner/taskexecutor", "appmaster/jobmaster/slotpool", false},
		"an arrow points upward":                    {"internal/msg", "client", false},
		"yarnrpc imports what roles share":          {"yarnrpc", "internal/ids", false},
		"yarnrpc imports the SDK":                   {"yarnrpc/hdfs", "dataflow/filesystem", false},
		"the SDK imports what roles share":          {"dataflow", "internal/ids", false},
		"a messages package imports its user":       {"hadoopproto/yarnpb", "yarnrpc", false},
		"a second place speaks to YARN":             {"appmaster/dispatcher", "yarnrpc/nmclient", false},
		"the worker speaks to HDFS by itself":       {"taskrunner/taskexecutor", "yarnrpc/creds", false},
		"the product imports the harness":           {"client", "integration/internal/cluster", false},
		"the product imports the fake cluster":      {"client/minicluster", "yarnrpc/yarnfake", false},
		"the product imports the fake HDFS":         {"internal/dfs", "yarnrpc/hdfsfake", false},
		"the library imports the fake KDC":          {"yarnrpc/kerberos", "yarnrpc/internal/testing/kdctest", false},
		"the product besieges itself":               {"internal/rolerpc", "internal/testing/doorsteptest", false},
		"the product opens a terminal":              {"client/terminal", "internal/testing/ptytest", false},
		"the harness opens a terminal":              {"integration/internal/bobbintest", "internal/testing/ptytest", true},
		"the product imports the tests' keys":       {"internal/hadoopenv", "internal/testing/credstest", false},
		"the recorder knows Flink's answers":        {"integration/flinkrest", "appmaster/rest/flinkrest", true},
		"the product knows Flink's answers":         {"appmaster/rest", "appmaster/rest/flinkrest", false},
		"the client asks for REST's types":          {"client", "internal/restapi", true},
		"the client imports the server of REST":     {"client", "appmaster/rest", false},
		"the product imports the tests' endpoint":   {"client", "appmaster/rest/resttest", false},
		"a folder that nobody has given a floor to": {"misc", "internal/msg", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Imports([]Package{{Path: test.from, Imports: []string{test.to}}})
			if (len(got) == 0) != test.allowed {
				t.Errorf("%s importing %s: complaints %q, want allowed %t", test.from, test.to, got, test.allowed)
			}
		})
	}
}

func TestWorkersMustNotReachYARNByWayOfOthers(t *testing.T) {
	got := Imports([]Package{{Path: "taskrunner/taskexecutor", Imports: []string{"internal/dfs"}, Deps: []string{"internal/dfs", "yarnrpc/amrm"}}})
	if len(got) != 1 {
		t.Errorf("complaints %q, want one", got)
	}
}

func TestSourceRules(t *testing.T) {
	for name, test := range map[string]struct {
		file, source string
		complaints   int
	}{
		"generated code is exempt":            {"a/x.go", "// Code generated by x. DO NOT EDIT.\npackage a\n" + strings.Repeat("\n", 800), 0},
		"a test skips":                        {"a/x_test.go", "package a\nfunc f(t *testing.T) { t.Skip() }", 1},
		"a test skips in short mode":          {"a/x_test.go", "package a\nfunc f(t *testing.T) { if testing.Short() { t.Skip(`slow`) } }", 0},
		"a test skips, too, after short mode": {"a/x_test.go", "package a\nfunc f(t *testing.T) { if testing.Short() { t.Log() }; t.Skip() }", 1},
		"a test sleeps":                       {"a/x_test.go", "package a\nfunc f() { time.Sleep(1) }", 1},
		"a test sleeps in a bubble":           {"a/x_test.go", "package a\nimport \"testing/synctest\"\nfunc f() { time.Sleep(1) }", 0},
		"a test has a limit":                  {"a/x_test.go", "package a\nfunc f(t *testing.T) { context.WithTimeoutCause(t.Context(), time.Minute, err) }", 1},
		"a test has a limit for a channel":    {"a/x_test.go", "package a\nfunc f() { select { case <-c: case <-time.After(time.Minute): } }", 1},
		"a test has a limit for a connection": {"a/x_test.go", "package a\nfunc f() { conn.SetDeadline(late); w.conn.SetReadDeadline(late) }", 2},
		"a test has a limit in a bubble":      {"a/x_test.go", "package a\nimport \"testing/synctest\"\nfunc f() { <-time.NewTimer(1).C }", 0},
		"a test looks again and again":        {"a/x_test.go", "package a\nfunc f() { time.NewTicker(1) }", 0},
		"code has a limit":                    {"a/x.go", "package a\nfunc f() { context.WithTimeout(ctx, time.Minute) }", 0},
		"a limit is what a test is about":     {"yarnrpc/socket_test.go", "package a\nfunc f() { context.WithTimeout(ctx, time.Minute) }", 0},
		"a test has a limit no more":          {"yarnrpc/socket_test.go", "package a\nfunc f() {}", 1},
		"a subtest skips":                     {"a/x_test.go", "package a\nfunc f(t *testing.T) { t.Run(``, func(t *testing.T) { t.SkipNow() }) }", 1},
		"a helper skips":                      {"a/x_test.go", "package a\nfunc f(tb testing.TB) { func() { tb.Skipf(``) }() }", 1},
		"a fuzz target passes over an input":  {"a/x_test.go", "package a\nfunc f(f *testing.F) { f.Fuzz(func(t *testing.T, b []byte) { t.Skip() }) }", 0},
		"a fuzz target skips as a whole":      {"a/x_test.go", "package a\nfunc f(f *testing.F) { f.Skip() }", 1},
		"a fuzz target has seeds":             {"a/x_test.go", "package a\nfunc FuzzX(f *testing.F) { for i := range 3 { f.Add(i) } }", 0},
		"a fuzz target has none":              {"a/x_test.go", "package a\nfunc FuzzX(f *testing.F) { other.Add(1) }", 1},
		"a property passes over an input":     {"a/x_test.go", "package a\nfunc f(t *testing.T) { rapid.Check(t, func(t *rapid.T) { t.Skip() }) }", 0},
		"a file is too long":                  {"a/x.go", "package a\n" + strings.Repeat("\n", 800), 1},
		"a test may be longer":                {"a/x_test.go", "package a\n" + strings.Repeat("\n", 800), 0},
		"a file does not parse":               {"a/x.go", "pakage a", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Source(test.file, []byte(test.source)); len(got) != test.complaints {
				t.Errorf("complaints %q, want %d", got, test.complaints)
			}
		})
	}
}

func TestGlobalRules(t *testing.T) {
	for name, test := range map[string]struct {
		source     string
		complaints int
	}{
		"a table is no state":              {"var t = map[string]int{}; func f() int { return t[``] }", 0},
		"a sentinel is no state":           {"var Err = errors.New(``); func f() error { return Err }", 0},
		"a local of the same name":         {"var t = 1; func f() { t := 2; t = 3 }", 0},
		"an argument of the same name":     {"var t = 1; func f(t int) { t++ }", 0},
		"an interface that is satisfied":   {"var _ I = (*T)(nil)", 0},
		"a variable is assigned":           {"var t = 1; func f() { t = 2 }", 1},
		"a variable is counted up":         {"var t = 1; func f() { t++ }", 1},
		"an entry of a map is set":         {"var t = map[int]int{}; func f() { t[1] = 2 }", 1},
		"an entry of a map is deleted":     {"var t = map[int]int{}; func f() { delete(t, 1) }", 1},
		"a field is set":                   {"var t T; func f() { t.a.b = 1 }", 1},
		"an address is taken":              {"var t T; func f() *T { return &t }", 1},
		"a lock":                           {"var m sync.Mutex", 1},
		"an atomic":                        {"var p atomic.Pointer[T]", 1},
		"a channel":                        {"var c chan int", 1},
		"written in another file than its": {"func f() { elsewhere = 1 }", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := Globals("a", map[string][]byte{
				"x.go": []byte("package a\n" + test.source),
				"y.go": []byte("package a\nvar elsewhere int"),
			})
			if len(got) != test.complaints {
				t.Errorf("complaints %q, want %d", got, test.complaints)
			}
		})
	}
}

func TestLeakRules(t *testing.T) {
	for name, test := range map[string]struct {
		code, test string
		complaints int
	}{
		"no goroutine":                     {"func f() {}", "func g() {}", 0},
		"a goroutine":                      {"func f() { go g() }", "func g() {}", 1},
		"a goroutine of a group":           {"func f() { tasks.Go(f) }", "func g() {}", 1},
		"a goroutine of the scheduler":     {"func f() { sched.Go(ctx, f) }", "func g() {}", 1},
		"a goroutine of a test":            {"func f() {}", "func g() { go f() }", 1},
		"a goroutine that is looked after": {"func f() { go g() }", "func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }", 0},
		"another function of that name":    {"func f() { Go(f) }", "func g() {}", 0},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string][]byte{"x.go": []byte("package a\n" + test.code), "x_test.go": []byte("package a\n" + test.test)}
			if got := Leaks("a", files); len(got) != test.complaints {
				t.Errorf("complaints %q, want %d", got, test.complaints)
			}
			delete(files, "x_test.go")
			if got := Leaks("a", files); len(got) > 0 {
				t.Errorf("without tests: %q", got)
			}
		})
	}
}

// TestCompiledRules would catch a program that a build has left in the tree, and that was committed with it.
func TestCompiledRules(t *testing.T) {
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if got := Compiled("bench", own); len(got) != 1 {
		t.Errorf("a program: complaints %q", got)
	}
	if got := Compiled("x.png", []byte("\x89PNG\r\n\x00")); len(got) != 0 {
		t.Errorf("a picture: complaints %q", got)
	}
}

func TestTextRules(t *testing.T) {
	for text, complaints := range map[string]int{
		"see /user/root/file and /rooted": 0,
		"hdfs://nn:8020/root/out":         0,
		"a tree/root/leaf":                0,
		"dir := \"/home/alice/there\"":    1,
		"HOME=/root/":                     1,
		"cd " + strings.Join([]string{"", "work", "there"}, "/") + "; make":                   1,
		"fetched from " + strings.Join([]string{"repo", "maven", "apache", "org"}, ".") + ".": 1,
	} {
		if got := Text("x", []byte(text)); len(got) != complaints {
			t.Errorf("%q: complaints %q, want %d", text, got, complaints)
		}
	}
}

func TestDocumented(t *testing.T) {
	if Documented([]byte("// Licence.\n\npackage a")) {
		t.Error("a comment apart from the clause counts")
	}
	if !Documented([]byte("// Package a is.\npackage a")) {
		t.Error("a package comment does not count")
	}
}

func report(t *testing.T, complaints []string) {
	t.Helper()
	for _, c := range complaints {
		t.Error(c)
	}
}

func inTestdata(name string) bool {
	return strings.Contains("/"+name, "/testdata/")
}

// listPackages asks the go command, which knows build constraints.
func listPackages(t *testing.T) []Package {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var packages []Package
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var listed struct {
			ImportPath    string
			Imports, Deps []string
		}
		if err := dec.Decode(&listed); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		path, _ := ours(listed.ImportPath)
		packages = append(packages, Package{Path: path, Imports: allOurs(listed.Imports), Deps: allOurs(listed.Deps)})
	}
}

func allOurs(imports []string) []string {
	var paths []string
	for _, i := range imports {
		if p, ok := ours(i); ok {
			paths = append(paths, p)
		}
	}
	return paths
}

// ours turns an import path into a folder from the module's root.
func ours(importPath string) (string, bool) {
	if importPath == Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, Module+"/")
}

// trackedFiles reads the files that git tracks, from the work tree.
func trackedFiles(t *testing.T) map[string][]byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	cmd.Dir = root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(cmd.Dir, filepath.FromSlash(name)))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		files[name] = content
	}
	return files
}

// root returns the module's folder.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
