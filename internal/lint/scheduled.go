package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// scheduledFolders are the packages whose shells run in the simulation (integration/sim): they start work,
// wait, and read the clock only in internal/sched.
var scheduledFolders = []string{
	"appmaster",
	"appmaster/archive",
	"appmaster/dispatcher",
	"appmaster/internal/collect",
	"appmaster/internal/patience",
	"appmaster/internal/programs",
	"appmaster/jobmaster",
	"appmaster/resourcemanager",
	"appmaster/resourcemanager/uber",
	"appmaster/resourcemanager/yarnworkers",
	"appmaster/tokenmanager",
	"appmaster/userdriver",
	"internal/actor",
	"internal/ha",
	"internal/rolerpc",
	"internal/staging",
	"taskrunner/taskexecutor",
	"taskrunner/taskhost",
}

// processFiles are files of these packages that only a process runs, with the reason.
var processFiles = map[string]string{
	"appmaster/internal/programs/local.go":      "a program on the local disk is for a child process",
	"appmaster/keys.go":                         "certificates, which end at a time",
	"appmaster/ports.go":                        "sockets",
	"appmaster/resourcemanager/uber/process.go": "child processes",
	"appmaster/userdriver/places.go":            "programs of a session, which lie on the local disk",
	"appmaster/userdriver/programs.go":          "programs of a session, which lie on the local disk",
	"internal/actor/loop.go":                    "before its selects it decides what comes first",
	"internal/rolerpc/client.go":                "gRPC",
	"internal/rolerpc/dialer.go":                "gRPC",
	"internal/rolerpc/local.go":                 "the minicluster's streams",
	"taskrunner/taskexecutor/partitions.go":     "files on the disks of this machine",
	"taskrunner/taskexecutor/process.go":        "task hosts that are child processes",
}

// unscheduled are names of other packages that a Scheduler knows nothing of, each with its remedy.
var unscheduled = map[string]map[string]string{
	"context": {
		"AfterFunc": "sched.OnEnd", "WithTimeout": "sched.WithTimeout", "WithTimeoutCause": "sched.WithTimeoutCause",
		"WithDeadline": "sched.WithDeadlineCause", "WithDeadlineCause": "sched.WithDeadlineCause",
	},
	"ids":  {"Random": "an ids.Source from the caller"},
	"sync": {"Cond": "sched.Until", "NewCond": "sched.Until", "WaitGroup": "sched.Group"},
	"time": {
		"After": "sched.After", "AfterFunc": "sched.AfterFunc", "NewTicker": "sched.Sleep", "NewTimer": "sched.NewTimer",
		"Now": "sched.Now", "Since": "sched.Now", "Sleep": "sched.Sleep", "Tick": "sched.Sleep", "Until": "sched.Now",
	},
}

// unscheduledImports are packages that a Scheduler knows nothing of, each with its remedy.
var unscheduledImports = map[string]string{
	"crypto/rand":                 "an ids.Source from the caller",
	"golang.org/x/sync/errgroup":  "sched.WithErrors",
	"golang.org/x/sync/semaphore": "sched.Permits",
	"math/rand":                   "math/rand/v2 with a seed",
}

// Scheduled checks one Go file. If its package runs in the simulation, the file must not start, wait or
// measure time by itself, and must not leave to chance what happens next. name is its path from the
// module's root, with slashes.
func Scheduled(name string, src []byte) []string {
	if !slices.Contains(scheduledFolders, path.Dir(name)) || strings.HasSuffix(name, "_test.go") || generatedLine.Match(src) {
		return nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", name, err)}
	}
	var complaints []string
	complain := func(n ast.Node, what, remedy string) {
		complaints = append(complaints, fmt.Sprintf("%s:%d: %s, which the simulation cannot repeat: use %s", name, fset.Position(n.Pos()).Line, what, remedy))
	}
	for _, i := range file.Imports {
		imported, _ := strconv.Unquote(i.Path.Value) // the parser has checked it
		if remedy := unscheduledImports[imported]; remedy != "" {
			complain(i, "imports "+imported, remedy)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			complain(n, "starts a goroutine", "sched.Go or sched.Group")
		case *ast.SelectStmt:
			if drawsLots(n) {
				complain(n, "a select draws lots between channels", "sched.First, sched.Receive or sched.Send")
			}
		case *ast.SelectorExpr:
			if on, is := n.X.(*ast.Ident); is {
				if remedy := unscheduled[on.Name][n.Sel.Name]; remedy != "" {
					complain(n, "uses "+on.Name+"."+n.Sel.Name, remedy)
				}
			}
		}
		return true
	})
	if reason := processFiles[name]; reason != "" {
		if len(complaints) == 0 {
			return []string{name + ": nothing in it is only for a process: take it out of processFiles"}
		}
		return nil
	}
	return complaints
}

// drawsLots reports whether several channels of a select may be ready at the same time.
func drawsLots(s *ast.SelectStmt) bool {
	channels := 0
	for _, clause := range s.Body.List {
		if clause.(*ast.CommClause).Comm != nil {
			channels++
		}
	}
	return channels > 1
}
