package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarnworkers"
	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/shutdown"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// testAttempt is the ApplicationMaster's container in these tests.
const testContainer = "container_1700000000000_0007_01_000001"

func testEnvironment(t *testing.T, staging string) environment {
	t.Helper()
	container, err := records.ParseContainerID(testContainer)
	if err != nil {
		t.Fatal(err)
	}
	hadoop, err := hadoopconf.Parse([]byte("<configuration/>"))
	if err != nil {
		t.Fatal(err)
	}
	return environment{
		container: container, host: "127.0.0.1", hadoop: hadoop, credentials: creds.New(),
		launch: launch.AppMaster{
			Mode: launch.PerJob, StagingDir: staging, User: "alice", Attached: true,
			Bobbin:       launch.Resource{URI: "hdfs://nn:8020/cache/11/bobbin", Size: 1, Timestamp: 2},
			BobbinSHA256: bobbinHash,
			Program:      launch.Resource{URI: "hdfs://nn:8020/cache/5a/wordcount", Size: 3, Timestamp: 4},
			ProgramRef:   msg.Program{Name: "counting", SHA256: programHash},
		},
	}
}

// started is an ApplicationMaster that gets its workers from w.
type started struct {
	*process
	staging string // directory
	led     chan *led
	ended   chan error
	outcome dispatcher.Outcome // read after ended
}

// runMaster builds the ApplicationMaster of an application as Main does, but without YARN, and runs it
// after a last change.
func runMaster(t *testing.T, ctx context.Context, w *workers, content *dataflowtest.Files, describe func(*environment), change func(*process, *led)) *started {
	t.Helper()
	dir := t.TempDir()
	env := testEnvironment(t, "file://"+dir)
	if describe != nil {
		describe(&env)
	}
	if w.outlives != nil {
		env.container.Attempt.Attempt, env.launch.HighAvailability = w.attempt, env.launch.StagingDir
	}
	stage(t, env, content)
	var err error
	s := &started{staging: dir, led: make(chan *led, 1), ended: make(chan error, 1)}
	ours := func(_ *process, supply Supply, _ *clienttoam.Verifier) (resourcemanager.WorkerProvider, error) {
		supply.Registered("")
		return w, nil
	}
	if s.process, err = build(ctx, time.Now(), env, quiet(), ours); err != nil {
		t.Fatal(err)
	}
	w.mux = s.Mux()
	if w.outlives != nil {
		s.outside.Election = w.outlives.Election(ids.Epoch(w.attempt))
	}
	s.leads = func(l *led) {
		if change != nil {
			change(s.process, l)
		}
		s.led <- l
	}
	go func() {
		var err error
		s.outcome, err = s.process.run(ctx)
		s.ended <- err
	}()
	select { // the owner finds the access file from now on
	case l := <-s.led:
		s.led <- l
	case err := <-s.ended:
		s.ended <- err
	}
	return s
}

// stagedJob is what a client stages for a job that counts what content has.
func stagedJob(t *testing.T, content *dataflowtest.Files) []byte {
	t.Helper()
	graph, err := json.Marshal(planned(t, content, "/in", nil))
	if err != nil {
		t.Fatal(err)
	}
	job, err := json.Marshal(launch.Staged{Job: &launch.Job{ID: testJob, Graph: graph}})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// stage stages such a job.
func stage(t *testing.T, env environment, content *dataflowtest.Files) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(strings.TrimPrefix(env.launch.StagingDir, "file://"), launch.StagedFile), stagedJob(t, content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// component returns the roles, once the ApplicationMaster leads.
func (s *started) component() *Component {
	l := <-s.led
	s.led <- l
	return l.component
}

// access reads the access file in a staging directory, as the owner's client would.
func access(t *testing.T, dir string) launch.Access {
	t.Helper()
	file := filepath.Join(dir, launch.AccessFile)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("%s has mode %o, want 600: it holds the token", file, info.Mode().Perm())
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var access launch.Access
	if err := json.Unmarshal(content, &access); err != nil {
		t.Fatal(err)
	}
	return access
}

// fetch does what the owner's client does until the job has ended.
func (s *started) fetch(t *testing.T) {
	t.Helper()
	owner, err := client.NewClusterClient(access(t, s.staging))
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	for cursor := int64(0); ; {
		page, err := owner.CollectPage(t.Context(), testJob, "counts", cursor)
		if client.Unreachable(err) { // the job is starting
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if cursor = page.Next; page.End {
			break
		}
	}
	if ended, err := owner.Result(t.Context(), testJob); err != nil || ended.Status != msg.JobFinished {
		t.Errorf("owner gets %+v, error %v; want FINISHED", ended, err)
	}
}

func (s *started) filesStay() bool {
	_, err := os.Stat(s.staging)
	return !errors.Is(err, fs.ErrNotExist)
}

// TestAnnouncementReplacesAnEarlierAttempts would catch a second attempt that cannot start, and an access
// file that leads the owner to the first.
func TestAnnouncementReplacesAnEarlierAttempts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := dfs.New(dfs.Options{Logger: quiet()})
	defer files.Close()
	for epoch, attempt := range []string{"first", "second"} {
		term, err := Unprotected(files, "file://"+dir, ids.Epoch(epoch+1)).Lead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		content, err := json.Marshal(launch.Access{Address: attempt, Authority: []byte(attempt)})
		if err != nil {
			t.Fatal(err)
		}
		if err := term.Store.Publish(t.Context(), "node1:4711", content); err != nil {
			t.Fatal(err)
		}
		if got := access(t, dir); string(got.Authority) != attempt || got.Address != attempt {
			t.Errorf("the owner is sent to %s of attempt %s, want the %s", got.Address, got.Authority, attempt)
		}
	}
}

// TestAnAttemptAnnouncesItselfBesideAnother would catch an attempt without high availability that ends because an earlier one,
// which YARN has lost, writes the access file at the same time.
func TestAnAttemptAnnouncesItselfBesideAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := dfs.New(dfs.Options{Logger: quiet()})
	defer files.Close()
	publish := func(files FileSystem, epoch ids.Epoch) {
		term, err := Unprotected(files, "file://"+dir, epoch).Lead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := term.Store.Publish(t.Context(), "node1:4711", fmt.Appendf(nil, `{"Address":"attempt %d"}`, epoch)); err != nil {
			t.Fatal(err)
		}
	}
	publish(beforeRename{files, sync.OnceFunc(func() { publish(files, 1) })}, 2)
	if got := access(t, dir).Address; got != "attempt 2" {
		t.Errorf("the owner is sent to %s, want the one that was last", got)
	}
}

// beforeRename calls do before a rename.
type beforeRename struct {
	FileSystem
	do func()
}

func (b beforeRename) Rename(ctx context.Context, from, to string) error {
	b.do()
	return b.FileSystem.Rename(ctx, from, to)
}

// TestAnApplicationEndsInOrder would catch staged files that are removed before YARN has recorded the end,
// although another attempt may need them, or that stay after it; workers that still run when YARN reports
// the end of the application; and an owner who does not get the result.
func TestAnApplicationEndsInOrder(t *testing.T) {
	t.Parallel()
	content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\ny\n"})
	w := newWorkers(t, content)
	var s *started
	w.deregister = func(context.Context) error {
		if !s.filesStay() {
			w.write("without staged files")
		}
		return nil
	}
	s = runMaster(t, t.Context(), w, content, nil, nil)
	s.fetch(t)
	if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationSucceeded {
		t.Errorf("run = %+v, %v; want SUCCEEDED", s.outcome, err)
	}
	if diff := cmp.Diff([]string{"release w1", "release w2", `deregister SUCCEEDED ""`}, w.lines()); diff != "" {
		t.Errorf("the end differs (-want +got):\n%s", diff)
	}
	if s.filesStay() {
		t.Error("staged files are left")
	}
	// Not by a connection: another process may have the port by now.
	if conn, err := s.ports.rest.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("REST's port is open after the end: %v, %v", conn, err)
	}
}

// TestHDFSAndYARNMayBeAwayAtTheEnd would catch a finished job whose application fails because HDFS or YARN
// was restarted at that moment.
func TestHDFSAndYARNMayBeAwayAtTheEnd(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nothing answers at this address
	conf := "<configuration><property><name>fs.defaultFS</name><value>hdfs://" + l.Addr().String() + "</value></property></configuration>"
	away, err := dfs.Carried(dfs.Handed{HadoopConf: []byte(conf), User: "alice", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}

	content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	w := newWorkers(t, content)
	const patience = 50 * time.Millisecond // for the steps that may be skipped
	w.deregister = func(ctx context.Context) error {
		back := time.NewTimer(5 * patience)
		defer back.Stop()
		select {
		case <-back.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	s := runMaster(t, t.Context(), w, content, nil, func(m *process, _ *led) {
		if err := m.files.Close(); err != nil {
			t.Error(err)
		}
		m.files, m.outside.Files, m.outside.Launch.StagingDir = away, away, "hdfs://"+l.Addr().String()+"/staging"
		m.outside.Config, err = config.New(config.Layer{Source: "test", Values: map[string]string{
			config.ServicesShutdownTimeout.Name(): config.FormatDuration(patience),
		}})
		if err != nil {
			t.Fatal(err)
		}
	})
	s.fetch(t)
	if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationSucceeded {
		t.Errorf("run = %+v, %v; want SUCCEEDED", s.outcome, err)
	}
}

// TestStagedFilesStayWhereTheEndIsNotConfirmed would catch an attempt that removes the next one's job, and
// a finished job that the next attempt reports as failed: YARN has replaced this attempt while it was
// paused, or its message did not arrive.
func TestStagedFilesStayWhereTheEndIsNotConfirmed(t *testing.T) {
	t.Parallel()
	away := errors.New("YARN is away")
	for name, c := range map[string]struct {
		deregister func(ctx context.Context, w *workers, stop context.CancelCauseFunc) error
		want       error
	}{
		"another attempt has taken over": {func(context.Context, *workers, context.CancelCauseFunc) error { return amrm.ErrAttemptGone }, amrm.ErrAttemptGone},
		"YARN says so meanwhile": {func(ctx context.Context, w *workers, _ context.CancelCauseFunc) error {
			w.broken <- amrm.ErrAttemptGone
			<-ctx.Done()
			return context.Cause(ctx)
		}, amrm.ErrAttemptGone},
		"YARN does not answer": {func(context.Context, *workers, context.CancelCauseFunc) error { return away }, away},
		"the process is stopped before YARN answers": {func(ctx context.Context, _ *workers, stop context.CancelCauseFunc) error {
			stop(terminated)
			<-ctx.Done()
			return context.Cause(ctx)
		}, terminated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
			w := newWorkers(t, content)
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			w.deregister = func(ctx context.Context) error { return c.deregister(ctx, w, stop) }
			s := runMaster(t, ctx, w, content, nil, nil)
			s.fetch(t)
			if err := <-s.ended; !errors.Is(err, c.want) {
				t.Errorf("run = %v, want %v", err, c.want)
			}
			if !s.filesStay() {
				t.Error("staged files were removed")
			}
		})
	}
}

// terminated is the cause of an end by SIGTERM.
var terminated = shutdown.Received{Signal: syscall.SIGTERM}

// TestAProcessThatIsStoppedTouchesNothing would catch an attempt that ends the application, or removes its
// files, while YARN starts the next one.
func TestAProcessThatIsStoppedTouchesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  func(w *workers, stop context.CancelCauseFunc)
		want error
		code int
	}{
		"by SIGTERM":                      {func(_ *workers, stop context.CancelCauseFunc) { stop(terminated) }, terminated, exitUnknown},
		"because YARN knows it no longer": {func(w *workers, _ context.CancelCauseFunc) { w.broken <- amrm.ErrAttemptGone }, amrm.ErrAttemptGone, exitFatal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reading, goOn := make(chan struct{}, 100), make(chan struct{})
			content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
			w := newWorkers(t, content.View(func(call dataflowtest.Call) error {
				if call.Op == "Load" && !call.Done {
					reading <- struct{}{}
					<-goOn
				}
				return nil
			}))
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			s := runMaster(t, ctx, w, content, nil, nil)
			<-reading
			test.end(w, stop)
			close(goOn)
			if err := <-s.ended; !errors.Is(err, test.want) {
				t.Errorf("run = %v, want %v", err, test.want)
			}
			if lines := w.lines(); len(lines) > 0 {
				t.Errorf("driver was told %q", lines)
			}
			if !s.filesStay() {
				t.Error("staged files were removed")
			}
		})
	}
}

// TestStartNamesWhatIsMissing would catch an ApplicationMaster that cannot start
// and does not say why, or leaves ports open.
func TestStartNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	job := stagedJob(t, content)
	given := func(_ *process, s Supply, _ *clienttoam.Verifier) (resourcemanager.WorkerProvider, error) {
		s.Registered("")
		return newWorkers(t, content), nil
	}
	for name, test := range map[string]struct {
		staged  string // the job, "" for none
		workers getWorkers
		spoil   func(*environment)
		want    error  // nil: any
		text    string // in the error
	}{
		"no staged job":                          {"", given, nil, ErrNotStarted, "/" + launch.StagedFile},
		"nothing to do":                          {"{}", given, nil, ErrNotStarted, "it has no job"},
		"half a staged job":                      {string(job[:len(job)/2]), given, nil, ErrNotStarted, "/" + launch.StagedFile},
		"credentials without a token":            {string(job), connectYARN, nil, yarnworkers.ErrNoToken, "appattempt_1700000000000_0007_000001"},
		"a host that is not this one":            {string(job), given, func(e *environment) { e.host = "192.0.2.1" }, nil, "192.0.2.1"},
		"a configuration of Hadoop that is none": {string(job), given, func(e *environment) { e.launch.HadoopConf = []byte("{}") }, nil, "Hadoop configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if test.staged != "" {
				if err := os.WriteFile(filepath.Join(dir, launch.StagedFile), []byte(test.staged), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := testEnvironment(t, "file://"+dir)
			if test.spoil != nil {
				test.spoil(&env)
			}
			err := start(t, env, test.workers)
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("build = %v, want %v and %q", err, test.want, test.text)
			}
		})
	}
}

// start builds and runs an ApplicationMaster that cannot serve.
func start(t *testing.T, env environment, workers getWorkers) error {
	t.Helper()
	m, err := build(t.Context(), time.Now(), env, quiet(), workers)
	if err == nil {
		_, err = m.run(t.Context())
	}
	return err
}

// TestAStagedJobThatIsTooLargeIsFinal would catch an ApplicationMaster that decodes a job for which its
// container has no memory: YARN killed it, started a second attempt, and told the client nothing of the
// job's size.
func TestAStagedJobThatIsTooLargeIsFinal(t *testing.T) {
	t.Parallel()
	content := dataflowtest.NewFiles(map[string]string{"/in/a": "x\n"})
	w := newWorkers(t, content)
	s := runMaster(t, t.Context(), w, content, func(e *environment) {
		var err error
		if e.config, err = config.New(config.Layer{Source: "test", Values: map[string]string{config.JobManagerHeapSize.Name(): "1k"}}); err != nil {
			t.Fatal(err)
		}
	}, nil)
	if err := <-s.ended; err != nil || s.outcome.Status != msg.ApplicationFailed {
		t.Errorf("run = %+v, %v; want FAILED", s.outcome, err)
	}
	for _, part := range []string{"too large", launch.StagedFile + " has 0.", "memory for 0.0 MiB: raise jobmanager.memory.heap.size"} {
		if !strings.Contains(s.outcome.Diagnostics, part) {
			t.Errorf("diagnostics %q lack %q", s.outcome.Diagnostics, part)
		}
	}
	if lines := w.lines(); !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "deregister FAILED") }) {
		t.Errorf("YARN is told %q", lines)
	}
}
