package main

import (
	"context"
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
	listed, err := exec.CommandContext(ctx, "go", "list", "-f", format, module+"/...").Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var all []pkg
	seen := make(map[string]int)
	for line := range strings.Lines(string(listed)) {
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
	for k, paths := range wanted {
		if err := os.MkdirAll(k.folder, 0o755); err != nil {
			return err
		}
		args := []string{"test", "-c", "-ldflags", "-s -w", "-o", k.folder + "/"}
		if k.race {
			args = append(args, "-race")
		}
		if out, err := exec.CommandContext(ctx, "go", append(args, paths...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("build the tests: %w\n%s", err, out)
		}
	}
	return nil
}

// testEvents is the path of the tool that makes events of what a test's program says.
func testEvents(ctx context.Context) (string, error) {
	path, err := exec.CommandContext(ctx, "go", "tool", "-n", "test2json").Output()
	if err != nil {
		return "", fmt.Errorf("find test2json: %w", err)
	}
	return strings.TrimSpace(string(path)), nil
}
