package cluster

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// secureIOUtils is what NodeManagers of a secure cluster need in place of native code.
//
//go:embed java/SecureIOUtils.java
var secureIOUtils []byte

// patchDir holds the classes that go before Hadoop's.
func (s *spec) patchDir() string { return filepath.Join(s.Dir, "classes") }

// writePatch compiles them.
func (s *spec) writePatch(ctx context.Context) error {
	javac, err := artifacts.FindJavac()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.patchDir(), 0o755); err != nil {
		return err
	}
	source := filepath.Join(s.patchDir(), "SecureIOUtils.java")
	if err := os.WriteFile(source, secureIOUtils, 0o644); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, javac, "-nowarn", "-proc:none", "-d", s.patchDir(), "-classpath", s.Jars.Classpath(), source).CombinedOutput()
	if err != nil {
		return fmt.Errorf("compile %s: %w\n%s", source, err, lastLines(out, 10))
	}
	return nil
}
