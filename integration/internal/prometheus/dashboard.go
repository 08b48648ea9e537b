package prometheus

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// empty are the expressions of the dashboard that have no data while one job runs and nothing is wrong, each with its reason.
// All others must have some.
var empty = map[string]string{ //nolint:gochecknoglobals // a constant table
	`sum by (cause) (rate(bobbin_jobmanager_Yarn_containersCompleted{instance=~"$instance"}[5m])) * 60`: "no container has ended",
	`bobbin_jobmanager_job_restartingTime{instance=~"$instance"} > 0`:                                   "no job is RESTARTING",
	`bobbin_jobmanager_job_createdTime{instance=~"$instance"} > 0`:                                      "no job is CREATED",
	`bobbin_jobmanager_job_deployingTime{instance=~"$instance"} > 0`:                                    "a task is RUNNING",
}

// checkDashboard evaluates each expression of a folder's dashboard as Grafana does, and waits until it has data with the labels
// of its legend. It would catch an expression that Prometheus refuses, a panel that stays empty because names or labels do not
// match, and a legend of a label that no series has.
func (s *Server) checkDashboard(t testing.TB, dir string) {
	t.Helper()
	d := dashboardOf(t, dir)
	filled := s.variables(t, d)
	targets := d.targets()
	for _, one := range targets {
		expression := filled.Replace(one.Expression)
		if strings.Contains(expression, "$") {
			t.Errorf("panel %q: the test does not know a variable of %s", one.panel, one.Expression)
			continue
		}
		_, mayBeEmpty := empty[one.Expression]
		wait.Satisfied(t, fmt.Sprintf("panel %q has data of %s", one.panel, expression), func() error {
			series, err := s.Query(wait.Context(t), expression)
			if err != nil || mayBeEmpty {
				return err
			}
			if len(series) == 0 {
				return errors.New("it has no series")
			}
			for _, label := range one.labels() {
				if !slices.ContainsFunc(series, func(s Series) bool { return s.Labels[label] != "" }) {
					return fmt.Errorf("no series has the label %s of the legend %q: %v", label, one.Legend, series)
				}
			}
			return nil
		})
	}
	for expression := range empty {
		if !slices.ContainsFunc(targets, func(one target) bool { return one.Expression == expression }) {
			t.Errorf("the dashboard has no expression %s, and the test knows a reason why it is empty", expression)
		}
	}
}

// variables waits until each variable of the dashboard has a value, and returns what fills in all its values, as Grafana does for
// the choice All.
func (s *Server) variables(t testing.TB, d dashboard) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, v := range d.Templating.List {
		if v.Type != "query" { // the data source, which is this server
			continue
		}
		metric, label, err := v.valuesOf()
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Data []string }
		wait.Satisfied(t, "the dashboard's variable "+v.Name+" has a value", func() error {
			if err := s.get(wait.Context(t), "/api/v1/label/"+label+"/values?match[]="+url.QueryEscape(metric), &answer); err != nil {
				return err
			}
			if len(answer.Data) == 0 {
				return errors.New("it has none")
			}
			return nil
		})
		values := answer.Data
		for i, value := range values {
			values[i] = strings.ReplaceAll(regexp.QuoteMeta(value), `\`, `\\`) // in a string of the expression
		}
		pairs = append(pairs, "$"+v.Name, "("+strings.Join(values, "|")+")")
	}
	if len(pairs) == 0 {
		t.Fatal("the dashboard has no variable with values")
	}
	return strings.NewReplacer(pairs...)
}
