package kerberos

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// The test would catch an example that works only on open clusters: without a ticket, without a token for the
// NodeManagers, or with tokens that its ApplicationMaster does not find.
func TestTheExamplesWithKerberos(t *testing.T) {
	t.Parallel()
	somebody := suite.User(t, alice)
	run := func(u *bobbintest.User, program string, args ...string) bobbintest.Outcome {
		return u.StartProgram(t, suite.Program(t, program), args...).Wait(t)
	}
	for program, args := range map[string][]string{"applications": nil, "distributedshell": {"true"}} {
		if got := run(somebody.WithoutTicket(), program, args...); got.Code != 1 || !strings.Contains(got.Stderr, "run kinit") {
			t.Errorf("%s without a ticket: want code 1 and the remedy, got %s", program, got)
		}
	}
	got := run(somebody, "distributedshell", "-copies", "2", "true")
	if got.Code != 0 || !strings.Contains(got.Stdout+got.Stderr, "all copies have run") {
		t.Fatalf("distributedshell: %s", got)
	}
	list := run(somebody, "applications", "-user", alice)
	if id := got.Application(t); list.Code != 0 || !strings.Contains(list.Stdout, id) {
		t.Errorf("applications: want %s in %s", id, list)
	}
	// This confirms the example's error text: the ResourceManager sends nobody the token of an unmanaged master.
	if got := run(somebody, "shell", "true"); got.Code != 1 || !strings.Contains(got.Stderr, "use distributedshell") {
		t.Errorf("shell: %s", got)
	}
}
