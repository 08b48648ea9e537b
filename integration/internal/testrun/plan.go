package main

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// suite is the tests of one or more packages.
type suite struct {
	name     string   // the name for people: the package's folder below integration, or another name for several packages
	folders  []string // the packages in the module; nil: the package of this name
	packages []pkg
	unit     bool     // needs no daemon
	thorough bool     // not in a short run
	race     bool     // use the race detector in the test binary, because the code under test runs there
	flags    []string // further flags of the test binary
	env      []string
	clusters []clusters.Kind // the clusters that its tests need
	parallel int             // parallel tests; 0: as many as the package sets (rpctest.AtOnce), or as there are processors
}

// Suites run in this order when lanes become free: the long ones first, and suites that share clusters side by side.
// integration/doc.go has the question of each suite.
func suites() []suite {
	open, victim := clusters.Open, clusters.Victim
	return []suite{
		{name: "bobbin/jobs", clusters: kinds(open, victim), parallel: 6},
		{name: "rpc/yarn", thorough: true, race: true, clusters: kinds(open, clusters.Features, victim, clusters.Pair, clusters.Hasty)},
		{name: "bobbin/sessions", clusters: kinds(open, victim), parallel: 6},
		{name: "bobbin/security", clusters: kinds(clusters.Secure, clusters.SecurePair), parallel: 6},
		{name: "bobbin/web", clusters: kinds(open, clusters.SecurePair), parallel: 4},
		{name: "bobbin/failover", thorough: true, clusters: kinds(open, victim, clusters.Pair), parallel: 6},
		{name: "bobbin/pages", thorough: true, clusters: kinds(open, clusters.Secure), parallel: 8},
		{name: "rpc/hdfs", thorough: true, race: true, clusters: kinds(clusters.Features, victim, clusters.Pair)},
		{name: "history", clusters: kinds(open, clusters.Secure)},
		{name: "bobbin/doctor", thorough: true, clusters: kinds(open, clusters.Pair, clusters.SecurePair), parallel: 6},
		{name: "bobbin/commands", thorough: true, clusters: kinds(open, victim), parallel: 6},
		{name: "rpc/failover", thorough: true, race: true, clusters: kinds(open, clusters.Pair)},
		{name: "bobbin/workers", thorough: true, race: true, clusters: kinds(open, victim), parallel: 6},
		{name: "harness", folders: []string{"integration/internal", "integration/bench", "integration/flinkrest", "integration/recording"}, clusters: kinds(open, victim, clusters.Secure)},
		{name: "rpc/releases", thorough: true, race: true},
		{name: "rpc/kerberos", thorough: true, race: true, clusters: kinds(clusters.Secure, clusters.SecurePair), parallel: 6},
		{name: "bobbin/options", thorough: true, clusters: kinds(clusters.Features), parallel: 6},
		{name: "rpc/conformance", thorough: true, race: true, clusters: kinds(clusters.Features), parallel: 6},
		{name: "bobbin/examples", clusters: kinds(open), parallel: 6},
	}
}

// secured are the suites of open clusters that the long run repeats on secure clusters. In every run, bobbin/security
// tests jobs, sessions and applications on secure clusters.
func secured() []suite {
	list := []suite{
		{name: "bobbin/jobs"},
		{name: "bobbin/sessions"},
		{name: "bobbin/failover", clusters: kinds(clusters.SecurePair)},
		{name: "bobbin/commands"},
		{name: "bobbin/workers"},
		{name: "bobbin/examples"},
	}
	for i := range list {
		list[i].folders = []string{"integration/" + list[i].name}
		list[i].name += " secured"
		list[i].env = []string{bobbintest.SecureVariable + "=1", cluster.TimesVariable + "=1"}
		list[i].clusters, list[i].parallel = append(list[i].clusters, clusters.Secure, clusters.SecureVictim), 6
	}
	return list
}

func kinds(list ...clusters.Kind) []clusters.Kind { return list }

// integration returns the suites on real daemons. all are the packages of the module.
func integration(packages []pkg, long bool) []suite {
	all := suites()
	if long {
		at := slices.IndexFunc(all, func(s suite) bool { return s.name == "rpc/kerberos" })
		all = slices.Insert(all, at, secured()...) // beside suites with the secure cluster
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

// unit returns the tests that need only Go and a C compiler. all are the packages of the module.
func unit(packages []pkg) []suite {
	tests := suite{name: "unit", race: true, flags: []string{"-test.shuffle=on"}}
	// One goroutine runs at a time, in packages without goroutines and in those that take turns. There the race detector
	// can find nothing, and takes five to forty times as long.
	single := suite{name: "single", flags: tests.flags}
	// The simulation fills a processor for a minute. A quarter of that is the garbage collector's with its usual goal.
	simulated := suite{name: "simulated", flags: tests.flags, env: []string{"GOGC=400"}}
	// The tests of internal/ha that also run in memory and on disk use goroutines there.
	backends := suite{name: "backends", race: true, flags: []string{"-test.run", "^Test(AStore|AReplacedAttempt|TheEnd|TheAddress|AnAttemptMay)"}}
	// They read every file of the repository, and start no daemon.
	rules := suite{name: "house rules"}
	// Hundreds of jobs, for results and not for races: the tests of the SDK and of the roles run the same code under the detector,
	// which takes twelve times as long here.
	jobs := suite{name: "random jobs", flags: tests.flags}
	// Under the race detector, allocations of a call cannot be counted.
	allocations := suite{name: "allocations", flags: []string{"-test.run", "Allocates"}}
	for _, p := range packages {
		switch {
		case p.below("integration") && !p.below("integration/sim"):
			continue
		case p.path == module+"/internal/lint":
			rules.packages = append(rules.packages, p)
			continue
		case p.path == module+"/integration/sim", p.path == module+"/internal/ha":
			simulated.packages = append(simulated.packages, p)
			if p.path == module+"/internal/ha" {
				backends.packages = append(backends.packages, p)
			}
			continue
		case p.path == module+"/dataflow/internal/randomjobs":
			jobs.packages = append(jobs.packages, p)
			continue
		case !p.concurrent, p.path == module+"/dataflow/internal/output":
			single.packages = append(single.packages, p)
			continue
		case p.path == module+"/yarnrpc", p.path == module+"/appmaster/resourcemanager":
			allocations.packages = append(allocations.packages, p)
		}
		tests.packages = append(tests.packages, p)
	}
	list := []suite{tests, simulated, single, jobs, backends, rules, allocations}
	for i := range list {
		list[i].unit = true
	}
	return list
}

const module = "github.com/bobbin-yarn/bobbin"
