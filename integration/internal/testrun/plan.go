package main

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// suite is a run of `go test`.
type suite struct {
	name     string   // as people know it: the package's folder below integration, unless it is one of many
	packages []string // of the module
	race     bool     // the race detector in the test binary itself: the code under test runs there
	flags    []string // further ones of go test
	env      []string
	clusters []clusters.Kind // that its tests ask for
	parallel int             // tests at a time; 0: as many as there are processors
}

// Suites run in this order, as lanes become free: the long ones first, and those beside each other that share clusters.
// integration/doc.go says what each shows.
func suites() []suite {
	open, victim := clusters.Open, clusters.Victim
	return []suite{
		{name: "bobbin/jobs", clusters: kinds(open, victim), parallel: 6},
		{name: "rpc/yarn", race: true, clusters: kinds(clusters.Features, victim, clusters.Hasty), parallel: 8},
		{name: "bobbin/sessions", clusters: kinds(open, victim), parallel: 6},
		{name: "rpc/hdfs", race: true, clusters: kinds(clusters.Features, victim), parallel: 8},
		{name: "bobbin/commands", clusters: kinds(open, victim), parallel: 6},
		{name: "rpc/conformance", race: true, clusters: kinds(clusters.Features, clusters.Hasty), parallel: 8},
		{name: "bobbin/options", clusters: kinds(clusters.Features), parallel: 6},
		{name: "bobbin/workers", race: true, clusters: kinds(open), parallel: 6},
		{name: "bobbin/examples", clusters: kinds(open), parallel: 6},
		{name: "harness", packages: []string{"./integration/internal/...", "./integration/bench/..."}, clusters: kinds(open, victim, clusters.Secure)},
		{name: "bobbin/security", clusters: kinds(clusters.Secure, clusters.SecurePair), parallel: 6},
		{name: "rpc/kerberos", race: true, clusters: kinds(clusters.Secure, clusters.SecurePair), parallel: 6},
		{name: "bobbin/pages", clusters: kinds(open, clusters.Secure), parallel: 8},
		{name: "rpc/failover", race: true, clusters: kinds(open, clusters.Pair)},
		{name: "bobbin/doctor", clusters: kinds(open, clusters.Pair, clusters.SecurePair), parallel: 6},
		{name: "rpc/releases", race: true},
	}
}

// secured are suites of open clusters that run once more on secure ones: of each one result that is exact and one loss of
// each kind, or all of it where the long tests run.
func secured(long bool) []suite {
	some := []suite{
		{name: "bobbin/jobs", flags: []string{"-run", "^Test(WordCountIsExact|TaskHostIsKilled|TaskExecutorIsKilled|ApplicationMasterIsReplaced)$"}},
		{name: "bobbin/sessions", flags: []string{"-run", "^Test(ASessionRunsJobsUntilItIsStopped|AnApplicationRunsItsProgramInTheCluster)$"}},
	}
	if long {
		some = []suite{{name: "bobbin/jobs"}, {name: "bobbin/sessions"}, {name: "bobbin/commands"}, {name: "bobbin/workers"}, {name: "bobbin/examples"}}
	}
	for i := range some {
		some[i].packages = []string{"./integration/" + some[i].name}
		some[i].name += " secured"
		some[i].env = []string{"BOBBIN_TEST_SECURE=1"}
		some[i].clusters, some[i].parallel = kinds(clusters.Secure), 6
		if long {
			some[i].clusters = kinds(clusters.Secure, clusters.SecureVictim)
		}
	}
	return some
}

func kinds(list ...clusters.Kind) []clusters.Kind { return list }

// integration are the suites of a run on real daemons.
func integration(long bool) []suite {
	all := suites()
	at := slices.IndexFunc(all, func(s suite) bool { return s.name == "rpc/kerberos" })
	all = slices.Insert(all, at, secured(long)...) // beside those that have the secure cluster
	for i := range all {
		if all[i].packages == nil {
			all[i].packages = []string{"./integration/" + all[i].name}
		}
	}
	return all
}

// unit are the tests that need Go and a C compiler alone. packages are the module's.
func unit(packages []string) []suite {
	const rules, allocations = module + "/internal/lint", module + "/yarnrpc"
	return []suite{
		{name: "unit", race: true, flags: []string{"-shuffle=on"}, packages: slices.DeleteFunc(packages, func(p string) bool { return p == rules })},
		// It reads every file of the repository, and starts nothing.
		{name: "house rules", packages: []string{rules}},
		// What a call allocates cannot be counted under the race detector.
		{name: "allocations", packages: []string{allocations}, flags: []string{"-run", "Allocates"}},
	}
}

const module = "github.com/bobbin-yarn/bobbin"
