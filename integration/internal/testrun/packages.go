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
		name := path.Base(importPath)
		all = append(all, pkg{path: importPath, dir: dir, namesake: seen[name]})
		seen[name]++
	}
	return all, nil
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
		if ctx.Err() != nil { // otherwise its partly written file may be taken for complete
			return errors.Join(append(errs, os.RemoveAll(k.folder))...)
		}
	}
	return errors.Join(errs...)
}

// output returns the output of a go command. The command ends as with Ctrl-C, with its compilers.
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

// testEvents returns the path of the tool that turns the output of a test program into events.
func testEvents(ctx context.Context) (string, error) {
	path, err := output(ctx, "tool", "-n", "test2json")
	if err != nil {
		return "", fmt.Errorf("find test2json: %w", err)
	}
	return strings.TrimSpace(path), nil
}
