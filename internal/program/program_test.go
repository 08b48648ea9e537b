package program_test

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/program"
)

// build builds a real executable with a string in its data.
func build(t *testing.T, goarch, content string) string {
	t.Helper()
	dir := t.TempDir()
	source := fmt.Sprintf("package main\nvar mark = %q\nfunc main() { print(mark) }\n", content)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", out, filepath.Join(dir, "main.go"))
	cmd.Env = append(os.Environ(), "GOARCH="+goarch, "CGO_ENABLED=0", "GO111MODULE=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	return out
}

// TestInspectTellsProgramsApart would catch a file that is uploaded and started on a cluster where
// it cannot run.
func TestInspectTellsProgramsApart(t *testing.T) {
	mark := fmt.Sprintf("<bobbin sdk protocol version=%d>", jobgraph.ProtocolVersion)
	text := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"+mark), 0o700); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, bytes.Repeat([]byte("x"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	jar, empty := filepath.Join(t.TempDir(), "job.jar"), filepath.Join(t.TempDir(), "empty")
	for path, content := range map[string]string{jar: "PK\x03\x04\x14\x00\x08\x08\x08\x00META-INF/", empty: ""} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, path string
		want       error
	}{
		{"a program built with the SDK is taken", build(t, "amd64", mark), nil},
		{"a program without the mark is refused", build(t, "amd64", "<bobbin sdk protocol version=>"), program.ErrNotBuiltWithSDK},
		{"a mark with a sign is none", build(t, "amd64", "<bobbin sdk protocol version=+1>"), program.ErrNotBuiltWithSDK},
		{"another protocol version is refused", build(t, "amd64", "<bobbin sdk protocol version=99999>"), program.ErrProtocolVersion},
		{"another architecture is refused", build(t, "arm64", mark), program.ErrPlatform},
		{"a script is refused though it holds the mark", text, program.ErrNoProgram},
		{"a text that cannot be executed is told as one", plain, program.ErrNoProgram},
		{"a jar is told as one", jar, program.ErrNoProgram},
		{"an empty file is told as one", empty, program.ErrNoProgram},
		{"a missing file is named", filepath.Join(t.TempDir(), "nothing"), os.ErrNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := program.Inspect(c.path, elf.EM_X86_64)
			if !errors.Is(err, c.want) {
				t.Fatalf("Inspect = %v, want %v", err, c.want)
			}
			if err == nil && (len(got.SHA256) != 64 || got.Size == 0 || got.Name != "prog") {
				t.Errorf("Inspect = %+v", got)
			}
		})
	}
	locked := build(t, "amd64", mark)
	if err := os.Chmod(locked, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := program.Inspect(locked, elf.EM_X86_64); err == nil {
		t.Error("a file without exec permission is taken")
	}
	if _, err := program.Inspect(t.TempDir(), elf.EM_X86_64); err == nil {
		t.Error("a directory is taken")
	}
}

// TestInspectOwnTellsProgramsApart would catch a local run that starts a file which is not a
// program of the SDK, or refuses a wrapper with the mark.
func TestInspectOwnTellsProgramsApart(t *testing.T) {
	mark := fmt.Sprintf("<bobbin sdk protocol version=%d>", jobgraph.ProtocolVersion)
	write := func(name, content string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]error{
		build(t, runtime.GOARCH, mark):              nil,
		write("wrapper", "#!/bin/sh\n# "+mark+"\n"): nil,
		"/bin/ls":                              program.ErrNotBuiltWithSDK,
		build(t, "s390x", mark):                program.ErrPlatform,
		write("script", "#!/bin/sh\nls\n"):     program.ErrNoProgram,
		write("job.jar", "PK\x03\x04\x14\x00"): program.ErrNoProgram,
	} {
		got, err := program.InspectOwn(path)
		if !errors.Is(err, want) || err == nil && got != path {
			t.Errorf("InspectOwn(%s) = %q, %v, want %v", path, got, err, want)
		}
	}
}
