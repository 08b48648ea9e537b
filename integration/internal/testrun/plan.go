package main

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// suite is the tests of a package, or of several.
type suite struct {
	name     string   // as people know it: the package's folder below integration, unless it is one of many
	folders  []string // of the module, where the packages are; nil: the one that the name says
	packages []pkg
	race     bool     // the race detector in the test binary itself: the code under test runs there
	flags    []string // further ones of the test binary
	env      []string
	clusters []clusters.Kind // that its tests ask for
	parallel int             // tests at a time; 0: as many as the package says (rpctest.AtOnce), or there are processors
}

// Suites run in this order, as lanes become free: the long ones first, and those beside each other that share clusters.
// integration/doc.go says what each shows.
func suites() []suite {
	open, victim := clusters.Open, clusters.Victim
	return []suite{
		{name: "bobbin/jobs", clusters: kinds(open, victim), parallel: 6},
		{name: "rpc/yarn", race: true, clusters: kinds(open, clusters.Features, victim, clusters.Pair, clusters.Hasty)},
		{name: "bobbin/sessions", clusters: kinds(open, victim), parallel: 6},
		{name: "rpc/hdfs", race: true, clusters: kinds(clusters.Features, victim, clusters.Pair)},
		{name: "bobbin/commands", clusters: kinds(open, victim), parallel: 6},
		{name: "rpc/conformance", race: true, clusters: kinds(clusters.Features), parallel: 6},
		{name: "bobbin/options", clusters: kinds(clusters.Features), parallel: 6},
		{name: "bobbin/workers", race: true, clusters: kinds(open, victim), parallel: 6},
		{name: "bobbin/examples", clusters: kinds(open), parallel: 6},
		{name: "harness", folders: []string{"integration/internal", "integration/bench", "integration/flinkrest"}, clusters: kinds(open, victim, clusters.Secure)},
		{name: "bobbin/security", clusters: kinds(clusters.Secure, clusters.SecurePair), parallel: 6},
		{name: "rpc/kerberos", race: true, clusters: kinds(clusters.Secure, clusters.SecurePair), parallel: 6},
		{name: "bobbin/pages", clusters: kinds(open, clusters.Secure), parallel: 8},
		{name: "rpc/failover", race: true, clusters: kinds(open, clusters.Pair)},
		{name: "bobbin/doctor", clusters: kinds(open, clusters.Pair, clusters.SecurePair), parallel: 6},
		{name: "rpc/releases", race: true},
	}
}

// secured are suites of open clusters that the long run has once more on secure ones. In every run bobbin/security has jobs,
// sessions and applications of its own on these.
func secured() []suite {
	list := []suite{{name: "bobbin/jobs"}, {name: "bobbin/sessions"}, {name: "bobbin/commands"}, {name: "bobbin/workers"}, {name: "bobbin/examples"}}
	for i := range list {
		list[i].folders = []string{"integration/" + list[i].name}
		list[i].name += " secured"
		list[i].env = []string{"BOBBIN_TEST_SECURE=1"}
		list[i].clusters, list[i].parallel = kinds(clusters.Secure, clusters.SecureVictim), 6
	}
	return list
}

func kinds(list ...clusters.Kind) []clusters.Kind { return list }

// integration are the suites of a run on real daemons, of packages that are the module's.
func integration(packages []pkg, long bool) []suite {
	all := suites()
	if long {
		at := slices.IndexFunc(all, func(s suite) bool { return s.name == "rpc/kerberos" })
		all = slices.Insert(all, at, secured()...) // beside those that have the secure cluster
	}
	for i, s := range all {
		if s.folders == nil {
			s.folders = []string{"integration/" + s.name}
		}
		for _, p := range packages {
			if slices.ContainsFunc(s.folders, p.below) {
				all[i].packages = append(all[i].packages, p)
			}
		}
	}
	return all
}

// unit are the tests that need Go and a C compiler alone, of packages that are the module's.
func unit(packages []pkg) []suite {
	tests := suite{name: "unit", race: true, flags: []string{"-test.shuffle=on"}}
	// They read every file of the repository, and start nothing.
	rules := suite{name: "house rules"}
	// What a call allocates cannot be counted under the race detector.
	allocations := suite{name: "allocations", flags: []string{"-test.run", "Allocates"}}
	for _, p := range packages {
		switch {
		case p.below("integration"):
			continue
		case p.path == module+"/internal/lint":
			rules.packages = append(rules.packages, p)
			continue
		case p.path == module+"/yarnrpc":
			allocations.packages = append(allocations.packages, p)
		}
		tests.packages = append(tests.packages, p)
	}
	return []suite{tests, rules, allocations}
}

const module = "github.com/bobbin-yarn/bobbin"
