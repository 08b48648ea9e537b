package taskexecutor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// staged is a fake file system with one file.
type staged struct {
	content io.Reader
	size    int64
	closed  int
}

func (s *staged) Stat(_ context.Context, uri string) (filesystem.FileInfo, error) {
	return filesystem.FileInfo{URI: uri, Size: s.size}, nil
}

func (s *staged) Open(context.Context, string) (filesystem.File, error) {
	return &stagedFile{Reader: s.content, size: s.size}, nil
}

func (s *staged) Close() error {
	s.closed++
	return nil
}

type stagedFile struct {
	io.Reader
	io.Seeker

	size int64
}

func (f *stagedFile) Info() filesystem.FileInfo { return filesystem.FileInfo{Size: f.size} }

func (f *stagedFile) Close() error {
	if c, is := f.Reader.(io.Closer); is {
		return c.Close()
	}
	return nil
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// TestFetchClosesItsFileSystem would catch a worker that keeps its connection after the fetch, and a copy
// that other users can read.
func TestFetchClosesItsFileSystem(t *testing.T) {
	t.Parallel()
	content := []byte("program")
	source := &staged{content: bytes.NewReader(content), size: int64(len(content))}
	dir := filepath.Join(t.TempDir(), "programs")
	p := DiskArtifacts{Dirs: []string{dir}, Open: func() (Files, error) { return source, nil }}
	dir = filepath.Join(dir, "7")
	path, size, err := p.FetchProgram(t.Context(), 7, msg.Program{Name: "wordcount", SHA256: hashOf(content)})
	if err != nil {
		t.Fatal(err)
	}
	if path != filepath.Join(dir, "wordcount") || int(size) != len(content) {
		t.Errorf("fetched %d bytes to %s", size, path)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder is %v, %v, want 0700", info.Mode(), err)
	}
	if source.closed != 1 {
		t.Errorf("the file system is closed %d times, want once", source.closed)
	}
}

// TestFetchesShareTheirFileSystems would catch a connection to the NameNode for each fetch, one that is closed while
// another fetch uses it, and one that stays open after the last.
func TestFetchesShareTheirFileSystems(t *testing.T) {
	t.Parallel()
	var opened []*staged
	var refused error
	take := Share(func() (Files, error) {
		if refused != nil {
			return nil, refused
		}
		opened = append(opened, &staged{})
		return opened[len(opened)-1], nil
	})
	use := func() Files {
		files, err := take()
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	expect := func(when string, closed ...int) {
		var got []int
		for _, s := range opened {
			got = append(got, s.closed)
		}
		if !slices.Equal(got, closed) {
			t.Errorf("%s the opened file systems are closed %v times, want %v", when, got, closed)
		}
	}
	first, second := use(), use()
	first.Close()
	third := use()
	second.Close()
	expect("during the third fetch", 0)
	third.Close()
	expect("after the last fetch", 1)
	refused = io.ErrUnexpectedEOF
	if _, err := take(); !errors.Is(err, refused) {
		t.Errorf("got %v, want %v", err, refused)
	}
	refused = nil
	use().Close()
	expect("after another one", 1, 1)
}

// TestProgramsThatCannotBeFetched would catch a program that is written outside its folder, and an
// error that does not name the program.
func TestProgramsThatCannotBeFetched(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("connection reset")
	open := func() (Files, error) { return &staged{content: strings.NewReader("")}, nil }
	for name, test := range map[string]struct {
		program string
		open    func() (Files, error)
		want    error
	}{
		"its name leads elsewhere":        {"../wordcount", open, errProgramName},
		"its name is a place of its own":  {"/bin/wordcount", open, errProgramName},
		"its name is that of the folder":  {".", open, errProgramName},
		"its name is the folder's parent": {"..", open, errProgramName},
		"it has no name":                  {"", open, errProgramName},
		"the file system is not reached":  {"wordcount", func() (Files, error) { return nil, errBroken }, errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := msg.Program{Name: test.program, SHA256: "11", URI: "hdfs://ns/x"}
			_, _, err := DiskArtifacts{Dirs: []string{dir}, Open: test.open}.FetchProgram(t.Context(), 1, p)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), "(SHA-256 11) from hdfs://ns/x") {
				t.Errorf("got %v, want %v and the program", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "wordcount")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something is written beside the folder: %v", err)
			}
		})
	}
}
