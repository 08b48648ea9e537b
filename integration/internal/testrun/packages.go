package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// pkg is a package of the module that has tests.
type pkg struct {
	path string // for imports
	dir  string // of its files, where its tests run
	// namesake is how many packages before this one have the same last element in their paths: `go test` writes binaries of one
	// name, and not into one folder.
	namesake int
}

// packages lists those of the module, in the order of their paths.
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
		name := path.Base(importPath)
		all = append(all, pkg{path: importPath, dir: dir, namesake: seen[name]})
		seen[name]++
	}
	return all, nil
}

// below is a folder of the module and what is in it.
func (p pkg) below(folder string) bool {
	return p.path == module+"/"+folder || strings.HasPrefix(p.path, module+"/"+folder+"/")
}

// binaries is the folder of the tests' own programs.
type binaries string

// path is where the program of a package lies, and folder in which it is built with others.
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

// build makes the programs of the suites' tests. `go test` by itself links each of them anew in each run, a minute and a half
// of one processor in all; this links those of which something has changed.
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
		args := []string{"test", "-c", "-ldflags", "-s -w", "-o", k.folder + "/"}
		if k.race {
			args = append(args, "-race")
		}
		if _, err := output(ctx, append(args, paths...)...); err != nil {
			errs = append(errs, fmt.Errorf("build the tests: %w", err))
		}
		if ctx.Err() != nil { // what it was writing may be taken for whole
			return errors.Join(append(errs, os.RemoveAll(k.folder))...)
		}
	}
	return errors.Join(errs...)
}

// output is what the go command says. It ends as Ctrl-C ends it, with its compilers.
func output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = grace
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w\n%s%s", err, &stderr, &stdout)
	}
	return stdout.String(), nil
}

// testEvents is the path of the tool that makes events of what a test's program says.
func testEvents(ctx context.Context) (string, error) {
	path, err := output(ctx, "tool", "-n", "test2json")
	if err != nil {
		return "", fmt.Errorf("find test2json: %w", err)
	}
	return strings.TrimSpace(path), nil
}
