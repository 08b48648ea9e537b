package programs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// file has the form of a program's file, without running.
func file(content string) []byte {
	var head [64]byte
	copy(head[:], elf.ELFMAG)
	head[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	head[18] = byte(elf.EM_X86_64)
	return append(head[:], fmt.Sprintf("<bobbin sdk protocol version=%d>%s", jobgraph.ProtocolVersion, content)...)
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// area is a user's staging area on the local disk.
type area struct {
	files *dfs.FS
	root  string
}

func newArea(t *testing.T) area {
	t.Helper()
	files := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = files.Close() })
	return area{files, filepath.Join(t.TempDir(), staging.DirName)}
}

// session is the Store of the n-th session.
func (a area) session(t *testing.T, n int) *Store {
	t.Helper()
	dir := filepath.Join(a.root, fmt.Sprintf("application_1_%04d", n))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return New(staging.Resume(a.files, "file://"+dir, "file://"+dir, 0, ids.Source{}), a.files, elf.EM_X86_64)
}

// left are the files in the area.
func (a area) left(t *testing.T) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(a.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = append(found, strings.TrimPrefix(path, a.root))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func add(t *testing.T, s *Store, name string, content []byte) msg.ProgramDetails {
	t.Helper()
	added, err := s.Add(t.Context(), name, hashOf(content), bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return added
}

// TestAProgramIsUploadedOnce would catch an upload of a program that is already in the cache, and a program
// that a later session does not find.
func TestAProgramIsUploadedOnce(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	content := file("one")
	first, second := a.session(t, 1), a.session(t, 2)
	if _, err := first.Find(t.Context(), hashOf(content)); !errors.Is(err, msg.ErrProgramNotFound) {
		t.Errorf("before: %v", err)
	}
	added := add(t, first, "one", content)
	if added.Size != int64(len(content)) || added.Name != "one" || added.SHA256 != hashOf(content) || added.Uploaded.IsZero() {
		t.Errorf("added %+v", added)
	}
	found, err := second.Find(t.Context(), hashOf(content))
	if err != nil || found != added {
		t.Errorf("another session finds %+v, %v; want %+v", found, err, added)
	}
	if list := second.List(); len(list) > 0 {
		t.Errorf("a session that only looked has %v", list)
	}
	unread := readerFunc(func([]byte) (int, error) { t.Error("it is read again"); return 0, io.EOF })
	again, err := second.Add(t.Context(), "other", hashOf(content), unread)
	if err != nil || again != added {
		t.Errorf("added again %+v, %v; want %+v", again, err, added)
	}
	// Without a hash the program must be read, although it is in the cache.
	if again, err = second.Add(t.Context(), "other", "", bytes.NewReader(content)); err != nil || again != added {
		t.Errorf("added without a hash %+v, %v; want %+v", again, err, added)
	}
	want := fmt.Sprintf("/application_1_0001/refs.d/%[1]s /application_1_0002/refs.d/%[1]s /cache/%[1]s/one", hashOf(content))
	if got := a.left(t); got != want {
		t.Errorf("there are %s, want %s", got, want)
	}
}

// TestAProgramThatArrivesIsWaitedFor would catch a program that is uploaded once for each of many users at
// the same time, and users who wait for ever for an upload that broke off.
func TestAProgramThatArrivesIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newArea(t).session(t, 1)
	content := file("wanted")
	first, cut := io.Pipe()
	var users sync.WaitGroup
	users.Go(func() {
		if _, err := s.Add(t.Context(), "wanted", hashOf(content), first); !errors.Is(err, errCut) {
			t.Errorf("the first gets %v, want its own error", err)
		}
	})
	if _, err := cut.Write(content[:10]); err != nil { // the program is being read
		t.Fatal(err)
	}
	reads := make(chan struct{}, 10)
	for range cap(reads) {
		users.Go(func() {
			rest := bytes.NewReader(content)
			_, err := s.Add(t.Context(), "wanted", hashOf(content), readerFunc(func(p []byte) (int, error) {
				if rest.Len() == len(content) {
					reads <- struct{}{}
				}
				return rest.Read(p)
			}))
			if err != nil {
				t.Error(err)
			}
		})
	}
	impatient, leave := context.WithCancelCause(t.Context())
	leave(errCut)
	if _, err := s.Add(impatient, "wanted", hashOf(content), first); !errors.Is(err, errCut) {
		t.Errorf("who does not wait gets %v, want the cause", err)
	}
	_ = cut.CloseWithError(errCut)
	users.Wait()
	if len(reads) != 1 {
		t.Errorf("the program is read %d times, want once", len(reads))
	}
}

var errCut = errors.New("connection is cut")

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestWhatIsNoProgramIsRefused would catch a file in the cache under the hash of another file, a file that
// no worker can start, and files left by an upload that broke off.
func TestWhatIsNoProgramIsRefused(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	s := a.session(t, 1)
	good := file("good")
	foreign := file("foreign")
	foreign[18] = byte(elf.EM_AARCH64)
	broken := errors.New("connection is lost")
	for name, test := range map[string]struct {
		sha256  string
		content io.Reader
		want    error
	}{
		"another one":         {hashOf([]byte("x")), bytes.NewReader(good), msg.ErrBadProgram},
		"half of it":          {hashOf(good), bytes.NewReader(good[:len(good)-1]), msg.ErrBadProgram},
		"a script":            {"", strings.NewReader("#!/bin/sh\necho " + string(good[64:])), msg.ErrBadProgram},
		"without the SDK":     {"", bytes.NewReader(good[:64]), msg.ErrBadProgram},
		"of another platform": {"", bytes.NewReader(foreign), msg.ErrBadProgram},
		"nothing":             {"", strings.NewReader(""), msg.ErrBadProgram},
		"one that breaks off": {"", io.MultiReader(bytes.NewReader(good), readerFunc(func([]byte) (int, error) { return 0, broken })), broken},
	} {
		if _, err := s.Add(t.Context(), "p", test.sha256, test.content); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
	if left := a.left(t); left != "" || len(s.List()) > 0 {
		t.Errorf("left behind: %s, %v", left, s.List())
	}
}

// TestAProgramStaysForItsJobs would catch a program that is removed while a job or another session uses it,
// and an unused program that stays.
func TestAProgramStaysForItsJobs(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	content := file("one")
	hash := hashOf(content)
	first, second := a.session(t, 1), a.session(t, 2)
	added := add(t, first, "one", content)
	for range 2 {
		held, err := first.Hold(t.Context(), hash)
		if err != nil || held != added.Program {
			t.Errorf("held %+v, %v; want %+v", held, err, added.Program)
		}
	}
	first.Release(hash)
	if err := first.Remove(t.Context(), hash); !errors.Is(err, msg.ErrProgramInUse) {
		t.Errorf("removed while a job runs: %v", err)
	}
	first.Release(hash)
	if _, err := second.Hold(t.Context(), hash); err != nil {
		t.Error(err)
	}
	if err := first.Remove(t.Context(), hash); err != nil {
		t.Error(err)
	}
	if _, err := second.Fetch(t.Context(), added.Program, t.TempDir()); err != nil {
		t.Errorf("it is taken away from another session: %v", err)
	}
	second.Release(hash)
	if err := second.Remove(t.Context(), hash); err != nil {
		t.Error(err)
	}
	if _, err := second.Hold(t.Context(), hash); !errors.Is(err, msg.ErrProgramNotFound) {
		t.Errorf("a removed program is held: %v", err)
	}
	if left := a.left(t); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// TestALaterMasterKnowsThePrograms would catch a session that loses its programs with its first
// ApplicationMaster.
func TestALaterMasterKnowsThePrograms(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	s := a.session(t, 1)
	b, c := add(t, s, "b", file("1")), add(t, s, "c", file("2"))
	gone := add(t, s, "a", file("3"))
	if err := os.RemoveAll(filepath.Join(a.root, "cache", gone.SHA256)); err != nil {
		t.Fatal(err)
	}
	next := a.session(t, 1)
	if err := next.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(next.List()), fmt.Sprint([]msg.ProgramDetails{b, c}); got != want {
		t.Errorf("programs are %s, want %s", got, want)
	}
}

// TestAProgramThatOthersMayReplaceIsNotRun would catch a session that runs a program which other users may
// have replaced in the cache, and a session that does not start because of such a program.
func TestAProgramThatOthersMayReplaceIsNotRun(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	one, two := add(t, a.session(t, 1), "one", file("one")), add(t, a.session(t, 1), "two", file("two"))
	if err := os.Chmod(filepath.Join(a.root, "cache", one.SHA256), 0o777); err != nil {
		t.Fatal(err)
	}
	next := a.session(t, 1)
	if err := next.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := next.List(); len(list) != 1 || list[0] != two {
		t.Errorf("the session has %v, want %v", list, two)
	}
	_, found := next.Find(t.Context(), one.SHA256)
	_, held := next.Hold(t.Context(), one.SHA256)
	_, added := next.Add(t.Context(), "one", one.SHA256, bytes.NewReader(file("one")))
	for name, err := range map[string]error{"found": found, "held": held, "added": added} {
		if !errors.Is(err, staging.ErrExposed) {
			t.Errorf("it is %s: %v, want %v", name, err, staging.ErrExposed)
		}
	}
}

// TestFetchedProgramsAreWhatTheyWere would catch a driver that runs a file that was put in a program's
// place.
func TestFetchedProgramsAreWhatTheyWere(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	s := a.session(t, 1)
	content := file("one")
	added, dir := add(t, s, "one", content), t.TempDir()
	path, err := s.Fetch(t.Context(), added.Program, dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || !bytes.Equal(got, content) || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("fetched %d bytes with mode %v, %v", len(got), info.Mode(), err)
	}
	place := strings.TrimPrefix(added.URI, "file://")
	if err := errors.Join(os.Remove(path), os.Chmod(place, 0o700), os.WriteFile(place, file("two"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Fetch(t.Context(), added.Program, dir); !errors.Is(err, program.ErrChanged) {
		t.Errorf("another program is fetched: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestManyAtOnce would catch programs that get lost, or whose jobs are miscounted, when users send requests
// at the same time; the race detector helps.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	s := a.session(t, 1)
	content := file("one")
	hash := hashOf(content)
	var users sync.WaitGroup
	for i := range 20 {
		users.Go(func() {
			sha256 := hash
			if i%2 == 0 {
				sha256 = ""
			}
			if _, err := s.Add(context.WithoutCancel(t.Context()), fmt.Sprint("p", i), sha256, bytes.NewReader(content)); err != nil {
				t.Error(err)
			}
			if _, err := s.Hold(t.Context(), hash); err != nil {
				t.Error(err)
			}
			if err := s.Remove(t.Context(), hash); !errors.Is(err, msg.ErrProgramInUse) {
				t.Errorf("removed while a job runs: %v", err)
			}
			s.List()
		})
	}
	users.Wait()
	for range 20 {
		s.Release(hash)
	}
	if err := s.Remove(t.Context(), hash); err != nil {
		t.Error(err)
	}
	if left := a.left(t); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// TestASessionLetsGoOfOldPrograms would catch a session that refuses new builds of its programs after a
// year, or forgets a program that a job uses.
func TestASessionLetsGoOfOldPrograms(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	s := a.session(t, 1)
	old, held := file("old"), file("held")
	numbered := func(n int) string { return fmt.Sprintf("%064x", n) }
	add(t, s, "held", held)
	if _, err := s.Hold(t.Context(), hashOf(held)); err != nil {
		t.Fatal(err)
	}
	add(t, s, "old", old)
	for n := range maxPrograms - 2 {
		s.learn(staging.Entry{SHA256: numbered(n)}, time.Time{})
	}
	for _, name := range []string{"new", "newer", "old"} {
		add(t, s, name, file(name))
		if list := s.List(); len(list) != maxPrograms {
			t.Errorf("with %s the session knows %d programs, want %d", name, len(list), maxPrograms)
		}
	}
	// The oldest program was dropped first, and then another one when the oldest was needed again.
	for name, want := range map[string]bool{hashOf(held): true, hashOf(old): true, numbered(0): false, numbered(1): false, numbered(2): true} {
		if _, is := s.known[name]; is != want {
			t.Errorf("the session knows %s: %t, want %t", name, is, want)
		}
	}
	for _, k := range s.known {
		k.jobs++
	}
	if _, err := s.Add(t.Context(), "late", "", bytes.NewReader(file("late"))); !errors.Is(err, msg.ErrTooManyPrograms) {
		t.Errorf("a program beyond those that are all in use: %v", err)
	}
	if _, err := s.Hold(t.Context(), hashOf(held)); err != nil {
		t.Errorf("a job of one of them: %v", err)
	}
	if again, err := s.Add(t.Context(), "held", "", bytes.NewReader(held)); err != nil || again.SHA256 != hashOf(held) {
		t.Errorf("one of them again: %+v, %v", again, err)
	}
	if left := a.left(t); strings.Contains(left, "late") || strings.Contains(left, "/.") {
		t.Errorf("there are %s", left)
	}
}

// TestWhatCannotBeReleasedIsKnown would catch a program that the session holds in the cache for ever, because HDFS did not answer
// when it should go, and one of which the second attempt to remove it says that it is not there.
func TestWhatCannotBeReleasedIsKnown(t *testing.T) {
	t.Parallel()
	const stays = "no hash, so that its release fails"
	s := newArea(t).session(t, 1)
	s.most = 1
	s.learn(staging.Entry{SHA256: stays}, time.Time{})
	for range 2 {
		if _, err := s.Add(t.Context(), "new", "", bytes.NewReader(file("new"))); !errors.Is(err, staging.ErrNoHash) {
			t.Errorf("a program in its place: %v", err)
		}
		if err := s.Remove(t.Context(), stays); !errors.Is(err, staging.ErrNoHash) {
			t.Errorf("removed: %v", err)
		}
	}
	if list := s.List(); len(list) != 1 || list[0].SHA256 != stays {
		t.Errorf("the session knows %v", list)
	}
}
