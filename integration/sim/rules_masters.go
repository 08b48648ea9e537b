package sim

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// mastersRemoveNothing asks YARN at each removal by a master whether the application has ended.
func mastersRemoveNothing(w *watch) {
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		if op.Kind != dfsmodel.Delete || changesOften(op.Path) {
			return nil
		}
		// What earlier masters have written is removed before tasks run again, and a job without a result leaves nothing.
		if strings.Contains(op.Path, "/_temporary/") || path.Base(op.Path) == "_temporary" && !op.Recursive {
			return nil
		}
		if path.Dir(op.Path) == archives {
			return nil // archivesTellTheEnd looks at it
		}
		if m := w.w.masterAt(op.Client); m != nil {
			if app, _ := w.w.yarn.look(m); app.Final == records.FinalUndefined {
				return fmt.Errorf("%s: %s, while its application runs", op.Client, op)
			}
		}
		return nil
	})
}

// changesOften reports whether a path is that of a file which masters may replace at any time: what outlives the leader
// changes with its jobs, without high availability each attempt
// replaces access.json, and a session takes programs and gives them up. A name with a dot in front is that of an
// upload that has failed.
func changesOften(at string) bool {
	return path.Base(at) == launch.AccessFile || strings.Contains(at, "/live-") || strings.Contains(at, "/refs.d/") || strings.Contains(at, "/refs.files/") || strings.Contains(at, "/cache/") || strings.HasPrefix(path.Base(at), ".")
}

// mastersStay asks YARN at each end of a master whether it counts on this attempt.
func mastersStay(w *watch) {
	w.masters = append(w.masters, func(m *master) error {
		if app, attempt := w.w.yarn.look(m); attempt.Live && app.Final == records.FinalUndefined {
			return fmt.Errorf("%s ends, with error %v", m.address(), m.fault) //nolint:errorlint // it may be nil
		}
		return nil
	})
}

// replaced reports whether YARN has started another attempt after this master's.
func (y *yarn) replaced(m *master) bool { return !y.replacedAt(m).IsZero() }

// replacedAt is when YARN has begun the attempt after this master's; zero: there is none.
func (y *yarn) replacedAt(m *master) time.Time {
	app, _ := y.look(m)
	for _, attempt := range app.Attempts {
		if attempt.ID.Attempt == m.attempt.Attempt+1 {
			return attempt.Began
		}
	}
	return time.Time{}
}

// oldMastersChangeNothing asks YARN at each change by a master whether another attempt has replaced it. In the directory of
// the leader, live-<N>, an old master may make changes until its successor has renamed it; then HDFS refuses them.
// A master that was frozen may still add or remove a program or a file of its session, because a client asked for that.
func oldMastersChangeNothing(w *watch) {
	ended := make(map[string]bool) // jobs whose end is stored
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		if dir, name := path.Split(op.Target); op.Kind == dfsmodel.Rename && path.Base(dir) == "result" {
			job, _, _ := strings.Cut(name, ".")
			ended[job] = true
		}
		if changesOften(op.Path) || op.Kind == dfsmodel.Mkdirs && changesOften(op.Path+"/") {
			return nil // for access.json see mastersKeepAccess
		}
		if op.Kind == dfsmodel.Mkdirs && strings.Contains(op.Path, "/_temporary/") {
			return nil // the directory of an earlier epoch, which nobody reads
		}
		if op.Kind == dfsmodel.Delete && !op.Recursive {
			return nil // an empty directory
		}
		if op.Kind == dfsmodel.Mkdirs && op.Path == archives {
			return nil // all attempts of all applications share it
		}
		job, epoch := outputOf(op.Path)
		// Once the next master has opened the output, there is nothing to rename, and what an earlier one has undone has another name.
		late := op.Kind == dfsmodel.Rename || strings.HasSuffix(op.Path, ".undo")
		if m := w.w.masterAt(op.Client); (late || w.w.schedule.Unprotected || ended[job]) && m != nil && epoch <= int(m.attempt.Attempt) {
			return nil // it cleans up after its own jobs: the next master has not opened the output, or does not need it
		}
		return w.w.oldMasterChanges(op)
	})
}

// inEpoch matches a path below the directory of an epoch, or what a clean-up has made of one.
var inEpoch = regexp.MustCompile(`/_temporary/([^/]+)/(?:e([0-9]+)|discarded-[0-9]+)(?:[./]|$)`)

// outputOf returns the job and the epoch of a path in an output; 0: it was of an epoch. For other paths the epoch is the
// highest.
func outputOf(path string) (job string, epoch int) {
	found := inEpoch.FindStringSubmatch(path)
	if found == nil {
		return "", math.MaxInt
	}
	epoch, err := strconv.Atoi(cmp.Or(found[2], "0"))
	if err != nil {
		return "", math.MaxInt
	}
	return found[1], epoch
}

// mastersKeepAccess looks for old masters that remove or write the file of their successor. Each attempt
// removes it and writes it again, without a fence.
func mastersKeepAccess(w *watch) {
	if w.w.schedule.Unprotected {
		return
	}
	w.changes = append(w.changes, func(op dfsmodel.Operation) error {
		if path.Base(op.Path) != launch.AccessFile {
			return nil
		}
		return w.w.oldMasterChanges(op)
	})
}

func (w *World) oldMasterChanges(op dfsmodel.Operation) error {
	if m := w.masterAt(op.Client); m != nil && w.yarn.replaced(m) {
		return fmt.Errorf("%s: %s, after another attempt has begun", op.Client, op)
	}
	return nil
}

// actsFor is for how long a master may start and stop containers after YARN has begun another attempt, whatever
// happens: an answer of YARN counts for two heartbeats, and a start that begins then may be repeated for 20 s.
const actsFor = 35 * time.Second

// mastersActInTime looks for old masters that start or stop containers.
func mastersActInTime(w *watch) {
	w.acts = append(w.acts, func(m *master, method string, on records.NodeID) error {
		began := w.w.yarn.replacedAt(m)
		if lasts := w.w.engine.Now().Sub(began); changesContainers(method) && !began.IsZero() && lasts > actsFor {
			return fmt.Errorf("%s: %s on %s, %v after another attempt has begun", m.address(), method, on, lasts)
		}
		return nil
	})
}

// changesContainers reports whether a method of a NodeManager changes containers.
func changesContainers(method string) bool {
	return method == "startContainers" || method == "stopContainers"
}
