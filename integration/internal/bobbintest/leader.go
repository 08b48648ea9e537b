package bobbintest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// With high availability, an application's directory in the staging area has a directory with the epoch of the
// ApplicationMaster that leads: live-<N>, at the end ended-<N>.

// StagingOf returns the application's directory in the user's staging area.
func (u *User) StagingOf(application string) string {
	return "/user/" + u.Name + "/" + staging.DirName + "/" + application
}

// Reign is the directory of an application's leader, by its name.
type Reign struct {
	Epoch int
	Ended bool
}

// String returns the directory's name.
func (r Reign) String() string {
	if r.Ended {
		return "ended-" + strconv.Itoa(r.Epoch)
	}
	return "live-" + strconv.Itoa(r.Epoch)
}

// Reigns lists the directories of an application's leaders. There is one, or none: before the client has staged the
// application, without high availability, and after the end.
func (u *User) Reigns(ctx context.Context, files *dfs.FS, application string) (found []Reign, err error) {
	entries, err := files.List(ctx, u.StagingOf(application))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		name := path.Base(entry.URI)
		for prefix, ended := range map[string]bool{"live-": false, "ended-": true} {
			number, is := strings.CutPrefix(name, prefix)
			if epoch, err := strconv.Atoi(number); is && err == nil {
				found = append(found, Reign{epoch, ended})
			}
		}
	}
	slices.SortFunc(found, func(a, b Reign) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return found, nil
}

// Successor waits until another ApplicationMaster of the application has replaced this one, and connects to it.
func (u *User) Successor(t testing.TB, application string, before *Master) *Master {
	t.Helper()
	files := u.Files(t)
	wait.For(t, "another attempt of "+application+" runs", func() (bool, error) {
		if app := u.App(t, application); Ended(app) {
			return false, fmt.Errorf("it is %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
		}
		access, err := u.access(t.Context(), files, application)
		return err == nil && access.AMStart != before.Access.AMStart, nil
	})
	return u.Master(t, application)
}

// Attempt returns the number of the application's attempt to which the process's container was granted.
func (p Process) Attempt(t testing.TB) int {
	t.Helper()
	parts := strings.Split(p.Container, "_")
	if len(parts) < 5 {
		t.Fatalf("%q is not the id of a container", p.Container)
	}
	attempt, err := strconv.Atoi(parts[len(parts)-2])
	if err != nil {
		t.Fatalf("%q is not the id of a container: %v", p.Container, err)
	}
	return attempt
}

// ExitCode waits until the shell that YARN has started around a container's process has noted the process's exit code.
// It works while the NodeManager is paused. A NodeManager that runs removes the note soon.
func (u *User) ExitCode(t testing.TB, container string) (code int) {
	t.Helper()
	pattern := filepath.Join(u.Cluster.Dir(), "nodemanager*", "local", "nmPrivate", "*", container, container+".pid.exitcode")
	wait.For(t, "the exit code of "+container, func() (bool, error) {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			return false, err
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			return false, err
		}
		code, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil, err
	})
	return code
}
