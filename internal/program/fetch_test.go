package program_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
)

// staged is a fake file system with one file.
type staged struct {
	content io.Reader
	size    int64 // as the file system says
	missing bool
	read    int64
}

func (s *staged) Stat(_ context.Context, uri string) (filesystem.FileInfo, error) {
	if s.missing {
		return filesystem.FileInfo{}, fmt.Errorf("stat %s: %w", uri, fs.ErrNotExist)
	}
	return filesystem.FileInfo{URI: uri, Size: s.size}, nil
}

func (s *staged) Open(context.Context, string) (filesystem.File, error) {
	return &stagedFile{s: s}, nil
}

type stagedFile struct {
	io.Seeker

	s *staged
}

func (f *stagedFile) Info() filesystem.FileInfo { return filesystem.FileInfo{Size: f.s.size} }

func (f *stagedFile) Read(p []byte) (int, error) {
	n, err := f.s.content.Read(p)
	f.s.read += int64(n)
	return n, err
}

func (f *stagedFile) Close() error {
	if c, is := f.s.content.(io.Closer); is {
		return c.Close()
	}
	return nil
}

// endless has no end, whatever size the file system reports.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// broken fails at once.
type broken struct{}

var errBroken = errors.New("connection reset")

func (broken) Read([]byte) (int, error) { return 0, errBroken }

func reference(content []byte) msg.Program {
	sum := sha256.Sum256(content)
	return msg.Program{Name: "wordcount", SHA256: hex.EncodeToString(sum[:]), URI: "hdfs://ns/x"}
}

// TestFetchedProgramIsWholeAndRunnable would catch a program that is damaged on the way, that other
// users may read, or that cannot be executed.
func TestFetchedProgramIsWholeAndRunnable(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("program "), 100_000)
	dir := t.TempDir()
	path := filepath.Join(dir, "wordcount")
	size, err := program.Fetch(t.Context(), &staged{content: bytes.NewReader(content), size: int64(len(content))}, reference(content), path)
	if err != nil || int(size) != len(content) {
		t.Fatalf("%d bytes are fetched, %v, want %d", size, err, len(content))
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("file holds %d bytes, %v, want the %d of the program", len(got), err, len(content))
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o700 {
		t.Errorf("mode is %v, %v, want 0700", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside the program there are %v, %v", entries, err)
	}
}

// TestWhatIsNotTheProgramIsNotKept would catch a file under the program's name that is not the
// planned program, and one that fills the disk.
func TestWhatIsNotTheProgramIsNotKept(t *testing.T) {
	t.Parallel()
	content := []byte("the program, every byte of it")
	size := int64(len(content))
	damaged := bytes.Clone(content)
	damaged[3] ^= 1
	for name, test := range map[string]struct {
		source *staged
		want   error
	}{
		"a byte is another":       {&staged{content: bytes.NewReader(damaged), size: size}, program.ErrChanged},
		"it ends too soon":        {&staged{content: bytes.NewReader(content[:9]), size: size}, program.ErrChanged},
		"it is shorter in truth":  {&staged{content: bytes.NewReader(content[:9]), size: 9}, program.ErrChanged},
		"it has more bytes":       {&staged{content: bytes.NewReader(append(bytes.Clone(content), 'x')), size: size}, program.ErrChanged},
		"it does not end":         {&staged{content: endless{}, size: 1 << 20}, program.ErrChanged},
		"it is empty":             {&staged{content: bytes.NewReader(nil)}, program.ErrChanged},
		"the connection breaks":   {&staged{content: io.MultiReader(bytes.NewReader(content[:9]), broken{}), size: size}, errBroken},
		"it breaks after a while": {&staged{content: io.MultiReader(io.LimitReader(endless{}, 1<<20), broken{}), size: 1 << 21}, errBroken},
		"it is gone":              {&staged{missing: true}, fs.ErrNotExist},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, p := t.TempDir(), reference(content)
			_, err := program.Fetch(t.Context(), test.source, p, filepath.Join(dir, "wordcount"))
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			for _, part := range []string{p.Name, p.SHA256, p.URI} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error does not name %s: %v", part, err)
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%v are left behind, %v", left, err)
			}
			if test.source.read > test.source.size+1 {
				t.Errorf("%d bytes were read of a file of %d", test.source.read, test.source.size)
			}
		})
	}
}

func TestProgramGoesWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	content := []byte("program")
	path := filepath.Join(t.TempDir(), "missing", "wordcount")
	source := &staged{content: bytes.NewReader(content), size: int64(len(content))}
	if _, err := program.Fetch(t.Context(), source, reference(content), path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("got %v, want an error about the missing folder", err)
	}
}

// TestCancelledFetchEnds would catch a fetch that waits for a DataNode after the job has ended.
func TestCancelledFetchEnds(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe() // without a writer
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("job is gone")
	go cancel(cause)
	if _, err := program.Fetch(ctx, &staged{content: reader, size: 9}, reference(nil), filepath.Join(t.TempDir(), "wordcount")); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

// TestFetchedProgramRunsWhileOthersAreStarted would catch a program that cannot be executed because
// a child that was forked at the wrong moment has it open for writing (ETXTBSY).
func TestFetchedProgramRunsWhileOthersAreStarted(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if err := exec.CommandContext(t.Context(), "/bin/true").Run(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	dir := t.TempDir()
	for i := range 200 {
		path := filepath.Join(dir, fmt.Sprint(i))
		source := &staged{content: bytes.NewReader(content), size: int64(len(content))}
		if _, err := program.Fetch(t.Context(), source, reference(content), path); err != nil {
			t.Error(err)
			break
		}
		if err := exec.CommandContext(t.Context(), path).Run(); err != nil {
			t.Errorf("run %d: %v", i, err)
			break
		}
	}
	close(done)
	others.Wait()
}

// TestAProgramThatWasBroughtIsVerified would catch a program that was changed on its way to the
// node, with the checksums of its blocks.
func TestAProgramThatWasBroughtIsVerified(t *testing.T) {
	t.Parallel()
	content := []byte("the program, every byte of it")
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := reference(content).SHA256
	if err := program.Verify(path, sum); err != nil {
		t.Errorf("the program itself: %v", err)
	}
	content[3] ^= 1
	if err := program.Verify(path, reference(content).SHA256); !errors.Is(err, program.ErrChanged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), sum) {
		t.Errorf("another one: %v, want ErrChanged with the file and its hash", err)
	}
	if err := program.Verify(path+".none", sum); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("none: %v, want ErrNotExist", err)
	}
}

// BenchmarkFetch fetches a program of the usual size from the local disk: the cost of hashing and
// writing it.
func BenchmarkFetch(b *testing.B) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 13<<16) // 13 MiB
	source := filepath.Join(b.TempDir(), "wordcount")
	if err := os.WriteFile(source, content, 0o600); err != nil {
		b.Fatal(err)
	}
	files := dfs.New(dfs.Options{})
	defer files.Close()
	p := reference(content)
	p.URI = "file://" + source
	path := filepath.Join(b.TempDir(), "wordcount")
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := program.Fetch(b.Context(), files, p, path); err != nil {
			b.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
	}
}
