package artifacts

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Archive is the file with the release's classes in the JVM's memory format (the JDK's class data sharing,
// -XX:SharedArchiveFile). Daemons that map it start faster. It works only with this java, and with a class path that
// begins with Classpath. It is "" until MakeArchive has made it.
func (j Jars) Archive(java string) string {
	path, err := j.archive(java)
	if err != nil {
		return ""
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// archive returns the file's name. The name contains the version in java's release file, and the properties of each jar
// that java compares. If a jar differs, java uses no class of the archive.
func (j Jars) archive(java string) (string, error) {
	name := sha256.New()
	release, err := javaRelease(java)
	if err != nil {
		return "", err
	}
	name.Write(release)
	for _, jar := range filepath.SplitList(j.Classpath()) {
		info, err := os.Stat(jar)
		if err != nil {
			return "", err
		}
		fmt.Fprintln(name, jar, info.Size(), info.ModTime().UnixNano())
	}
	return fmt.Sprintf("%s-%.8x.jsa", j.Dir, name.Sum(nil)), nil
}

// javaRelease returns the content of the release file of java's installation.
func javaRelease(java string) ([]byte, error) {
	program, err := filepath.EvalSymlinks(java)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(program)), "release"))
}

// MakeArchive makes the Archive from the classes in these files, which -XX:DumpLoadedClassList has written. It takes
// half a minute.
func (j Jars) MakeArchive(ctx context.Context, java string, lists ...string) error {
	if err := j.makeArchive(ctx, java, lists); err != nil {
		return fmt.Errorf("make class archive of hadoop %s: %w", j.Version, err)
	}
	return nil
}

func (j Jars) makeArchive(ctx context.Context, java string, lists []string) error {
	path, err := j.archive(java)
	if err != nil {
		return err
	}
	merged, err := mergeClassLists(lists)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".archive-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	classes, archive := filepath.Join(dir, "classes"), filepath.Join(dir, "archive")
	if err := os.WriteFile(classes, merged, 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, java, "-Xshare:dump", "-XX:+UseSerialGC", "-Xlog:disable", "-Xlog:all=error:stderr",
		"-XX:SharedClassListFile="+classes, "-XX:SharedArchiveFile="+archive, "-classpath", j.Classpath())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s -Xshare:dump: %w\n%s", java, err, out)
	}
	return os.Rename(archive, path)
}

// mergeClassLists returns the classes of all lists, each once and in the order of the first list that has it. It leaves
// out lines that a killed process has not written completely, and lines that name no class: generated code, of which
// there is little.
func mergeClassLists(lists []string) ([]byte, error) {
	var merged bytes.Buffer
	seen := make(map[string]bool)
	for _, list := range lists {
		content, err := os.ReadFile(list)
		if err != nil {
			return nil, err
		}
		whole := content[:bytes.LastIndexByte(content, '\n')+1]
		lines := bufio.NewScanner(bytes.NewReader(whole))
		for lines.Scan() {
			line := lines.Text()
			if seen[line] || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "@") {
				continue
			}
			seen[line] = true
			merged.WriteString(line + "\n")
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", list, err)
		}
	}
	return merged.Bytes(), nil
}
