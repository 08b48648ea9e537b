// Package lint checks rules of the repository that no compiler checks: which layer may import
// which, what a core must not call or hold, a comment for each package, the length of files, and no
// text that belongs to one machine.
//
// The rules are functions from imports, source text or typed code to a list of complaints. The
// tests run them over the repository, and over examples that break them. The package starts no
// goroutines, and no package imports it.
package lint

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path at the start of all imports within the module.
const Module = "github.com/bobbin-yarn/bobbin"

// Package is the input of the import rules. Paths within the module are relative to it ("." is its
// root).
type Package struct {
	Path    string
	Imports []string // within the module, without those of tests
	Deps    []string // within the module, direct and indirect
}

// floors, from the lowest up: a package imports only its own floor and those below.
var floors = [...][]string{
	{"hadoopproto"},
	{"yarnrpc"},
	{"internal", "web"},
	{"appmaster", "taskrunner", "historyserver"},
	{".", "client"},
	{"examples", "integration", "scripts"},
}

// clusterTest is the package of the SDK that runs jobs on a cluster: it composes the roles, as the root does.
const clusterTest = "dataflow/dataflowtest/clustertest"

// roles never import each other. They share plain data from internal/msg.
var roles = [...]string{
	"appmaster/resourcemanager",
	"appmaster/dispatcher",
	"appmaster/jobmaster",
	"appmaster/tokenmanager",
	"taskrunner",
	"historyserver",
}

// Imports checks the packages' imports of each other.
func Imports(packages []Package) []string {
	var complaints []string
	for _, p := range packages {
		for _, imported := range p.Imports {
			if why := forbidden(p.Path, imported); why != "" {
				complaints = append(complaints, fmt.Sprintf("%s imports %s: %s", p.Path, imported, why))
			}
		}
		if why := reaches(p); why != "" {
			complaints = append(complaints, why)
		}
	}
	return complaints
}

// forbidden says why from must not import to, or returns "".
func forbidden(from, to string) string {
	switch {
	case within(to, clusterTest):
		return "only tests run jobs on a cluster in their process"
	case within(from, "dataflow") && from != clusterTest:
		if !within(to, "dataflow") {
			return "the SDK imports nothing of ours outside dataflow"
		}
		return ""
	case within(from, "yarnrpc") && !within(to, "yarnrpc") && !within(to, "hadoopproto"):
		return "yarnrpc imports nothing of ours but hadoopproto"
	case within(from, "hadoopproto") && !within(to, "hadoopproto"):
		return "hadoopproto imports nothing of ours"
	case within(to, "dataflow"):
		return ""
	}
	if why := forbiddenUser(from, to); why != "" {
		return why
	}
	if from == clusterTest {
		from = "client"
	}
	lower, upper := floor(to), floor(from)
	switch {
	case upper < 0:
		return "its folder has no floor; name it in internal/lint"
	case lower < 0:
		return "the imported folder has no floor; name it in internal/lint"
	case lower > upper:
		return "arrows point downward only"
	}
	if a, b := role(from), role(to); a != "" && b != "" && a != b {
		return "a role never imports another role"
	}
	if within(from, "appmaster") && within(to, "taskrunner") {
		return "a role never imports another role"
	}
	if within(from, "taskrunner") && within(to, "appmaster") {
		return "a role never imports another role"
	}
	if lower == upper && within(from, "historyserver") != within(to, "historyserver") {
		return "a role never imports another role"
	}
	return ""
}

// forbiddenUser holds the packages that only certain others may import.
func forbiddenUser(from, to string) string {
	const provider = "appmaster/resourcemanager/yarnworkers"
	top := within(from, "integration") || within(from, "examples")
	switch {
	case within(to, "integration") && !within(from, "integration"):
		return "only tests use the harness"
	case within(to, "yarnrpc/yarnfake") && !within(from, "yarnrpc/yarnfake") && !top:
		return "only tests use the fake cluster"
	case within(to, "yarnrpc/hdfsfake"):
		return "only tests use the fake HDFS"
	case within(to, "yarnrpc/internal/testing/kdctest"):
		return "only tests use the fake KDC"
	case within(to, "appmaster/rest/resttest"):
		return "only tests put something in the place of an ApplicationMaster"
	case within(to, "appmaster/rest") && within(from, "client"):
		return "the client shares REST's types, internal/restapi, and not its server"
	case within(to, "appmaster/rest/flinkrest") && !within(from, "integration"):
		return "only tests and the recorder know what Flink answers"
	case within(to, "internal/testing") && !within(from, "internal/testing") && !top:
		return "only tests use their helpers"
	case within(to, "internal/lint"):
		return "the house rules are for their own tests"
	case (within(to, "yarnrpc/amrm") || within(to, "yarnrpc/nmclient")) &&
		!within(from, "yarnrpc") && !within(from, provider) && !top:
		return "only yarnworkers speaks to YARN for the ApplicationMaster"
	case within(from, "taskrunner") && within(to, "yarnrpc"):
		return "taskrunner reaches hdfs, credentials and configuration only through internal/dfs"
	}
	return ""
}

// reaches checks indirect dependencies.
func reaches(p Package) string {
	if !within(p.Path, "taskrunner") {
		return ""
	}
	for _, dep := range p.Deps {
		for _, protocol := range []string{"yarnrpc/yarnclient", "yarnrpc/amrm", "yarnrpc/nmclient"} {
			if within(dep, protocol) {
				return fmt.Sprintf("%s depends on %s: workers do not speak to YARN", p.Path, dep)
			}
		}
	}
	return ""
}

// within reports whether path is folder or below it. Only "." itself is within ".".
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// floor returns the index in floors, or -1.
func floor(path string) int {
	return slices.IndexFunc(floors[:], func(folders []string) bool {
		return slices.ContainsFunc(folders, func(folder string) bool { return within(path, folder) })
	})
}

// role returns the folder in roles that contains path, or "".
func role(path string) string {
	for _, r := range roles {
		if within(path, r) {
			return r
		}
	}
	return ""
}
