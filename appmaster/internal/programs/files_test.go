package programs

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// filesOf is the Store of the files of the n-th session.
func (a area) filesOf(t *testing.T, n int) *Store {
	t.Helper()
	a.session(t, n) // makes its directory
	return NewFiles(staging.Resume(a.files, "file://"+filepath.Join(a.root, "application_1_000"+string(rune('0'+n))), 0, ids.Source{}), a.files)
}

// TestAFileStaysForItsJobs would catch a file that is removed while a job uses it or before its job comes, one
// that a session of months holds for ever, and a file that goes with a program of the same content.
func TestAFileStaysForItsJobs(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	synctest.Test(t, func(t *testing.T) {
		s, programs := a.filesOf(t, 1), a.session(t, 1)
		text := "cities of the world"
		hash := hashOf([]byte(text))
		if _, err := s.Hold(t.Context(), hash); !errors.Is(err, msg.ErrFileNotFound) {
			t.Errorf("before: %v", err)
		}
		if _, err := s.Add(t.Context(), "cities", hash, strings.NewReader("others")); !errors.Is(err, msg.ErrBadFile) || !strings.Contains(err.Error(), "upload the file again") {
			t.Errorf("another file is added: %v", err)
		}
		if added, err := s.Add(t.Context(), "cities", hash, strings.NewReader(text)); err != nil || added.Size != int64(len(text)) {
			t.Fatalf("added %+v, %v", added, err)
		}
		for range 2 { // two jobs
			if _, err := s.Hold(t.Context(), hash); err != nil {
				t.Error(err)
			}
		}
		next := 0
		another := func() { // the session forgets unused files when another one comes
			next++
			content := strings.Repeat("x", next)
			if _, err := s.Add(t.Context(), "other", hashOf([]byte(content)), strings.NewReader(content)); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(24 * time.Hour)
		s.Release(hash)
		another()
		if _, err := s.Find(t.Context(), hash); err != nil || !strings.Contains(a.left(t), "refs.files/"+hash) {
			t.Errorf("the file is gone while a job uses it: %v, %s", err, a.left(t))
		}
		s.Release(hash)
		another()
		if left := a.left(t); strings.Contains(left, hash) {
			t.Errorf("after the jobs there are %s", left)
		}
		time.Sleep(fileKeep)
		another()
		if got := len(s.List()); got != 3 { // their jobs may still come
			t.Errorf("the session holds %d files, want 3: %s", got, a.left(t))
		}
		time.Sleep(time.Second)
		another()
		if got := len(s.List()); got != 2 {
			t.Errorf("the session holds %d files, want 2: %s", got, a.left(t))
		}

		content := file("one")
		add(t, programs, "one", content)
		if _, err := s.Hold(t.Context(), hashOf(content)); err != nil {
			t.Error(err)
		}
		if err := programs.Remove(t.Context(), hashOf(content)); err != nil {
			t.Error(err)
		}
		if _, err := s.Find(t.Context(), hashOf(content)); err != nil {
			t.Errorf("a file that a job uses went with a program: %v", err)
		}
	})
}

// TestALaterMasterHoldsFilesForAWhile would catch a late ApplicationMaster that takes a file away from the jobs of
// a later one, and files of lost jobs that stay until the session ends.
func TestALaterMasterHoldsFilesForAWhile(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	synctest.Test(t, func(t *testing.T) {
		add := func(s *Store, text string) {
			if _, err := s.Add(t.Context(), "f", hashOf([]byte(text)), strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		add(a.filesOf(t, 1), "cities")
		second, third := a.filesOf(t, 1), a.filesOf(t, 1)
		if err := second.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := second.Hold(t.Context(), hashOf([]byte("cities"))); err != nil {
			t.Fatal(err)
		}
		if err := third.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := a.left(t); !strings.Contains(left, "refs.files/"+hashOf([]byte("cities"))) {
			t.Errorf("there are %s", left)
		}
		time.Sleep(fileKeep + time.Second)
		add(third, "towns")
		if left := a.left(t); strings.Contains(left, hashOf([]byte("cities"))) {
			t.Errorf("there are %s", left)
		}
	})
}
