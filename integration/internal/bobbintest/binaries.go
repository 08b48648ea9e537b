package bobbintest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// BinVariable names a directory with the programs of the tests, which Build has made for all packages of a run. Without
// it each package builds its own programs.
const BinVariable = "BOBBIN_TEST_BIN"

// raceDir is the subfolder with the programs that have the race detector.
const raceDir = "race"

const module = "github.com/bobbin-yarn/bobbin"

// racing are the programs that suites with the race detector start: see Suite.Racing.
func racing() []string {
	return []string{
		"client/cmd/bobbin", "examples/accesslog", "examples/wordcount", programs + "collector", programs + "dawdle", programs + "faulty", programs + "operators", programs + "repeat", programs + "several",
	}
}

const programs = "integration/internal/programs/"

// Build builds the programs of the tests into dir with the flags of `make build`, and some into its raceDir with the race
// detector. It does not rebuild programs that are up to date.
func Build(ctx context.Context, dir string) error {
	if err := build(ctx, dir, false); err != nil {
		return err
	}
	return build(ctx, filepath.Join(dir, raceDir), true)
}

// BuildFlags returns the flags of `make build`, or those with the race detector, for `go build` and `go test -c`. They
// need BuildEnvironment.
func BuildFlags(race bool) []string {
	flags := []string{"-trimpath", "-ldflags", "-s -w"}
	if race {
		flags = append(flags, "-race")
	}
	return flags
}

// BuildEnvironment returns the environment of a build with BuildFlags. The race detector needs cgo.
func BuildEnvironment(race bool) []string {
	if race {
		return []string{"CGO_ENABLED=1"}
	}
	return []string{"CGO_ENABLED=0"}
}

func build(ctx context.Context, dir string, race bool) error {
	args := append([]string{"build", "-o", dir + "/"}, BuildFlags(race)...)
	if race {
		for _, folder := range racing() {
			args = append(args, module+"/"+folder)
		}
	} else {
		args = append(args, module+"/client/cmd/bobbin", module+"/examples/...", module+"/"+programs+"...")
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), BuildEnvironment(race)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs of the tests: %w\n%s", err, out)
	}
	return nil
}

// binaries are the run's programs. Without BinVariable the first test that needs a program builds all of them.
type binaries struct {
	race  bool
	build sync.Once // guards dir, err
	dir   string    // built by this process, "" if it has not
	err   error
}

// path returns the path of a binary.
func (b *binaries) path(ctx context.Context, name string) (string, error) {
	dir := os.Getenv(BinVariable)
	if dir == "" {
		// Not the test's context: the binaries outlive the first test that needs them.
		b.build.Do(func() { b.err = b.make(context.WithoutCancel(ctx)) })
		if b.err != nil {
			return "", b.err
		}
		dir = b.dir
	} else if b.race {
		dir = filepath.Join(dir, raceDir)
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find program %s in examples and integration/internal/programs: %w", name, err)
	}
	return path, nil
}

func (b *binaries) make(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bobbin-test-bin-")
	if err != nil {
		return err
	}
	b.dir = dir
	return build(ctx, dir, b.race)
}

func (b *binaries) remove() {
	if b.dir == "" {
		return
	}
	if err := os.RemoveAll(b.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "remove binaries of the tests:", err)
	}
}
