package taskexecutor

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
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// uploaded is one file that a fake file system has.
type uploaded struct {
	content io.Reader
	size    int64 // as the file system says
	missing bool
	closed  atomic.Int32
	read    atomic.Int64
}

func (u *uploaded) Stat(_ context.Context, uri string) (filesystem.FileInfo, error) {
	if u.missing {
		return filesystem.FileInfo{}, fmt.Errorf("stat %s: %w", uri, fs.ErrNotExist)
	}
	return filesystem.FileInfo{URI: uri, Size: u.size}, nil
}

func (u *uploaded) Open(context.Context, string) (filesystem.File, error) {
	return &uploadedFile{u: u}, nil
}

func (u *uploaded) Close() error {
	u.closed.Add(1)
	return nil
}

type uploadedFile struct {
	io.Seeker

	u *uploaded
}

func (f *uploadedFile) Read(p []byte) (int, error) {
	n, err := f.u.content.Read(p)
	f.u.read.Add(int64(n))
	return n, err
}

func (f *uploadedFile) Close() error {
	if c, is := f.u.content.(io.Closer); is {
		return c.Close()
	}
	return nil
}

// endless has no end, whatever the file system says.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// broken fails after some bytes.
type broken struct{}

var errBroken = errors.New("connection reset")

func (broken) Read([]byte) (int, error) { return 0, errBroken }

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// from makes Programs of a fake file system.
func from(t *testing.T, files Files) Programs {
	t.Helper()
	return Programs{
		Open: func(msg.Secret) (Files, error) { return files, nil },
		Dir:  filepath.Join(t.TempDir(), "programs"),
	}
}

// TestFetchedProgramIsWholeAndExecutable would catch a program that is damaged on
// the way, that others may read or that cannot be run.
func TestFetchedProgramIsWholeAndExecutable(t *testing.T) {
	t.Parallel()
	content := bytes.Repeat([]byte("program "), 100_000)
	source := &uploaded{content: bytes.NewReader(content), size: int64(len(content))}
	p := from(t, source)
	var shown msg.Secret
	open := p.Open
	p.Open = func(tokens msg.Secret) (Files, error) {
		shown = tokens
		return open(tokens)
	}
	dir := filepath.Join(p.Dir, "7")
	fetched, err := p.fetch(t.Context(), FetchProgram{
		Copy: 7, Program: msg.Program{Name: "wordcount", SHA256: hashOf(content), URI: "hdfs://ns/x"}, Tokens: msg.Secret("newest"),
	}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if fetched.Copy != 7 || fetched.File != filepath.Join(dir, "wordcount") || int(fetched.Size) != len(content) {
		t.Errorf("fetched %+v", fetched)
	}
	got, err := os.ReadFile(fetched.File)
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("file holds %d bytes, %v, want the %d of the program", len(got), err, len(content))
	}
	if info, err := os.Stat(fetched.File); err != nil || info.Mode() != 0o700 {
		t.Errorf("mode is %v, %v, want 0700", info.Mode(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("beside the program there are %v, %v", entries, err)
	}
	if string(shown) != "newest" {
		t.Errorf("the file system is shown %q", []byte(shown))
	}
	if source.closed.Load() != 1 {
		t.Errorf("the file system was closed %d times, want once", source.closed.Load())
	}
}

// TestWhatIsNotTheProgramIsNotKept would catch a file under the program's name that
// is not what the job was planned with, and one that fills the disk.
func TestWhatIsNotTheProgramIsNotKept(t *testing.T) {
	t.Parallel()
	content := []byte("the program, every byte of it")
	size := int64(len(content))
	damaged := bytes.Clone(content)
	damaged[3] ^= 1
	for name, test := range map[string]struct {
		source *uploaded
		rename string
		want   error
	}{
		"a byte is another":                {&uploaded{content: bytes.NewReader(damaged), size: size}, "", ErrProgramChanged},
		"it ends too soon":                 {&uploaded{content: bytes.NewReader(content[:9]), size: size}, "", ErrProgramChanged},
		"it is shorter in truth":           {&uploaded{content: bytes.NewReader(content[:9]), size: 9}, "", ErrProgramChanged},
		"it has more bytes":                {&uploaded{content: bytes.NewReader(append(bytes.Clone(content), 'x')), size: size}, "", ErrProgramChanged},
		"it does not end":                  {&uploaded{content: endless{}, size: 1 << 20}, "", ErrProgramChanged},
		"it is empty":                      {&uploaded{content: bytes.NewReader(nil)}, "", ErrProgramChanged},
		"the connection breaks":            {&uploaded{content: io.MultiReader(bytes.NewReader(content[:9]), broken{}), size: size}, "", errBroken},
		"it is gone":                       {&uploaded{missing: true}, "", fs.ErrNotExist},
		"its name leads elsewhere":         {&uploaded{content: bytes.NewReader(content), size: size}, "../wordcount", ErrProgramName},
		"its name is a place of its own":   {&uploaded{content: bytes.NewReader(content), size: size}, "/bin/wordcount", ErrProgramName},
		"its name is that of the folder":   {&uploaded{content: bytes.NewReader(content), size: size}, ".", ErrProgramName},
		"its name is the folder's parent":  {&uploaded{content: bytes.NewReader(content), size: size}, "..", ErrProgramName},
		"its name is longer than names go": {&uploaded{content: bytes.NewReader(content), size: size}, string(bytes.Repeat([]byte("x"), 300)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := from(t, test.source)
			dir := filepath.Join(p.Dir, "1")
			program := msg.Program{Name: "wordcount", SHA256: hashOf(content), URI: "hdfs://ns/x"}
			if test.rename != "" {
				program.Name = test.rename
			}
			_, err := p.fetch(t.Context(), FetchProgram{Copy: 1, Program: program}, dir)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			for _, part := range []string{program.Name, program.SHA256, program.URI} {
				if !bytes.Contains([]byte(err.Error()), []byte(part)) {
					t.Errorf("error does not name %s: %v", part, err)
				}
			}
			if _, err := os.Stat(filepath.Join(dir, "wordcount")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("under the program's name there is something: %v", err)
			}
			if read := test.source.read.Load(); read > test.source.size+1 {
				t.Errorf("%d bytes were read of a file of %d", read, test.source.size)
			}
		})
	}
}

func TestProgramsNeedAFileSystem(t *testing.T) {
	t.Parallel()
	e := FetchProgram{Program: msg.Program{Name: "wordcount"}}
	if _, err := (Programs{}).fetch(t.Context(), e, t.TempDir()); !errors.Is(err, errNoPrograms) {
		t.Errorf("got %v, want %v", err, errNoPrograms)
	}
	unreachable := Programs{Open: func(msg.Secret) (Files, error) { return nil, errBroken }}
	if _, err := unreachable.fetch(t.Context(), e, t.TempDir()); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want %v", err, errBroken)
	}
}

// TestCancelledFetchEnds would catch a fetch that waits for a DataNode after the
// job is gone.
func TestCancelledFetchEnds(t *testing.T) {
	t.Parallel()
	reader, writer := io.Pipe() // nobody writes
	defer writer.Close()
	p := from(t, &uploaded{content: reader, size: 9})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("job is gone")
	go cancel(cause)
	if _, err := p.fetch(ctx, FetchProgram{Program: msg.Program{Name: "wordcount"}}, filepath.Join(p.Dir, "1")); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

// TestFetchedProgramRunsWhileOthersAreStarted would catch a program that cannot be
// executed because a child which was forked at the wrong moment has it open for
// writing (ETXTBSY).
func TestFetchedProgramRunsWhileOthersAreStarted(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	ended := make(chan struct{})
	for range 4 {
		go func() {
			defer func() { ended <- struct{}{} }()
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
		}()
	}
	p := from(t, nil)
	p.Open = func(msg.Secret) (Files, error) {
		return &uploaded{content: bytes.NewReader(content), size: int64(len(content))}, nil
	}
	program := msg.Program{Name: "true", SHA256: hashOf(content)}
	for i := range 200 {
		fetched, err := p.fetch(t.Context(), FetchProgram{Program: program}, filepath.Join(p.Dir, fmt.Sprint(i)))
		if err != nil {
			t.Error(err)
			break
		}
		if err := exec.CommandContext(t.Context(), fetched.File).Run(); err != nil {
			t.Errorf("run %d: %v", i, err)
			break
		}
	}
	close(done)
	for range 4 {
		<-ended
	}
}

// BenchmarkFetch fetches a program of the usual size from the local disk: what it
// costs to hash and write it.
func BenchmarkFetch(b *testing.B) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 13<<16) // 13 MiB
	source := filepath.Join(b.TempDir(), "wordcount")
	if err := os.WriteFile(source, content, 0o600); err != nil {
		b.Fatal(err)
	}
	p := Programs{
		Open: func(msg.Secret) (Files, error) { return dfs.New(dfs.Options{}), nil },
		Dir:  b.TempDir(),
	}
	e := FetchProgram{Program: msg.Program{Name: "wordcount", SHA256: hashOf(content), URI: "file://" + source}}
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		dir := filepath.Join(p.Dir, "1")
		if _, err := p.fetch(b.Context(), e, dir); err != nil {
			b.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			b.Fatal(err)
		}
	}
}
