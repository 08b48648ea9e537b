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
)

// patchSources are classes that daemons need in place of Hadoop's native code, which does not come from Maven.
//
//go:embed java/*.java
var patchSources embed.FS

// makePatch compiles patchSources into a jar beside the release's folder, unless it is there: it is named after them. It
// takes two seconds.
func (j Jars) makePatch(ctx context.Context) (string, error) {
	sources, err := fs.Glob(patchSources, "java/*")
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, source := range sources {
		text, err := patchSources.ReadFile(source)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", source, len(text), text)
	}
	path := fmt.Sprintf("%s-%.8x.jar", j.Dir, hash.Sum(nil))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := j.compilePatch(ctx, path); err != nil {
		return "", fmt.Errorf("compile what stands for native code of hadoop %s: %w", j.Version, err)
	}
	return path, nil
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
		return fmt.Errorf("run javac: %w\n%s", err, tail(out, 2000))
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
