package programs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// half is a file system that is away when an entry of the cache is to be removed.
type half struct {
	*dfs.FS
	away bool
}

var errAway = errors.New("HDFS is away")

func (h *half) Rename(ctx context.Context, from, to string) error {
	if h.away && strings.Contains(from, "/cache/") {
		return errAway
	}
	return h.FS.Rename(ctx, from, to)
}

// TestAHalfReleasedFileIsHeldAgain would catch a job whose file may vanish under it, because the release of the file has failed
// after its record was removed; and a half-released file that nobody releases any more.
func TestAHalfReleasedFileIsHeldAgain(t *testing.T) {
	t.Parallel()
	a := newArea(t)
	a.session(t, 1) // makes its directory
	files := &half{FS: a.files}
	dir := "file://" + filepath.Join(a.root, "application_1_0001")
	s := NewFiles(staging.Resume(files, dir, dir, 0, ids.Source{}), a.files)
	hash := hashOf([]byte("cities"))
	if _, err := s.Add(t.Context(), "cities", hash, strings.NewReader("cities")); err != nil {
		t.Fatal(err)
	}
	halfReleased := func() {
		t.Helper()
		files.away = true
		if err := s.Remove(t.Context(), hash); !errors.Is(err, errAway) {
			t.Fatalf("removed while HDFS is away: error %v", err)
		}
		files.away = false
		if left := a.left(t); strings.Contains(left, "refs.files/"+hash) || !strings.Contains(left, "cache/"+hash) {
			t.Fatalf("after a half release there are %s", left)
		}
	}
	halfReleased()
	if _, err := s.Hold(t.Context(), hash); err != nil {
		t.Fatal(err)
	}
	if left := a.left(t); !strings.Contains(left, "refs.files/"+hash) {
		t.Errorf("a job uses the file, and there are %s", left)
	}
	if err := s.Remove(t.Context(), hash); !errors.Is(err, msg.ErrFileInUse) {
		t.Errorf("removed under a job: error %v", err)
	}
	s.Release(hash)

	halfReleased()
	if err := os.RemoveAll(filepath.Join(a.root, "cache", hash)); err != nil { // another application has used it last
		t.Fatal(err)
	}
	if _, err := s.Hold(t.Context(), hash); !errors.Is(err, msg.ErrFileNotFound) {
		t.Errorf("a file that is gone: error %v", err)
	}
	if err := s.Remove(t.Context(), hash); err != nil {
		t.Error(err)
	}
	if left, list := a.left(t), s.List(); strings.Contains(left, hash) || len(list) > 0 {
		t.Errorf("at last there are %s, and the session has %+v", left, list)
	}
}
