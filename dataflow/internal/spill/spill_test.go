package spill_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill/spilltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// records draws records of all sizes, more often those at the border of a block.
// Their content is random, or compresses well.
func records(t *rapid.T) [][]byte {
	lengths := rapid.OneOf(
		rapid.IntRange(0, 200),
		rapid.IntRange(0, 3*spill.BlockSize),
		rapid.IntRange(spill.BlockSize-20, spill.BlockSize+20),
		rapid.IntRange(2*spill.BlockSize-20, 2*spill.BlockSize+20),
	)
	random := rand.NewChaCha8([32]byte{rapid.Byte().Draw(t, "seed")})
	var all [][]byte
	for range rapid.IntRange(0, 40).Draw(t, "records") {
		record := make([]byte, lengths.Draw(t, "length"))
		if rapid.Bool().Draw(t, "random") {
			_, _ = random.Read(record)
		}
		all = append(all, record)
	}
	return all
}

func compression(t *rapid.T) spill.Compression {
	return rapid.SampledFrom([]spill.Compression{spill.S2, spill.None}).Draw(t, "compression")
}

// write makes a run of records, each of them in two parts.
func write(dirs *spill.Dirs, records [][]byte) (*spill.Run, error) {
	w := dirs.NewWriter()
	return w.Write(func() error {
		for _, r := range records {
			if err := w.Append(r[:len(r)/3], r[len(r)/3:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// prefix reads until an error, and checks that what it reads is as it was written.
func prefix(t *rapid.T, run *spill.Run, want [][]byte) (n int, err error) {
	reader := run.Open()
	for ; ; n++ {
		got, err := reader.Next()
		if err != nil {
			return n, err
		}
		if n == len(want) || !bytes.Equal(got, want[n]) {
			t.Fatalf("record %d is not the one written", n)
		}
		clear(got) // the caller may change it
	}
}

// Catches a record that is lost, cut or joined at the border of blocks, and wrong
// numbers about a run.
func TestARunReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		disk := &spilltest.Disk{}
		dirs := spill.NewDirs(disk, compression(t), "/a")
		want := records(t)
		run, err := write(dirs, want)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if n, err := prefix(t, run, want); n != len(want) || !errors.Is(err, io.EOF) {
				t.Fatalf("%d records and %v, want %d and EOF", n, err, len(want))
			}
		}
		longest := 0
		for _, r := range want {
			longest = max(longest, len(r))
		}
		if run.Records() != int64(len(want)) || run.Longest() != longest || run.Size() != dirs.Spilled() {
			t.Errorf("run has %d records, longest %d, %d bytes; want %d, %d, %d",
				run.Records(), run.Longest(), run.Size(), len(want), longest, dirs.Spilled())
		}
		if err := run.Close(); err != nil || disk.Open() != 0 {
			t.Errorf("close: %v, %d files are left", err, disk.Open())
		}
	})
}

// Catches a change of a file that the reader does not find, or that makes it return a
// wrong record.
func TestAnyChangeOfAFileIsFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		disk := &spilltest.Disk{}
		want := append(records(t), []byte("last"))
		run, err := write(spill.NewDirs(disk, compression(t), "/a"), want)
		if err != nil {
			t.Fatal(err)
		}
		disk.Edit(func(content []byte) []byte {
			at := rapid.IntRange(0, len(content)-1).Draw(t, "at")
			if rapid.Bool().Draw(t, "truncate") {
				return content[:at]
			}
			content[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			return content
		})
		_, err = prefix(t, run, want)
		if !errors.Is(err, spill.ErrCorrupt) || !strings.Contains(err.Error(), "/a/spill-1, block at byte ") {
			t.Fatalf("error %v, want ErrCorrupt with file and offset", err)
		}
	})
}

// Two blocks of a file exchange their places. Each has a good checksum.
func TestABlockAtAWrongPlaceIsFound(t *testing.T) {
	t.Parallel()
	disk := &spilltest.Disk{}
	first, second := bytes.Repeat([]byte{1}, spill.BlockSize-10), bytes.Repeat([]byte{2}, spill.BlockSize-10)
	run, err := write(spill.NewDirs(disk, spill.None, "/a"), [][]byte{first, second})
	if err != nil {
		t.Fatal(err)
	}
	disk.Edit(func(content []byte) []byte {
		half := len(content) / 2
		return append(content[half:len(content):len(content)], content[:half]...)
	})
	if _, err := run.Open().Next(); !errors.Is(err, spill.ErrCorrupt) {
		t.Errorf("error %v, want ErrCorrupt", err)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
}

var errDisk = errors.New("no space left on device")

// Catches a bad disk that fails a task although another one has space, files that
// are left on it, and an error that does not name the directory.
func TestTheNextDirectoryTakesTheFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bad := map[string]bool{
			"/a": rapid.Bool().Draw(t, "a is bad"),
			"/b": rapid.Bool().Draw(t, "b is bad"),
			"/c": rapid.Bool().Draw(t, "c is bad"),
		}
		at := rapid.SampledFrom([]string{"create", "write"}).Draw(t, "operation")
		disk := &spilltest.Disk{Fault: func(operation, dir string) error {
			if operation == at && bad[dir] {
				return errDisk
			}
			return nil
		}}
		dirs := spill.NewDirs(disk, spill.S2, "/a", "/b", "/c")
		want := append(records(t), []byte("last"))
		for range 3 {
			run, err := write(dirs, want)
			if bad["/a"] && bad["/b"] && bad["/c"] {
				if !errors.Is(err, spill.ErrWrite) || !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "/b") {
					t.Fatalf("error %v, want ErrWrite with directory and cause", err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if n, err := prefix(t, run, want); n != len(want) || !errors.Is(err, io.EOF) {
				t.Fatalf("%d records and %v, want %d and EOF", n, err, len(want))
			}
			if err := run.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if disk.Open() != 0 {
			t.Errorf("%d files are left", disk.Open())
		}
	})
}

// Catches a directory that gets all files, and a failed one that is asked first for
// ever, or never again.
func TestDirectoriesTakeTurns(t *testing.T) {
	t.Parallel()
	var made []string
	full := map[string]bool{"/b": true}
	disk := &spilltest.Disk{Fault: func(operation, dir string) error {
		if operation != "create" {
			return nil
		}
		made = append(made, dir)
		if full[dir] {
			return errDisk
		}
		return nil
	}}
	dirs := spill.NewDirs(disk, spill.S2, "/a", "/b", "/c")
	next := func() string {
		made = nil
		run, err := write(dirs, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Close(); err != nil {
			t.Fatal(err)
		}
		return strings.Join(made, " ")
	}
	for i, want := range []string{"/a", "/b /c", "/c", "/a", "/c"} {
		if got := next(); got != want {
			t.Errorf("file %d was created in %s, want %s", i, got, want)
		}
	}
	full = map[string]bool{"/a": true, "/c": true} // and b has space again
	next()
	if got := next(); got != "/b" {
		t.Errorf("the file was created in %s, want only /b", got)
	}
}

func TestOtherErrorsOfWrite(t *testing.T) {
	t.Parallel()
	disk := &spilltest.Disk{}
	w := spill.NewDirs(disk, spill.S2, "/a", "/b").NewWriter()
	ours := errors.New("of the caller")
	calls := 0
	if _, err := w.Write(func() error { calls++; return ours }); !errors.Is(err, ours) || calls != 1 {
		t.Errorf("error %v after %d calls, want the caller's after one", err, calls)
	}
	huge := make([]byte, spill.MaxRecord/2+1)
	if _, err := w.Write(func() error { return w.Append(huge, huge) }); !errors.Is(err, spill.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	if _, err := write(spill.NewDirs(disk, spill.S2), nil); !errors.Is(err, spill.ErrWrite) {
		t.Errorf("error %v without directories, want ErrWrite", err)
	}
	if disk.Open() != 0 {
		t.Errorf("%d files are left", disk.Open())
	}
}

func TestAReadErrorNamesTheFile(t *testing.T) {
	t.Parallel()
	disk := &spilltest.Disk{Fault: func(operation, _ string) error {
		if operation == "read" {
			return errDisk
		}
		return nil
	}}
	run, err := write(spill.NewDirs(disk, spill.S2, "/a"), [][]byte{{1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Open().Next(); !errors.Is(err, errDisk) || errors.Is(err, spill.ErrCorrupt) || !strings.Contains(err.Error(), "/a/spill-1") {
		t.Errorf("error %v, want the disk's, with the file", err)
	}
	if err := run.Close(); err != nil {
		t.Error(err)
	}
}

// Would catch files that stay after SIGKILL, and errors that do not name a directory.
func TestFilesOfTheSystem(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dirs := spill.NewDirs(spill.OS{}, spill.S2, filepath.Join(dir, "missing"), dir)
	want := [][]byte{[]byte("a"), make([]byte, 5*spill.BlockSize)}
	run, err := write(dirs, want)
	if err != nil {
		t.Fatal(err)
	}
	left := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	if n := left(); n != 0 && runtime.GOOS != "windows" {
		t.Errorf("%d names are left while the file is in use", n)
	}
	reader := run.Open()
	for i, want := range want {
		if got, err := reader.Next(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("record %d: %d bytes, %v", i, len(got), err)
		}
	}
	if err := run.Close(); err != nil || left() != 0 {
		t.Errorf("close: %v, %d names are left", err, left())
	}
	missing := spill.NewDirs(spill.OS{}, spill.S2, filepath.Join(dir, "missing"))
	if _, err := write(missing, nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("error %v, want the system's, with the directory", err)
	}
}

// User code runs while a file is written. It would catch a file that stays open when this code panics: the worker goes on with others.
func TestAPanicLeavesNoFile(t *testing.T) {
	t.Parallel()
	disk := new(spilltest.Disk)
	w := spill.NewDirs(disk, spill.S2, "a").NewWriter()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = w.Write(func() error { panic("user code") })
	}()
	if n := disk.Open(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}
