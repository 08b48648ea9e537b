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

// BinVariable names a directory with the binaries of `make build`. Those that are
// not in it are built.
const BinVariable = "BOBBIN_TEST_BIN"

const module = "github.com/bobbin-yarn/bobbin"

// binaries are built by the first test that needs one, all at once.
type binaries struct {
	build sync.Once // guards dir, err
	dir   string
	err   error
}

// path gives the path of a binary.
func (b *binaries) path(ctx context.Context, name string) (string, error) {
	if given := os.Getenv(BinVariable); given != "" {
		for _, place := range []string{name, filepath.Join("examples", name)} {
			path, err := filepath.Abs(filepath.Join(given, place))
			if err != nil {
				return "", err
			}
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	// Not the test's context: the binaries outlive the test that is the first to ask for them.
	b.build.Do(func() { b.err = b.make(context.WithoutCancel(ctx)) })
	if b.err != nil {
		return "", b.err
	}
	path := filepath.Join(b.dir, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("find program %s: it is neither in examples nor in integration/internal/programs: %w", name, err)
	}
	return path, nil
}

// make builds with the flags of the Makefile, so that the bytes are those of
// `make build`.
func (b *binaries) make(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bobbin-test-bin-")
	if err != nil {
		return err
	}
	b.dir = dir
	packages := []string{module + "/integration/internal/programs/..."}
	if os.Getenv(BinVariable) == "" {
		packages = append(packages, module+"/client/cmd/bobbin", module+"/examples/...")
	}
	args := append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", dir + "/"}, packages...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build binaries for the tests: %w\n%s", err, out)
	}
	return nil
}

func (b *binaries) remove() {
	if b.dir == "" {
		return
	}
	if err := os.RemoveAll(b.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "remove binaries of the tests:", err)
	}
}
