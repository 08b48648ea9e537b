package client

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// TestTheAttemptsAreTold would catch a user who relies on a second ApplicationMaster that YARN never starts, or does not know
// that there is one.
func TestTheAttemptsAreTold(t *testing.T) {
	const one, global, asked, none = "yarn.resourcemanager.am.max-attempts", "yarn.resourcemanager.am.global.max-attempts", "yarn.application-attempts", "high-availability.type=NONE"
	for _, c := range []struct {
		name       string
		options    []string
		properties map[string]string
		effective  int
		says       string // "": nothing
	}{
		{"the defaults", nil, nil, 2, "starts the ApplicationMaster 2 times at most"},
		{"without high availability", []string{none}, nil, 1, ""},
		{"without high availability where there is one attempt", []string{none}, map[string]string{one: "1"}, 1, ""},
		{"one is asked for", []string{asked + "=1"}, nil, 1, ""},
		{"YARN allows one", nil, map[string]string{one: "1"}, 1, "no second ApplicationMaster, because " + one + " is 1"},
		{"YARN allows fewer", []string{asked + "=5"}, map[string]string{one: "3"}, 3, "3 times at most, and not 5 times (" + one + ")"},
		{"YARN allows fewer by its default", []string{asked + "=5"}, nil, 2, "2 times at most, and not 5 times (" + one + ")"},
		{"applications may ask for more than they get by default", []string{asked + "=5"}, map[string]string{one: "1", global: "5"}, 5, "5 times at most"},
		{"applications may ask for less", []string{asked + "=5"}, map[string]string{one: "8", global: "4"}, 4, "4 times at most, and not 5 times (" + global + ")"},
		{"a limit that YARN refuses", nil, map[string]string{one: "0"}, 2, "2 times at most"},
	} {
		got, err := AttemptsOf(options(t, c.options...), new(hadoopconf.Conf).With("test", c.properties))
		if says := got.told(); err != nil || got.Effective() != c.effective || (says == "") != (c.says == "") || !strings.Contains(says, c.says) {
			t.Errorf("%s: %+v, %v, says %q", c.name, got, err, says)
		}
	}
	if _, err := AttemptsOf(options(t), new(hadoopconf.Conf).With("test", map[string]string{one: "many"})); err == nil || !strings.Contains(err.Error(), one) {
		t.Errorf("a property that is no number: %v", err)
	}
}
