package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// reader follows a page.
type reader struct {
	place *workplace
	env   []string         // beside the workplace
	hdfs  *cluster.Cluster // nil if there is none yet
	users []string         // users whose applications on it may be the reader's
	named bool             // true if others use these names too: then only the applications that the page's commands name are the reader's
	login []string         // flags for bobbin, because the reader may have no ticket
}

// read follows a page to its end. It returns the errors: a command that fails, an application or a job with another
// result than the page shows, something that still runs.
func (r *reader) read(t testing.TB, p page) error {
	t.Helper()
	if err := syntax(t, p); err != nil {
		return err
	}
	shell := openTerminal(t, r.place, r.env)
	var seen ledger
	t.Cleanup(func() { r.end(t, seen.last) })
	for _, b := range p.blocks {
		failed := shell.run(t, b)
		if failed == nil && !strings.HasSuffix(shell.shown(), b.prints) {
			failed = fmt.Errorf("the block\n%sends with other lines than\n%s", b.text, b.prints)
		}
		c, err := r.cluster()
		if err == nil {
			var apps []started
			apps, err = r.started(t, c, shell.shown())
			err = errors.Join(err, seen.look(b, apps))
		}
		if errors.Is(err, cluster.ErrNotRunning) {
			err = nil // none yet, or none any more
		}
		if err := errors.Join(failed, err); err != nil {
			return fmt.Errorf("%w\nThe terminal shows\n%s", err, shell.shown())
		}
	}
	if err := errors.Join(seen.close(), shell.close()); err != nil {
		return fmt.Errorf("%w\nThe terminal shows\n%s", err, shell.shown())
	}
	return nil
}

// cluster returns the reader's cluster: the tests', or one that the page has started.
func (r *reader) cluster() (*cluster.Cluster, error) {
	if r.hdfs != nil {
		return r.hdfs, nil
	}
	return cluster.Find(r.place.ownCluster())
}

// started lists the reader's applications, with the jobs of running ones.
func (r *reader) started(t testing.TB, c *cluster.Cluster, shown string) ([]started, error) {
	t.Helper()
	queries := []string{""}
	if len(r.users) > 0 {
		queries = nil
		for _, name := range r.users {
			queries = append(queries, "?user="+url.QueryEscape(name))
		}
	}
	var list []started
	for _, query := range queries {
		var answer struct {
			Apps *struct{ App []cluster.RMApp } // null if there are none
		}
		wait.For(t, "the applications", func() (bool, error) {
			err := c.RM().Get(wait.Context(t), "apps"+query, &answer)
			return err == nil, err
		})
		if answer.Apps == nil {
			continue
		}
		for _, app := range answer.Apps.App {
			if r.named && !strings.Contains(shown, app.ID) {
				continue
			}
			told, err := r.ask(t, c, started{RMApp: app})
			if err != nil {
				return nil, err
			}
			list = append(list, told)
		}
	}
	return list, nil
}

// ask asks a running application for its jobs. It is no error if the application ends meanwhile.
func (r *reader) ask(t testing.TB, c *cluster.Cluster, app started) (_ started, err error) {
	t.Helper()
	wait.For(t, "the jobs of "+app.ID, func() (bool, error) {
		if app.ended() || app.Type != "Bobbin" {
			return true, nil
		}
		var out string
		if out, err = r.bobbin(wait.Context(t), c, "list", "-a", "-id", app.ID, "-o", "json"); err == nil {
			return true, json.Unmarshal([]byte(out), &struct{ Jobs *[]job }{&app.jobs})
		}
		app.RMApp, err = c.RM().App(wait.Context(t), app.ID)
		return false, err
	})
	return app, err
}

// bobbin runs a bobbin command on a cluster, as the reader.
func (r *reader) bobbin(ctx context.Context, c *cluster.Cluster, words ...string) (string, error) {
	cmd := r.place.command(ctx, filepath.Join(r.place.repo, "bin", "bobbin"), slices.Concat(words[:1], r.login, words[1:])...)
	cmd.Env = append(slices.Concat(cmd.Env, r.env), "HADOOP_CONF_DIR="+c.ConfDir())
	return output(cmd)
}

// end kills the applications that a failed page has left.
func (r *reader) end(t testing.TB, apps []started) {
	t.Helper()
	for _, app := range apps {
		if app.ended() {
			continue
		}
		c, err := r.cluster()
		if err == nil {
			_, err = r.bobbin(wait.Context(t), c, "kill", app.ID)
		}
		if err != nil {
			t.Logf("end application %s: %v", app.ID, err)
		}
	}
}
