// Package doctor tests `bobbin doctor` like a person uses it, against real daemons and a real KDC. They are healthy, or
// a test damages them.
package doctor

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client/doctor"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

var suite = bobbintest.NewSuite(clusters.Open)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// examined holds the command's findings, by check.
type examined struct {
	outcome bobbintest.Outcome
	checks  map[string]doctor.Result
}

// examine runs `bobbin doctor` with further arguments, and with long timeouts for a busy machine. Its exit code must
// match its text.
func examine(t *testing.T, u *bobbintest.User, args ...string) examined {
	t.Helper()
	got := examined{u.Run(t, append([]string{"doctor", "-o", "json", "-D", "client.timeout=3min"}, args...)...), make(map[string]doctor.Result)}
	var told struct {
		Status doctor.Status
		Checks []doctor.Result
	}
	if err := json.Unmarshal([]byte(got.outcome.Stdout), &told); err != nil {
		t.Fatalf("%v\n%s", err, got.outcome)
	}
	for _, r := range told.Checks {
		got.checks[r.Name] = r
	}
	if (got.outcome.Code == 0) != (told.Status != doctor.Failed) || got.outcome.Stderr != "" {
		t.Errorf("%s\n%s", told.Status, got.outcome)
	}
	return got
}

// wants checks the status of a check, and that a finding with that status contains both texts.
func (e examined) wants(t *testing.T, check string, status doctor.Status, text, remedy string) {
	t.Helper()
	r := e.checks[check]
	has := slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool {
		return f.Status == status && strings.Contains(f.Text, text) && strings.Contains(f.Remedy, remedy)
	})
	if r.Status != status || !has {
		t.Errorf("%s: want %s, %q -> %q in\n%s", check, status, text, remedy, e.outcome.Stdout)
	}
}

// well checks that a check found no error.
func (e examined) well(t *testing.T, checks ...string) {
	t.Helper()
	for _, check := range checks {
		if r := e.checks[check]; r.Status != doctor.OK {
			t.Errorf("%s is %s: %+v", check, r.Status, r.Findings)
		}
	}
}
