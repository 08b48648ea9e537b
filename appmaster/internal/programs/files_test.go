package programs

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// filesOf is the Store of the files of the n-th session.
func (a area) filesOf(t *testing.T, n int) *Store {
	t.Helper()
	a.session(t, n) // makes its directory
	dir := "file://" + filepath.Join(a.root, "application_1_000"+string(rune('0'+n)))
	return NewFiles(staging.Resume(a.files, dir, dir, 0, ids.Source{}), a.files)
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
		if left := a.left(t); !strings.Contains(left, "refs.files/"+hash) || !strings.Contains(left, "cache/"+hash) {
			t.Errorf("the file is gone while a job uses it: %s", left)
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

// TestAnIdleFileGoesWithoutAnother would catch a file that stays in the session although no other file arrives and one
// that goes while a job uses it.
func TestAnIdleFileGoesWithoutAnother(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	synctest.Test(t, func(t *testing.T) {
		s := a.filesOf(t, 1)
		logger, _ := logtest.NewNullLogger()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go s.Watch(ctx, logger)
		hash := hashOf([]byte("cities"))
		if _, err := s.Add(ctx, "cities", hash, strings.NewReader("cities")); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Hold(ctx, hash); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if left := a.left(t); !strings.Contains(left, "refs.files/"+hash) {
			t.Errorf("a job uses the file, and there are %s", left)
		}
		s.Release(hash)
		time.Sleep(fileKeep + fileKeep/5)
		if left := a.left(t); strings.Contains(left, hash) {
			t.Errorf("after the job there are %s", left)
		}
	})
}

// late is a content that arrives after a time.
type late struct {
	after time.Duration
	io.Reader
}

func (l *late) Read(b []byte) (int, error) {
	time.Sleep(l.after)
	l.after = 0
	return l.Reader.Read(b)
}

// TestSlowUploadsBecomeAJob would catch a session that drops the first file of a job before the job's last one is
// there, or a file of which it has just told a client that it has it. The client would upload for ever. It would also
// catch files that stay for ever because uploads were slow once.
func TestSlowUploadsBecomeAJob(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	synctest.Test(t, func(t *testing.T) {
		s := a.filesOf(t, 1)
		hash := func(text string) string { return hashOf([]byte(text)) }
		upload := func(text string, lasts time.Duration) {
			if _, err := s.Add(t.Context(), text, hash(text), &late{lasts, strings.NewReader(text)}); err != nil {
				t.Error(err)
			}
		}
		const slow = fileKeep + time.Minute
		upload("A", slow)
		var other sync.WaitGroup
		other.Go(func() { upload("other", slow+time.Minute) }) // of another client
		upload("B", slow)
		other.Wait()
		for _, text := range []string{"A", "B"} {
			if _, err := s.Hold(t.Context(), hash(text)); err != nil {
				t.Errorf("the job's file %s: %v", text, err)
			}
			s.Release(hash(text))
		}
		time.Sleep(fileKeep)
		if _, err := s.Find(t.Context(), hash("A")); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		upload("next", slow)
		if held := s.List(); len(held) != 2 || held[0].Name != "A" || held[1].Name != "next" {
			t.Errorf("the session holds %+v, want A, for which a client has asked, and the next file", held)
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
