package ha_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is the time at which each test begins.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func silent() logrus.FieldLogger {
	logger, _ := logtest.NewNullLogger()
	return logger
}

// fate is what becomes of a call to HDFS.
type fate int

const (
	answered fate = iota
	lost          // it is not executed
	unheard       // it is executed, and the answer is lost
	late          // it is executed after its caller has given up
	killed        // its process is killed when the call is under way
	deaf          // it is executed, and its process is killed before the answer
	frozen        // it is executed, and its process is frozen before the answer
	held          // its process is frozen, and it is executed when the process is thawed
)

func (f fate) String() string {
	return [...]string{"answered", "lost", "unheard", "late", "killed", "deaf", "frozen", "held"}[f]
}

// world is an HDFS and the attempts of an application on it, in virtual time.
type world struct {
	*engine.Engine
	space  *dfsmodel.Namespace
	calls  int
	fate   func(number int, client string, op dfsmodel.Operation) fate // of a call, by its number from 0; nil: all are answered
	lateBy time.Duration                                               // how late late calls are executed
	random *rand.Rand
	delays bool     // calls take random times
	thawed []func() // what happens when frozen processes are thawed
}

// home is the directory of the application in the world.
const home = "hdfs://sim/user/alice/.bobbin/application_1_0001"

// newWorld makes a world in which the client has staged the application. Close ends it.
func newWorld(t testing.TB, seed uint64) *world {
	t.Helper()
	w := &world{Engine: engine.New(start, seed), space: dfsmodel.NewNamespace(start), random: rand.New(rand.NewPCG(seed, 7))}
	t.Cleanup(w.Close)
	for _, dir := range []string{"", "/live-0", "/live-0/jobs", "/live-0/result"} {
		if err := w.space.Mkdirs(start, strings.TrimPrefix(home, "hdfs://sim")+dir, 0o700, "alice"); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// wire is the way of one process to HDFS: each call takes a millisecond, and so does its answer.
type wire struct {
	*world
	process *engine.Process
}

func (w *wire) delay() time.Duration {
	if w.delays {
		return time.Duration(1+w.random.IntN(20)) * time.Millisecond
	}
	return time.Millisecond
}

func (w *wire) Call(ctx context.Context, op dfsmodel.Operation, effect func(now time.Time) error) error {
	var result error
	ended := false
	answer := func(after time.Duration, err error) {
		w.After(after, w.process, func() { result, ended = err, true })
	}
	w.After(w.delay(), nil, func() {
		f := answered
		if w.fate != nil {
			f = w.fate(w.calls, op.Client, op)
		}
		w.calls++
		switch f {
		case lost:
			answer(time.Second, dfsmodel.Unanswered(op, false))
		case unheard:
			_ = effect(w.Now()) // nobody hears it
			answer(time.Second, dfsmodel.Unanswered(op, true))
		case late:
			w.After(w.lateBy, nil, func() { _ = effect(w.Now()) })
			answer(time.Second, dfsmodel.Unanswered(op, true))
		case killed:
			w.process.Kill()
		case deaf:
			_ = effect(w.Now())
			w.process.Kill()
		case frozen:
			answer(time.Millisecond, effect(w.Now()))
			w.process.Freeze()
		case held:
			w.thawed = append(w.thawed, func() { answer(time.Millisecond, effect(w.Now())) })
			w.process.Freeze()
		default:
			answer(w.delay(), effect(w.Now()))
		}
	})
	sched.Until(ctx, func() bool { return ended || ctx.Err() != nil })
	if !ended {
		return dfsmodel.Abandoned(ctx, op)
	}
	return result
}

// process starts a process that uses HDFS.
func (w *world) process(name string, main func(ctx context.Context, files *dfsmodel.FileSystem)) *engine.Process {
	n := &wire{world: w}
	files := dfsmodel.New(dfsmodel.Options{Namespace: w.space, Caller: n, Client: name, User: "alice"})
	n.process = w.Start(name, func(ctx context.Context) { main(ctx, files) }, func() { w.space.Crash(w.Now(), name) })
	return n.process
}

// run takes all events.
func (w *world) run(t testing.TB) {
	t.Helper()
	for w.Step() {
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
}

// thaw lets all frozen processes go on.
func (w *world) thaw(processes ...*engine.Process) {
	for _, do := range w.thawed {
		do()
	}
	w.thawed = nil
	for _, p := range processes {
		p.Thaw()
	}
}

// attempt is the Election of an attempt on a file system. Its temporary names are those of a seed.
func attempt(files ha.FileSystem, dir string, epoch ids.Epoch) ha.Election {
	return ha.NewDirectory(ha.Options{
		Files: files, Dir: dir, Epoch: epoch, Names: ids.Source{Reader: &names{uint64(epoch)}}, Logger: silent(),
	})
}

// names makes names that differ from each other, and from those of other epochs.
type names struct{ last uint64 }

func (n *names) Read(b []byte) (int, error) {
	n.last += 1000
	return copy(b, fmt.Sprintf("%016d", n.last)), nil
}

// tree describes what is in the application's directory, one line for each entry.
func (w *world) tree() []string {
	lines := []string{}
	root := strings.TrimPrefix(home, "hdfs://sim")
	for _, s := range w.space.Tree(w.Now(), root) {
		name := strings.TrimPrefix(s.Path, root+"/")
		if s.IsDir {
			name += "/"
		}
		content, _, err := w.space.Read(w.Now(), s.Path)
		if err != nil && !s.IsDir {
			name += " " + err.Error()
		}
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s %s", name, content), " "))
	}
	return lines
}

// temporary returns what is incomplete or removed.
func (w *world) temporary() []string {
	return slices.DeleteFunc(w.tree(), func(line string) bool { return !strings.Contains(line, "/.") })
}

// class is what callers can test of an error.
func class(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ha.ErrSuperseded):
		return "superseded"
	case errors.Is(err, ha.ErrEnded):
		return "ended"
	case errors.Is(err, ha.ErrNothing):
		return "nothing"
	case errors.Is(err, ha.ErrReplacing):
		return "replacing"
	default:
		return otherClass(err)
	}
}
