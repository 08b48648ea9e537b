//go:build unix

package secretfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOthersCanNeitherReadNorPlantASecret would catch a ticket or a keytab that another user has put in the place of
// this user's, and one that another user can copy.
func TestOthersCanNeitherReadNorPlantASecret(t *testing.T) {
	t.Parallel()
	const me, mallory = 1000, 1001
	for name, test := range map[string]struct {
		owner, self int
		mode        fs.FileMode
		remedy      string // "": the file is taken
	}{
		"one's own":                        {me, me, 0o600, ""},
		"one's own, that nobody can write": {me, me, 0o400, ""},
		"root's":                           {0, me, 0o400, ""},
		"another user's":                   {mallory, me, 0o600, "of your own"},
		"another user's, for root":         {mallory, 0, 0o600, "of your own"},
		"another user's, for everybody":    {mallory, me, 0o666, "of your own"},
		"readable for the group":           {me, me, 0o640, "chmod 600 /some/file"},
		"readable for everybody":           {me, me, 0o604, "chmod 600 /some/file"},
		"writable for the group":           {me, me, 0o620, "chmod 600 /some/file"},
		"root's, readable for the group":   {0, me, 0o440, "chmod 600 /some/file"},
	} {
		err := judge(test.owner, test.self, test.mode, "/some/file")
		if (test.remedy == "") != (err == nil) || err != nil && (!errors.Is(err, ErrExposed) || !strings.Contains(err.Error(), test.remedy)) {
			t.Errorf("%s: got %v, want %q", name, err, test.remedy)
		}
	}
}

// TestOpen would catch a check of another file than the one that is read, and a check that hangs on a named pipe.
func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, pipe, link := filepath.Join(dir, "secret"), filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	file, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 6)
	if _, err := file.Read(content); err != nil || string(content) != "sesame" {
		t.Errorf("read %q, %v", content, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Open(pipe); !errors.Is(err, ErrExposed) {
		t.Errorf("a named pipe: %v, want ErrExposed", err)
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), dir) {
		t.Errorf("no file: %v, want ErrNotExist without the path", err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, link} {
		if _, err := Open(name); !errors.Is(err, ErrExposed) || !strings.Contains(err.Error(), "0644") {
			t.Errorf("%s, which everybody can read: %v, want ErrExposed", name, err)
		}
	}
}
