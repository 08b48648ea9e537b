package artifacts

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/integration/internal/filelock"
)

// patchSources are classes that daemons need in place of Hadoop's native code, which does not come from Maven.
//
//go:embed java/*.java
var patchSources embed.FS

// Patched returns the release with a jar of patchSources before the others. Daemons use it, and clients that share
// their archive of classes. The jar is beside the release's folder. Its name depends on the sources and on the java
// that reads it. To compile it takes two seconds, once.
func (j Jars) Patched(ctx context.Context, java string) (Jars, error) {
	j, err := j.patched(ctx, java)
	if err != nil {
		return Jars{}, fmt.Errorf("compile the Java replacements for native code of hadoop %s: %w", j.Version, err)
	}
	return j, nil
}

func (j Jars) patched(ctx context.Context, java string) (Jars, error) {
	name := sha256.New()
	release, err := javaRelease(java)
	if err != nil {
		return j, err
	}
	name.Write(release)
	sources, err := fs.Glob(patchSources, "java/*")
	if err != nil {
		return j, err
	}
	for _, source := range sources {
		text, err := patchSources.ReadFile(source)
		if err != nil {
			return j, err
		}
		fmt.Fprintf(name, "%s %d\n%s", source, len(text), text)
	}
	path := fmt.Sprintf("%s-%.8x.jar", j.Dir, name.Sum(nil))
	unlock, err := filelock.Exclusive(ctx, j.Dir+".lock")
	if err != nil {
		return j, err
	}
	defer unlock()
	if _, err := os.Stat(path); err != nil {
		if err := j.compilePatch(ctx, path); err != nil {
			return j, err
		}
	}
	j.Patch = path
	return j, nil
}

func (j Jars) compilePatch(ctx context.Context, path string) error {
	javac, err := FindJavac()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".patch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, patchSources); err != nil {
		return err
	}
	sources, err := filepath.Glob(filepath.Join(dir, "java", "*.java"))
	if err != nil {
		return err
	}
	classes := filepath.Join(dir, "classes")
	args := append([]string{"-nowarn", "-proc:none", "-d", classes, "-classpath", j.Classpath()}, sources...)
	if out, err := exec.CommandContext(ctx, javac, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("run javac: %w\n%s", err, out)
	}
	jar := filepath.Join(dir, "jar")
	if err := writeJar(jar, os.DirFS(classes)); err != nil {
		return err
	}
	return os.Rename(jar, path)
}

// writeJar puts the files of a folder into a jar.
func writeJar(path string, files fs.FS) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	jar := zip.NewWriter(file)
	err = jar.AddFS(files)
	if e := jar.Close(); err == nil {
		err = e
	}
	if e := file.Close(); err == nil {
		err = e
	}
	return err
}
