package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// programs are the Java programs in testdata. The first test that needs one compiles all of them, which takes a JVM
// longer than to run them.
var programs javaPrograms

type javaPrograms struct {
	compile sync.Once // guards dir, err
	dir     string    // of the classes; "" if there are none
	err     error
}

// classes returns the folder of the programs' classes.
func (p *javaPrograms) classes(ctx context.Context) (string, error) {
	p.compile.Do(func() { p.err = p.make(context.WithoutCancel(ctx)) })
	return p.dir, p.err
}

func (p *javaPrograms) make(ctx context.Context) error {
	javac, err := artifacts.FindJavac()
	if err != nil {
		return err
	}
	jars, err := artifacts.Fetch(ctx, hadoopVersion())
	if err != nil {
		return err
	}
	sources, err := filepath.Glob("testdata/*.java")
	if err != nil {
		return err
	}
	if p.dir, err = os.MkdirTemp("", "bobbin-conformance-"); err != nil {
		return err
	}
	flags := []string{"-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-proc:none", "-d", p.dir, "-classpath", jars.Classpath()}
	if out, err := exec.CommandContext(ctx, javac, append(flags, sources...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile %v: %w\n%s", sources, err, out)
	}
	return nil
}

func (p *javaPrograms) remove() error {
	if p.dir == "" {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// runJava runs a Java program of testdata with a release's classes and these system properties, NAME=value.
func runJava(t *testing.T, version string, stdin io.Reader, properties []string, class string, args ...string) []byte {
	t.Helper()
	classes, err := programs.classes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	java, err := artifacts.FindJava()
	if err != nil {
		t.Fatal(err)
	}
	jars, err := artifacts.Fetch(t.Context(), version)
	if err == nil {
		jars, err = jars.Patched(t.Context(), java) // with them it can use the archive
	}
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-classpath", jars.Classpath(classes)}
	if archive := jars.Archive(java); archive != "" {
		flags = append(flags, "-XX:SharedArchiveFile="+archive)
	}
	for _, property := range properties {
		flags = append(flags, "-D"+property)
	}
	cmd := exec.CommandContext(t.Context(), java, append(append(flags, class), args...)...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", class, err, stderr.Bytes())
	}
	return out
}
