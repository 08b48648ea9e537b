package appmaster

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/testing/userdrivertest"
)

// TestMain is also the program that the tests run as a driver.
func TestMain(m *testing.M) {
	if os.Getenv(asMaster) != "" {
		os.Exit(Main(time.Now(), os.Getenv))
	}
	if value, set := os.LookupEnv(control.Variable); set {
		os.Exit(userdrivertest.Main(value, os.Args[1:], plan))
	}
	// The race detector makes each child wait for a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// plan plans the job of the tests, as env.Execute would.
func plan(start msg.DriverStart, input string, prepare bool) (jobgraph.JobGraph, error) {
	files := dfs.New(dfs.Options{})
	defer files.Close()
	options := maps.Clone(start.Config)
	if options == nil {
		options = make(map[string]string)
	}
	options[config.ParallelismDefault.Name()] = "2"
	compiled, err := dataflow.Compile(counting.Name(), fmt.Appendf(nil, "%q", input), dataflow.PlanOptions{Parallelism: 2, Config: options})
	switch {
	case err != nil:
		return jobgraph.JobGraph{}, err
	case !prepare:
		return compiled.Graph, nil
	}
	return compiled.Prepare(context.Background(), files, nil)
}

// ownHash is the hash of these tests' program.
var ownHash = sync.OnceValues(func() (string, error) {
	own, err := program.InspectBobbin(os.Args[0], program.Native())
	return own.SHA256, err
})

func testProgram(t *testing.T) string {
	t.Helper()
	hash, err := ownHash()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// input makes a file of lines, for drivers and workers.
func input(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file://" + file
}

// differing is a text of the given number of lines, all different.
func differing(lines int) string {
	var text strings.Builder
	for n := range lines {
		fmt.Fprintln(&text, n)
	}
	return text.String()
}

// applicationOf runs an application of the tests' program.
func applicationOf(t *testing.T, change func(*process, *led), options map[string]string, attached bool, words ...string) *started {
	t.Helper()
	files := dfs.New(dfs.Options{})
	t.Cleanup(func() { _ = files.Close() })
	return applicationWith(t, t.Context(), newWorkers(t, files), change, options, attached, words...)
}

// applicationWith runs an attempt of an application of the tests' program.
func applicationWith(t *testing.T, ctx context.Context, w *workers, change func(*process, *led), options map[string]string, attached bool, words ...string) *started {
	t.Helper()
	w.program = testProgram(t)
	return runMaster(t, ctx, w, dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"}), func(env *environment) {
		env.launch.Mode, env.launch.Attached, env.launch.Arguments = launch.Application, attached, words
		env.launch.ProgramRef.SHA256 = w.program
		env.logDir, env.workDir = t.TempDir(), t.TempDir()
		env.config = roomy(t, options)
		env.variables = append(os.Environ(), launch.Variable+"=x", launch.TokenFileVariable+"=x")
		own, err := filepath.Abs(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(own, filepath.Join(env.workDir, launch.ProgramLink)); err != nil {
			t.Fatal(err)
		}
	}, change)
}

// roomy returns options with a container large enough for this process and all that it tests, unless the
// options have another size.
func roomy(t *testing.T, options map[string]string) config.Config {
	t.Helper()
	c, err := config.New(
		config.Layer{Source: "room", Values: map[string]string{config.JobManagerProcessSize.Name(): "16g"}},
		config.Layer{Source: "test", Values: options},
	)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAnApplicationEndsAsItsProgramDoes would catch a failed program that YARN shows as a success, a
// failure whose reason neither YARN nor the program's standard error shows, and an ApplicationMaster that
// waits for a killed program.
func TestAnApplicationEndsAsItsProgramDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	lines, broken, many := input(t, "x\ny\nx\n"), input(t, "x\nboom\n"), input(t, differing(150_000))
	never := map[string]string{config.RestartStrategy.Name(): "none"}
	for name, test := range map[string]struct {
		words    []string
		attached bool
		status   msg.ApplicationStatus
		text     []string // in the diagnostics
		printed  string   // by the program
	}{
		"two jobs, one after the other":            {[]string{"count=" + lines, "count=" + lines}, true, msg.ApplicationSucceeded, nil, "FINISHED 4\nFINISHED 4\n"},
		"jobs that it does not wait for":           {[]string{"count=" + lines, "count=" + lines}, false, msg.ApplicationSucceeded, nil, "accepted "},
		"a job that fails":                         {[]string{"count=" + broken}, true, msg.ApplicationFailed, []string{"boom of the user's"}, "FAILED 0\n"},
		"a job that fails when it has gone":        {[]string{"count=" + broken}, false, msg.ApplicationFailed, []string{"boom of the user's"}, "accepted "},
		"a plan that fails":                        {[]string{"curse"}, true, msg.ApplicationFailed, []string{"the plan is cursed", "main.plan()"}, ""},
		"no job":                                   {nil, true, msg.ApplicationFailed, []string{"no job was executed"}, ""},
		"a program that is killed":                 {[]string{"count=" + lines, "die"}, true, msg.ApplicationFailed, []string{"killed", "last words"}, "FINISHED 4\n"},
		"one that is killed amid its job":          {[]string{"abandon=" + lines}, true, msg.ApplicationFailed, []string{"killed"}, ""},
		"one that is killed while it is told much": {[]string{"abandon=" + many}, true, msg.ApplicationFailed, []string{"killed"}, ""},
		"two jobs at once":                         {[]string{"rush=" + many}, true, msg.ApplicationFailed, []string{"several jobs at once"}, ""},
		"an input that is not there":               {[]string{"count=file:///nowhere"}, true, msg.ApplicationFailed, []string{"/nowhere"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := applicationOf(t, nil, never, test.attached, test.words...)
			if err := <-s.ended; err != nil || s.outcome.Status != test.status {
				t.Errorf("run = %+v, %v; want %s", s.outcome, err, test.status)
			}
			for _, text := range test.text {
				if !strings.Contains(s.outcome.Diagnostics, text) {
					t.Errorf("diagnostics %q lack %q", s.outcome.Diagnostics, text)
				}
			}
			printed, err := os.ReadFile(filepath.Join(s.env.logDir, "driver.stdout"))
			if err != nil || !strings.HasPrefix(string(printed), test.printed) {
				t.Errorf("the program printed %q, want %q; %v", printed, test.printed, err)
			}
			said, err := os.ReadFile(filepath.Join(s.env.logDir, "driver.stderr"))
			for _, text := range test.text {
				if err != nil || !strings.Contains(string(said), text) {
					t.Errorf("its standard error %q lacks %q: %v", said, text, err)
				}
			}
			if strings.Count(string(said), "last words") > 1 {
				t.Errorf("what it has said is repeated: %q", said)
			}
			if test.status == msg.ApplicationSucceeded && len(said) > 0 {
				t.Errorf("it succeeded, and its standard error is %q", said)
			}
			if s.filesStay() {
				t.Error("staged files are left behind")
			}
		})
	}
}

// TestAJobThatReadsNothingIsToldWhereItsProgramPrints would catch a job without input for which the log has
// no warning. Its program runs beside the ApplicationMaster: the application's, or one that REST has
// started in a session.
func TestAJobThatReadsNothingIsToldWhereItsProgramPrints(t *testing.T) {
	t.Parallel()
	count := "count=" + input(t, "")
	a := applicationOf(t, nil, nil, true, count)
	if err := <-a.ended; err != nil || a.outcome.Status != msg.ApplicationSucceeded {
		t.Errorf("run = %+v, %v; want SUCCEEDED", a.outcome, err)
	}
	s := startSession(t)
	var ran restapi.RunAnswer
	s.post(http.StatusOK, "/programs/"+s.upload().ID+"/run", restapi.RunRequest{Arguments: []string{count}}, &ran)
	if status := s.awaitEnd(ran.Job); status != msg.JobFinished {
		t.Errorf("job is %s", status)
	}
	s.end()
	for _, log := range []string{filepath.Join(a.env.logDir, "driver.stderr"), filepath.Join(s.env.logDir, "driver-counting.stderr")} {
		said, err := os.ReadFile(log)
		if err != nil || strings.Count(string(said), "bobbin: warning: job "+counting.Name()+" reads nothing") != 1 {
			t.Errorf("%s holds %q, %v; want one warning", log, said, err)
		}
	}
}

// TestAnApplicationMayStay would catch a cluster that ends with its program although it must stay, and one
// that does not keep the program's outcome.
func TestAnApplicationMayStay(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := applicationOf(t, func(_ *process, l *led) {
		logger := quiet()
		logger.AddHook(hearing{"program has ended", ended})
		l.mode.(*application).logger = logger
	}, map[string]string{config.ShutdownOnFinish.Name(): "false"}, true, "curse")
	<-ended
	select {
	case err := <-s.ended:
		t.Fatalf("cluster ended: %v", err)
	default:
	}
	if err := s.component().Dispatcher.ShutDown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationFailed || !strings.Contains(s.outcome.Diagnostics, "cursed") {
		t.Errorf("run = %+v, %v; want FAILED with the program's error", s.outcome, err)
	}
}

// hearing closes a channel when the message is logged.
type hearing struct {
	message string
	heard   chan struct{}
}

func (h hearing) Levels() []logrus.Level { return logrus.AllLevels }

func (h hearing) Fire(entry *logrus.Entry) error {
	if entry.Message == h.message {
		close(h.heard)
	}
	return nil
}

// TestAnApplicationsJobThatCanHardlyFitIsToldSo would catch a job that waits for slots for which the nodes
// have no memory, without a warning for its user.
func TestAnApplicationsJobThatCanHardlyFitIsToldSo(t *testing.T) {
	t.Parallel()
	lines := input(t, "x\ny\nx\n")
	for name, test := range map[string]struct {
		nodes []launch.Node
		told  int
	}{
		"small nodes":                    {[]launch.Node{{Host: "n1", MemoryMB: 1024}, {Host: "n2", MemoryMB: 1024}}, 2},
		"a large one":                    {[]launch.Node{{Host: "n1", MemoryMB: 1 << 20}}, 0},
		"nodes of which nothing is said": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := applicationOf(t, func(_ *process, l *led) { l.mode.(*application).staged.Nodes = test.nodes }, nil, true, "count="+lines, "count="+lines)
			if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationSucceeded {
				t.Errorf("run = %+v, %v", s.outcome, err)
			}
			said, err := os.ReadFile(filepath.Join(s.env.logDir, "driver.stderr"))
			if told := strings.Count(string(said), "bobbin: warning: the job may not fit"); err != nil || told != test.told {
				t.Errorf("it is told %d times of 2 jobs, want %d: %q, %v", told, test.told, said, err)
			}
		})
	}
}

// TestAProgramOverItsShareIsEndedBeforeTheContainer would catch a plan for whose memory YARN kills the
// ApplicationMaster, with all jobs of a session, and an error without the option to raise.
func TestAProgramOverItsShareIsEndedBeforeTheContainer(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"hog", "hog-at-once"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			// This process holds more than 64 MB by itself.
			s := applicationOf(t, nil, map[string]string{config.JobManagerProcessSize.Name(): "64m"}, true, word)
			if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationFailed ||
				!strings.Contains(s.outcome.Diagnostics, "and its share is 56 MB; raise jobmanager.memory.process.size (the container has 64 MB)") {
				t.Errorf("run = %+v, %v; want FAILED with the option to raise", s.outcome, err)
			}
		})
	}
}

// TestAShutDownEndsTheProgram would catch a driver that continues without its cluster.
func TestAShutDownEndsTheProgram(t *testing.T) {
	t.Parallel()
	s := applicationOf(t, nil, nil, true, "hang")
	if err := s.component().Dispatcher.ShutDown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationCanceled {
		t.Errorf("run = %+v, %v; want CANCELED", s.outcome, err)
	}
}

// TestAFailedProgramEndsAsItsJob would catch a cancelled application that YARN shows as a failed program,
// and a program's own error that a job's error hides.
func TestAFailedProgramEndsAsItsJob(t *testing.T) {
	t.Parallel()
	exit, plan := fmt.Errorf("%w: exit status 1", driver.ErrExit), &driver.PlanError{Message: "cursed"}
	for name, test := range map[string]struct {
		last msg.JobEnded
		why  error
		want dispatcher.Outcome
	}{
		"after a job that was cancelled": {msg.JobEnded{Status: msg.JobCanceled}, exit, dispatcher.Outcome{Status: msg.ApplicationCanceled, Diagnostics: "job was cancelled"}},
		"after one that failed": {
			msg.JobEnded{Status: msg.JobFailed, Failure: msg.NewFailure("boom", "main.f()")},
			exit,
			dispatcher.Outcome{Status: msg.ApplicationFailed, Diagnostics: "boom\nmain.f()"},
		},
		"after one that finished":  {msg.JobEnded{Status: msg.JobFinished}, exit, dispatcher.Outcome{Status: msg.ApplicationFailed, Diagnostics: exit.Error()}},
		"with a reason of its own": {msg.JobEnded{Status: msg.JobCanceled}, plan, dispatcher.Outcome{Status: msg.ApplicationFailed, Diagnostics: "cursed"}},
		"before any job":           {msg.JobEnded{}, driver.ErrNoJob, dispatcher.Outcome{Status: msg.ApplicationFailed, Diagnostics: driver.ErrNoJob.Error()}},
	} {
		if got := failed(test.last, test.why); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}
