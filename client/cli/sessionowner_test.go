package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// opened is the session's cluster, opened by alice.
func (s *fakeSession) opened(t *testing.T) *client.Cluster {
	t.Helper()
	return openedBy(t, s.env)
}

// openedBy is the cluster of an environment.
func openedBy(t *testing.T, env map[string]string) *client.Cluster {
	t.Helper()
	p := process(t, env, nil, new(bytes.Buffer), new(bytes.Buffer))
	cluster, err := p.call(nil).open(t.Context(), config.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// TestTheFileOfAnotherClusterIsNotMeant would catch a command that uses an application of this cluster because
// a session on another cluster has the same id.
func TestTheFileOfAnotherClusterIsNotMeant(t *testing.T) {
	s := startFakeSession(t)
	on := s.opened(t)
	here := sessionfile.Owner{ResourceManagers: strings.Join(on.ResourceManagers(), ","), User: on.User}
	const remedy = "): name an application with -id, a target with -t, or start a session here\n"
	for name, c := range map[string]struct {
		owner sessionfile.Owner
		says  string // "": nothing
	}{
		"its own":         {here, ""},
		"another cluster": {sessionfile.Owner{ResourceManagers: "elsewhere:8032", User: "alice"}, " is on ResourceManager elsewhere:8032, but HADOOP_CONF_DIR names " + here.ResourceManagers},
		"another user":    {sessionfile.Owner{ResourceManagers: here.ResourceManagers, User: "bob"}, " belongs to user bob, but this command runs as user alice"},
	} {
		if err := sessionfile.Write(s.path, sessionfile.Session{Application: s.id, Owner: c.owner}); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := command(t, s.env, "status")
		if c.says == "" && (code != ExitOK || !strings.Contains(stdout, s.id.String())) {
			t.Errorf("%s: exit code %d, stderr %q", name, code, stderr)
		}
		if c.says != "" && (code != ExitFailed || !strings.Contains(stderr, s.id.String()+c.says+" ("+s.path+remedy)) {
			t.Errorf("%s: exit code %d, stderr %q", name, code, stderr)
		}
		if code, _, stderr := command(t, s.env, "status", "-id", s.id.String()); code != ExitOK {
			t.Errorf("%s, and the application is named: exit code %d, stderr %q", name, code, stderr)
		}
	}
}
