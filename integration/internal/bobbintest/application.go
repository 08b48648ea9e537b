package bobbintest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// App returns the ResourceManager's view of an application, from its REST API.
func (u *User) App(t testing.TB, application string) cluster.RMApp {
	t.Helper()
	return wait.Answer(t, "the state of "+application, func() (cluster.RMApp, error) {
		return u.Cluster.RM().App(wait.Context(t), application)
	})
}

// Report returns the ResourceManager's report of an application, as YARN's clients get it.
func (u *User) Report(t testing.TB, application string) records.ApplicationReport {
	t.Helper()
	id, err := records.ParseApplicationID(application)
	if err != nil {
		t.Fatal(err)
	}
	yarn := u.Client(t).YARN
	return wait.Answer(t, "YARN's report of "+application, func() (records.ApplicationReport, error) {
		return yarn.ApplicationReport(wait.Context(t), id)
	})
}

// Ended reports whether an application has ended for YARN.
func Ended(app cluster.RMApp) bool {
	return app.State == "FINISHED" || app.State == "FAILED" || app.State == "KILLED"
}

// WaitBegun waits until YARN says that an application runs or has ended.
func (u *User) WaitBegun(t testing.TB, application string) cluster.RMApp {
	t.Helper()
	return u.waitApp(t, application, "runs, or has ended", func(app cluster.RMApp) bool { return app.State == "RUNNING" || Ended(app) })
}

// WaitEnded waits until an application has ended for YARN.
func (u *User) WaitEnded(t testing.TB, application string) cluster.RMApp {
	t.Helper()
	return u.waitApp(t, application, "has ended", Ended)
}

func (u *User) waitApp(t testing.TB, application, what string, is func(cluster.RMApp) bool) (app cluster.RMApp) {
	t.Helper()
	wait.For(t, application+" "+what, func() (bool, error) {
		app = u.App(t, application)
		return is(app), nil
	})
	return app
}

// WaitLogs waits until YARN has aggregated an application's logs.
func (u *User) WaitLogs(t testing.TB, application string) {
	t.Helper()
	wait.For(t, "logs of "+application+" are aggregated", func() (bool, error) {
		switch status := u.App(t, application).LogAggregation; status {
		case "SUCCEEDED":
			return true, nil
		case "FAILED", "DISABLED", "TIME_OUT":
			return false, fmt.Errorf("log aggregation is %s", status)
		default:
			return false, nil
		}
	})
}

// Apps lists the user's applications with one name, in any state.
func (u *User) Apps(t testing.TB, name string) []cluster.RMApp {
	t.Helper()
	return slices.DeleteFunc(u.AllApps(t), func(a cluster.RMApp) bool { return a.Name != name })
}

// AllApps lists all applications of the user that YARN remembers.
func (u *User) AllApps(t testing.TB) []cluster.RMApp {
	t.Helper()
	return wait.Answer(t, "the user's applications", func() ([]cluster.RMApp, error) {
		var answer struct {
			Apps *struct{ App []cluster.RMApp } // null if there are none
		}
		err := u.Cluster.RM().Get(wait.Context(t), "apps?user="+u.Name, &answer) // limited to the user: YARN has hundreds
		if err != nil || answer.Apps == nil {
			return nil, err
		}
		return answer.Apps.App, nil
	})
}

// Staging is the content of the user's staging area.
type Staging struct {
	Applications []string // ids
	Cache        []string // <sha256>/<name>, and <sha256>/.<random> of uploads under way
}

// Staging lists the user's staging area.
func (u *User) Staging(t testing.TB) Staging {
	t.Helper()
	files := u.Files(t)
	root := "/user/" + u.Name + "/.bobbin"
	var s Staging
	for _, entry := range list(t, files, root) {
		if name := path.Base(entry.URI); name != "cache" {
			s.Applications = append(s.Applications, name)
		}
	}
	for _, hash := range list(t, files, root+"/cache") {
		for _, file := range list(t, files, hash.URI) {
			s.Cache = append(s.Cache, path.Base(hash.URI)+"/"+path.Base(file.URI))
		}
	}
	return s
}

// list lists a directory. A directory that does not exist is empty.
func list(t testing.TB, files filesystem.FileSystem, dir string) []filesystem.FileInfo {
	t.Helper()
	entries, err := files.List(t.Context(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return entries
}

// CheckGone fails the test if an ended application has left processes, containers on YARN, or its
// staging directory. It waits for the end of processes and containers.
func (u *User) CheckGone(t testing.TB, application string) {
	t.Helper()
	WaitNoProcesses(t, application)
	wait.For(t, application+" holds no container", func() (bool, error) {
		app := u.App(t, application)
		return app.RunningContainers <= 0 && app.AllocatedMB <= 0, nil // -1 after its end
	})
	if left := u.Staging(t).Applications; slices.Contains(left, application) {
		t.Errorf("the staging directory of %s still exists: %v", application, left)
	}
}
