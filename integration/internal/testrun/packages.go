package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// pkg is a package of the module that has tests.
type pkg struct {
	path string // for imports
	dir  string // of its files, where its tests run
	// concurrent: the package or its tests start goroutines.
	concurrent bool
	shortened  []string // the tests that do less in Go's short mode
	only       []string // the tests to run; nil: all
	// namesake is the number of earlier packages with the same last element in their paths. `go test` would write
	// binaries with the same name, so these packages need different folders.
	namesake int
}

// packages lists the packages of the module, in the order of their paths.
func packages(ctx context.Context) ([]pkg, error) {
	const format = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}"
	listed, err := output(ctx, "list", "-f", format, module+"/...")
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var all []pkg
	seen := make(map[string]int)
	for line := range strings.Lines(listed) {
		importPath, dir, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			continue
		}
		concurrent, err := startsGoroutines(dir)
		if err != nil {
			return nil, fmt.Errorf("look for goroutines in %s: %w", importPath, err)
		}
		less, err := shortened(dir)
		if err != nil {
			return nil, fmt.Errorf("look for tests that a short run shortens in %s: %w", importPath, err)
		}
		name := path.Base(importPath)
		all = append(all, pkg{path: importPath, dir: dir, concurrent: concurrent, shortened: less, namesake: seen[name]})
		seen[name]++
	}
	return all, nil
}

// startsGoroutines reports whether the tests in a folder check for goroutines that are left at their end. lint.Leaks
// makes sure that the tests of each package that starts goroutines, in its code or in its tests, do this.
func startsGoroutines(dir string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		if bytes.Contains(text, []byte("goleak.VerifyTestMain(")) {
			return true, nil
		}
	}
	return false, nil
}

// below reports whether the package is in a folder of the module, or below it.
func (p pkg) below(folder string) bool {
	return p.path == module+"/"+folder || strings.HasPrefix(p.path, module+"/"+folder+"/")
}

// binaries is the folder of the tests' own programs.
type binaries string

// path returns the place of a package's program. folder is the one in which it is built with others.
func (b binaries) path(p pkg, race bool) string {
	return filepath.Join(b.folder(p, race), path.Base(p.path)+".test")
}

func (b binaries) folder(p pkg, race bool) string {
	detector := "plain"
	if race {
		detector = "race"
	}
	return filepath.Join(string(b), detector, fmt.Sprint(p.namesake))
}

// build builds the programs of the suites' tests. `go test` itself would link each of them in each run, which takes a
// minute and a half of one processor. build links only changed programs.
//
// All programs of a run have the flags of `make build`, or those with the race detector. With other flags, Go would
// compile the whole module, and half of its own library, once more.
func (b binaries) build(ctx context.Context, suites []suite) error {
	type kind struct {
		folder string
		race   bool
	}
	wanted := make(map[kind][]string)
	for _, s := range suites {
		for _, p := range s.packages {
			k := kind{b.folder(p, s.race), s.race}
			wanted[k] = append(wanted[k], p.path)
		}
	}
	var errs []error
	for k, paths := range wanted {
		if err := os.MkdirAll(k.folder, 0o755); err != nil {
			return err
		}
		// The linter vets the tests, and has more of vet's checks than `go test`.
		args := append([]string{"test", "-c", "-vet=off", "-o", k.folder + "/"}, bobbintest.BuildFlags(k.race)...)
		if _, err := outputWith(ctx, bobbintest.BuildEnvironment(k.race), append(args, paths...)...); err != nil {
			errs = append(errs, fmt.Errorf("build the tests: %w", err))
		}
		if ctx.Err() != nil { // otherwise its partly written file may be taken for complete
			return errors.Join(append(errs, os.RemoveAll(k.folder))...)
		}
	}
	return errors.Join(errs...)
}

// output returns the output of a go command. The command ends as with Ctrl-C, with its compilers.
func output(ctx context.Context, args ...string) (string, error) {
	return outputWith(ctx, nil, args...)
}

// outputWith is output with further environment.
func outputWith(ctx context.Context, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w\n%s%s", err, &stderr, &stdout)
	}
	return stdout.String(), nil
}

// testEvents returns the path of the tool that turns the output of a test program into events.
func testEvents(ctx context.Context) (string, error) {
	path, err := output(ctx, "tool", "-n", "test2json")
	if err != nil {
		return "", fmt.Errorf("find test2json: %w", err)
	}
	return strings.TrimSpace(path), nil
}
