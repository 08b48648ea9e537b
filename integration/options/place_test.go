package options

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestContainersAreWhereOptionsWantThem would catch labels and constraints that YARN does
// not hear of, and asks that YARN never serves because they name nodes of other labels.
func TestContainersAreWhereOptionsWantThem(t *testing.T) {
	t.Parallel()
	elsewhere := []string{plainNode, ssdNode}
	for _, c := range []struct {
		name            string
		flags           []string
		master, workers []string // nodes that may have them
		label           string   // the application's, by the ResourceManager's report
	}{
		{"no options", nil, elsewhere, elsewhere, ""},
		{"a label for the application", option("yarn.application.node-label", "gpu"), []string{gpuNode}, []string{gpuNode}, "gpu"},
		{"a label for TaskExecutors", option("yarn.taskmanager.node-label", "gpu"), elsewhere, []string{gpuNode}, ""},
		{"a constraint on an attribute", option("yarn.taskmanager.placement-constraint", "disk=ssd"), elsewhere, []string{ssdNode}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := suite.Dawdle(t, user(t, bobbintest.Alice), slices.Concat(c.flags, []string{"-p", "2", "-s", "1"})...)
			v := look(t, d)
			if got := v.submission.GetNodeLabelExpression(); got != c.label || normal(v.report.NodeLabel) != c.label {
				t.Errorf("the application's label is %q, and %q by YARN's report; want %q", got, v.report.NodeLabel, c.label)
			}
			master, workers := containers(t, d.User, d.Application)
			for what, pair := range map[string]struct {
				got  []string
				want []string
			}{"master": {hosts(master), c.master}, "workers": {hosts(workers...), c.workers}} {
				for _, host := range pair.got {
					if !slices.Contains(pair.want, host) {
						t.Errorf("%s on %v, want them on %v", what, pair.got, pair.want)
					}
				}
			}
			if len(workers) != 2 {
				t.Errorf("%d workers, want 2", len(workers))
			}
			d.CheckSucceeds(t)
		})
	}
}

// normal is a label of a report, in which YARN has a text for none.
func normal(label string) string {
	if label == "<Not set>" || label == "<DEFAULT_PARTITION>" {
		return ""
	}
	return label
}

func hosts(containers ...records.ContainerReport) []string {
	var names []string
	for _, c := range containers {
		names = append(names, c.Node.Host)
	}
	return names
}

// TestAConstraintThatIsNoneIsRefused would catch a mistake that shows only when the
// application has waited for its workers in vain.
func TestAConstraintThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	alice := user(t, bobbintest.Alice)
	flags := append(option("yarn.taskmanager.placement-constraint", "far away"), suite.Program(t, "wordcount"), "--input", "/tmp", "--output", "/tmp/refused")
	got := alice.Run(t, bobbintest.Small(flags...)...)
	if diff := cmp.Diff(1, got.Code); diff != "" {
		t.Errorf("exit code: %s", got)
	}
}
