// Package flink gives tests parts of a real Flink, from the archive that scripts/flink fetches: the static files of its
// dashboard, its HistoryServer, and the strings of its code.
//
// It owns the processes that it starts. Each ends with its test. The package keeps no state.
package flink

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Home returns the folder with Flink's jars. The first call on a machine fetches them.
func Home(t testing.TB) string {
	t.Helper()
	root, err := filepath.Abs(".")
	for err == nil {
		if _, err = os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		if up := filepath.Dir(root); up != root && errors.Is(err, fs.ErrNotExist) {
			root, err = up, nil
		}
	}
	if err != nil {
		t.Fatalf("find the module's folder: %v", err)
	}
	fetch := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "flink"))
	var complaint bytes.Buffer
	fetch.Stderr = &complaint
	out, err := fetch.Output()
	if err != nil {
		t.Fatalf("fetch Flink: %v\n%s", err, complaint.String())
	}
	return strings.TrimSpace(string(out))
}

// Dashboard returns the static files of Flink's dashboard. They are there until the end of the test.
func Dashboard(t testing.TB) fs.FS {
	t.Helper()
	static, err := fs.Sub(dist(t), "web")
	if err != nil {
		t.Fatal(err)
	}
	return static
}

// dist opens Flink's own jar, until the end of the test.
func dist(t testing.TB) *zip.ReadCloser {
	t.Helper()
	jars, err := filepath.Glob(filepath.Join(Home(t), "lib", "flink-dist-*.jar"))
	if err != nil || len(jars) != 1 {
		t.Fatalf("flink-dist: %v, %v", jars, err)
	}
	jar, err := zip.OpenReader(jars[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = jar.Close() }) // it was only read
	return jar
}
