package prometheus

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// CheckFiles lets Prometheus' own promtool check the alert rules of a folder, and run their unit tests. It would catch a rule
// that Prometheus refuses or warns of, one that fires too early, too late or for another label, and one without a case in
// which it fires.
func CheckFiles(t testing.TB, dir string) {
	t.Helper()
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", rulesFile}, {"test", "rules", ruleTestsFile}} {
		cmd := exec.CommandContext(t.Context(), "promtool", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %q (of Debian's package prometheus; scripts/prepare --all installs it): %v\n%s", args, err, out)
		}
	}
	tested := alertsWithCase(t, dir)
	for _, alert := range alertsOf(t, dir) {
		if !slices.Contains(tested, alert) {
			t.Errorf("%s has no case in which %s fires", ruleTestsFile, alert)
		}
	}
}

// rule is what Prometheus says of an alert rule.
type rule struct{ Name, Health, LastError, State string }

// unknown is the health of a rule that Prometheus has not evaluated yet.
const unknown = "unknown"

// rules returns the alert rules that Prometheus has.
func (s *Server) rules(t testing.TB) (all []rule, err error) {
	var answer struct {
		Data struct {
			Groups []struct{ Rules []rule }
		}
	}
	if err := s.get(wait.Context(t), "/api/v1/rules", &answer); err != nil {
		return nil, err
	}
	for _, g := range answer.Data.Groups {
		all = append(all, g.Rules...)
	}
	return all, nil
}

// checkRules waits until Prometheus has evaluated each alert rule of a folder. All of them must be healthy, and none may fire:
// nothing is wrong with the application.
func (s *Server) checkRules(t testing.TB, dir string) {
	t.Helper()
	alerts := slices.Sorted(slices.Values(alertsOf(t, dir)))
	wait.Satisfied(t, "each alert rule is evaluated and healthy", func() error {
		rules, err := s.rules(t)
		if err != nil {
			return err
		}
		health := make(map[string]rule)
		for _, r := range rules {
			health[r.Name] = r
		}
		if diff := cmp.Diff(alerts, slices.Sorted(maps.Keys(health))); diff != "" {
			return fmt.Errorf("the rules are not those of %s (-want +got): %s", rulesFile, diff)
		}
		for _, r := range rules {
			switch {
			case r.Health == unknown:
				return fmt.Errorf("%s is not evaluated yet", r.Name)
			case r.Health != "ok":
				return fmt.Errorf("%w: the health of %s is %s: %s", wait.ErrGivenUp, r.Name, r.Health, r.LastError)
			case r.State == "firing":
				return fmt.Errorf("%w: %s fires, and nothing is wrong", wait.ErrGivenUp, r.Name)
			}
		}
		return nil
	})
}
