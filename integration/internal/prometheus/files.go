package prometheus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Names of the files in docs/monitoring.
const (
	rulesFile     = "rules.yml"
	ruleTestsFile = "rules_test.yml"
	dashboardFile = "dashboard.json"
)

// alertsOf returns the names of the alert rules in a folder, as the file has them.
func alertsOf(t testing.TB, dir string) (names []string) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct{ Alert string }
		}
	}
	readYAML(t, filepath.Join(dir, rulesFile), &file)
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			names = append(names, r.Alert)
		}
	}
	if len(names) == 0 || slices.Contains(names, "") {
		t.Fatalf("%s has the alerts %q", rulesFile, names)
	}
	return names
}

// alertsWithCase returns the alerts of a folder that fire in a case of their unit tests.
func alertsWithCase(t testing.TB, dir string) (names []string) {
	t.Helper()
	var file struct {
		Tests []struct {
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	readYAML(t, filepath.Join(dir, ruleTestsFile), &file)
	for _, one := range file.Tests {
		for _, c := range one.Cases {
			if len(c.Expected) > 0 {
				names = append(names, c.Alert)
			}
		}
	}
	return names
}

func readYAML(t testing.TB, name string, into any) {
	t.Helper()
	content, err := os.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(content, into)
	}
	if err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
}

// dashboard is a dashboard of Grafana, as a file has it.
type dashboard struct {
	Templating struct{ List []variable }
	Panels     []panel
}

// variable is a part of the dashboard's expressions that Grafana fills in.
type variable struct{ Name, Type, Query string }

// panel is a diagram. A row of diagrams is one, too.
type panel struct {
	Title   string
	Targets []target
	Panels  []panel
}

// target is an expression of a panel. The legend names labels of its series.
type target struct {
	Expression string `json:"expr"`
	Legend     string `json:"legendFormat"`
	panel      string
}

// dashboardOf reads the dashboard of a folder.
func dashboardOf(t testing.TB, dir string) (d dashboard) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, dashboardFile))
	if err == nil {
		err = json.Unmarshal(content, &d)
	}
	if err != nil {
		t.Fatalf("read %s: %v", dashboardFile, err)
	}
	return d
}

// targets returns the expressions of all panels.
func (d dashboard) targets() (all []target) {
	var add func([]panel)
	add = func(panels []panel) {
		for _, p := range panels {
			for _, one := range p.Targets {
				one.panel = p.Title
				all = append(all, one)
			}
			add(p.Panels)
		}
	}
	add(d.Panels)
	return all
}

// named says of which metric and label a variable has the values.
var named = regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`) //nolint:gochecknoglobals // a constant

// valuesOf returns what the values of a variable are asked for.
func (v variable) valuesOf() (metric, label string, err error) {
	parts := named.FindStringSubmatch(v.Query)
	if parts == nil {
		return "", "", fmt.Errorf("the variable %s has the query %q, want label_values(METRIC, LABEL)", v.Name, v.Query)
	}
	return parts[1], parts[2], nil
}

// labelOf finds the labels in a legend.
var labelOf = regexp.MustCompile(`{{\s*(\w+)\s*}}`) //nolint:gochecknoglobals // a constant

// labels returns the labels that the legend names.
func (t target) labels() (names []string) {
	for _, found := range labelOf.FindAllStringSubmatch(t.Legend, -1) {
		names = append(names, found[1])
	}
	return names
}
