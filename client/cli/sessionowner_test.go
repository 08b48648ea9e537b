package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// opened is the session's cluster as alice opens it.
func (s *fakeSession) opened(t *testing.T) *client.Cluster {
	t.Helper()
	return openedBy(t, s.env)
}

// openedBy is the cluster that an environment names.
func openedBy(t *testing.T, env map[string]string) *client.Cluster {
	t.Helper()
	p := process(t, env, nil, new(bytes.Buffer), new(bytes.Buffer))
	cfg, err := options(p)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := open(t.Context(), p, cfg)
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

// TestTheFileOfAnotherClusterIsNotMeant would catch a command that goes to an application of this cluster because it has
// the id of a session on another.
func TestTheFileOfAnotherClusterIsNotMeant(t *testing.T) {
	s := startFakeSession(t)
	here := owner(s.opened(t))
	const remedy = "): name an application with -id, a target with -t, or start a session here\n"
	for name, c := range map[string]struct {
		owner sessionfile.Owner
		says  string // "": nothing
	}{
		"its own":         {here, ""},
		"another cluster": {sessionfile.Owner{ResourceManagers: "elsewhere:8032", User: "alice"}, " is on ResourceManager elsewhere:8032, and HADOOP_CONF_DIR names " + here.ResourceManagers},
		"another user":    {sessionfile.Owner{ResourceManagers: here.ResourceManagers, User: "bob"}, " is user bob's, and this command is user alice's"},
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

// TestASecondSessionTellsOfTheFirst would catch jobs that go elsewhere than yesterday, without a word, a session that
// nobody thinks of any more, and one of another cluster that is told as going on, and with a command that does not end it.
func TestASecondSessionTellsOfTheFirst(t *testing.T) {
	s := startFakeSession(t)
	l := launcher{cluster: s.opened(t)}
	forgotten := s.id
	forgotten.ID++
	started := s.id
	started.ID += 2
	told := func(before sessionfile.Session) string {
		var out bytes.Buffer
		l.say = progress.New(&out)
		l.replaced(t.Context(), s.path, started, before)
		return out.String()
	}
	now := " in " + s.path + "; commands without -id now use " + started.String() + ". "
	want := "session " + started.String() + " replaces session " + s.id.String() + now + "To end session " + s.id.String() + ": bobbin session stop -id " + s.id.String() + "\n"
	here := owner(l.cluster)
	if got := told(sessionfile.Session{Application: s.id, Owner: here}); got != want {
		t.Errorf("one that runs: %q, want %q", got, want)
	}
	for place, owner := range map[string]sessionfile.Owner{
		"elsewhere:1 (user carol)":            {ResourceManagers: "elsewhere:1", User: "carol"},
		"elsewhere:1":                         {ResourceManagers: "elsewhere:1"},
		here.ResourceManagers + " (user bob)": {User: "bob"},
	} {
		want := "session " + started.String() + " replaces session " + forgotten.String() + " on ResourceManager " + place + now +
			"If session " + forgotten.String() + " still runs, end it from there: bobbin session stop -id " + forgotten.String() + "\n"
		if got := told(sessionfile.Session{Application: forgotten, Owner: owner}); got != want {
			t.Errorf("one that this cluster cannot be asked of: %q, want %q", got, want)
		}
	}
	if got := told(sessionfile.Session{}) + told(sessionfile.Session{Application: forgotten, Owner: here}); got != "" {
		t.Errorf("none, and one that YARN has forgotten: %q", got)
	}
	s.finish(t, records.FinalSucceeded, "")
	if got := told(sessionfile.Session{Application: s.id, Owner: here}); got != "" {
		t.Errorf("one that has ended: %q", got)
	}
}
