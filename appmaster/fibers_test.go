package appmaster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/integration/sim/dfsmodel"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	job     = ids.JobID("0123456789abcdef0123456789abcdef")
	area    = "hdfs://sim/user/alice/.bobbin"
	staging = area + "/application_1700000000000_0007"
	out     = "hdfs://sim/out"
	parts   = out + "/_temporary/" + string(job)
)

var (
	program = strings.Repeat("5a", 32) // hash of a program that the session holds

	_ appmaster.FileSystem = (*dfs.FS)(nil)
	_ appmaster.FileSystem = (*dfsmodel.FileSystem)(nil)
)

// graph is a job whose only task needs a worker.
func graph() jobgraph.JobGraph {
	g := jobgraph.JobGraph{
		ProtocolVersion: jobgraph.ProtocolVersion, Job: "read", Name: "read",
		Vertices: []jobgraph.Vertex{{Name: "read", Operators: []string{"read"}, Parallelism: 2, Source: true, Outputs: []string{out}}},
	}
	g.Digest = g.ComputeDigest()
	return g
}

// client acts at the front of a Master.
type client func(ctx context.Context, d appmaster.Desk) error

// fibers runs a Master in virtual time. It is the outside of the Master: an HDFS whose calls take time, and a
// provider without workers. What it sees and what the Master logs is the transcript.
type fibers struct {
	engine     *engine.Engine
	space      *dfsmodel.Namespace
	random     *rand.Rand
	transcript bytes.Buffer
	process    *engine.Process
	client     client
	registered func(queue string)
	outcome    dispatcher.Outcome
	fault      error
	done       bool
}

func epoch() time.Time { return time.Unix(1_700_000_000, 0) }

// startMaster starts a Master of a mode. In any mode there are staged files and unfinished output.
func startMaster(t *testing.T, seed uint64, mode launch.Mode, client client) *fibers {
	t.Helper()
	f := &fibers{
		engine: engine.New(epoch(), seed), space: dfsmodel.NewNamespace(epoch()),
		random: rand.New(rand.NewPCG(seed, 1)), client: client,
	}
	t.Cleanup(f.engine.Close)
	staged := launch.Staged{Nodes: []launch.Node{{Host: "n1", Port: 8041, MemoryMB: 4096, VCores: 4}}}
	if mode == launch.PerJob {
		encoded, err := json.Marshal(graph())
		if err != nil {
			t.Fatal(err)
		}
		staged.Job = &launch.Job{ID: job, Graph: encoded}
	}
	content, err := json.Marshal(staged)
	if err != nil {
		t.Fatal(err)
	}
	files := dfsmodel.New(dfsmodel.Options{Namespace: f.space, Caller: atOnce{}, Client: "client", User: "alice"})
	for _, dir := range []string{area, staging, area + "/cache", area + "/cache/" + program} {
		if err := files.MkdirAllMode(t.Context(), dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.MkdirAll(t.Context(), parts); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{
		staging + "/" + launch.StagedFile: string(content), parts + "/p0": "unfinished", area + "/cache/" + program + "/read": "ELF",
	} {
		if err := files.WriteFile(t.Context(), file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logger := logrus.New()
	logger.SetOutput(&f.transcript)
	logger.SetLevel(logrus.DebugLevel)
	logger.SetFormatter(f)
	f.process = f.engine.Start("master", func(ctx context.Context) {
		f.outcome, f.fault = f.run(ctx, mode, logger)
		f.done = true
	}, nil)
	return f
}

// run is the process of the Master.
func (f *fibers) run(ctx context.Context, mode launch.Mode, logger logrus.FieldLogger) (dispatcher.Outcome, error) {
	defer func() { f.note("process ends") }() // also if it is killed
	options, err := config.New()
	if err != nil {
		return dispatcher.Outcome{}, err
	}
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(f.random.Uint32())
	}
	files := dfsmodel.New(dfsmodel.Options{Namespace: f.space, Caller: f, Client: "master", User: "alice"})
	m, err := appmaster.New(appmaster.Outside{
		Launch: launch.AppMaster{
			Mode: mode, StagingDir: staging, User: "alice",
			Bobbin: launch.Resource{URI: area + "/cache/b0/bobbin"}, Program: launch.Resource{URI: area + "/cache/" + program + "/read"},
		},
		Attempt:  records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1_700_000_000_000, ID: 7}, Attempt: 1},
		Config:   options,
		Files:    files,
		Election: appmaster.Unprotected(files, staging, 1),
		Access:   func() launch.Access { return launch.Access{Address: "n1:8081"} },
		Workers: appmaster.Workers{Provider: func(s appmaster.Supply) (resourcemanager.WorkerProvider, error) {
			s.Nodes(func(_ context.Context, known []records.NodeReport) { f.note("provider knows %d nodes", len(known)) })
			f.registered = s.Registered
			return f, nil
		}},
		Roles:      func(*rolerpc.Mux) appmaster.RoleServer { return &roles{closed: make(chan struct{})} },
		Front:      func(d appmaster.Desk) appmaster.Front { return front{f, d} },
		FreeMemory: func() { f.note("memory is freed") },
		Entropy:    ids.Source{Reader: rand.NewChaCha8(seed)},
	}, logger)
	if err != nil {
		return dispatcher.Outcome{}, err
	}
	return m.Run(ctx)
}

// runToEnd takes all events, at most those of a day.
func (f *fibers) runToEnd(t *testing.T) {
	t.Helper()
	for f.engine.Now().Before(epoch().Add(24*time.Hour)) && f.engine.Step() {
	}
	if err := f.engine.Err(); err != nil {
		t.Fatal(err)
	}
}

// left reports whether the staged files and the unfinished output are there.
func (f *fibers) left() (staged, output bool) {
	there := func(name string) bool {
		return slices.ContainsFunc(f.space.Tree(f.engine.Now(), "/"), func(s dfsmodel.Status) bool { return path.Base(s.Path) == name })
	}
	return there(launch.StagedFile), there("p0")
}

func (f *fibers) now() string { return f.engine.Now().UTC().Format("15:04:05.000000 ") }

func (f *fibers) note(format string, args ...any) {
	fmt.Fprintf(&f.transcript, f.now()+format+"\n", args...)
}

// Format implements logrus.Formatter.
func (f *fibers) Format(e *logrus.Entry) ([]byte, error) {
	text := logrus.TextFormatter{DisableTimestamp: true, DisableColors: true}
	line, err := text.Format(e)
	return append([]byte(f.now()), line...), err
}

// Call implements dfsmodel.Caller.
func (f *fibers) Call(ctx context.Context, op dfsmodel.Operation, effect func(time.Time) error) error {
	if sched.Sleep(ctx, time.Duration(f.random.Int64N(int64(time.Second)))) != nil {
		return dfsmodel.Abandoned(ctx, op)
	}
	err := effect(f.engine.Now())
	f.note("%s: %v", op, err)
	return err
}

// atOnce is a Caller whose calls take no time.
type atOnce struct{}

func (atOnce) Call(_ context.Context, _ dfsmodel.Operation, effect func(time.Time) error) error {
	return effect(epoch())
}

// Run implements resourcemanager.WorkerProvider.
func (f *fibers) Run(ctx context.Context, _ resourcemanager.Report) error {
	f.registered("")
	sched.First(ctx)
	return context.Cause(ctx)
}

// Order implements resourcemanager.WorkerProvider.
func (f *fibers) Order(_ context.Context, o resourcemanager.Orders) {
	f.note("%d workers are ordered", o.Workers[0].Total)
}

// recorded is in the transcript once YARN has recorded the end.
const recorded = "YARN has recorded the end"

// Deregister implements resourcemanager.WorkerProvider.
func (f *fibers) Deregister(ctx context.Context, status msg.ApplicationStatus, _ string) error {
	f.note("deregister %s", status)
	if err := sched.Sleep(ctx, time.Minute); err != nil {
		return err
	}
	f.note(recorded)
	return nil
}

// roles is a server without streams.
type roles struct{ closed chan struct{} }

func (r *roles) Serve(ctx context.Context) error {
	sched.First(context.WithoutCancel(ctx), r.closed)
	return nil
}

func (r *roles) Close() { close(r.closed) }

// front has one client.
type front struct {
	*fibers
	desk appmaster.Desk
}

func (f front) Serve(ctx context.Context) error {
	f.note("front opens")
	if f.client != nil {
		if err := f.client(ctx, f.desk); err != nil {
			f.note("client gets %v", err)
		}
	}
	sched.First(ctx)
	f.note("front closes")
	return nil
}

// cancels cancels the job after a minute.
func cancels(ctx context.Context, d appmaster.Desk) error {
	if err := sched.Sleep(ctx, time.Minute); err != nil {
		return err
	}
	return d.Gateway.CancelJob(ctx, job)
}

// submits submits a job to a session, waits until the job has failed and the session has settled, and ends the
// session.
func submits(ctx context.Context, d appmaster.Desk) error {
	err := d.Session.SubmitJob(ctx, restapi.JobSubmission{Job: job, Graph: graph(), Program: restapi.ProgramID{SHA256: program}})
	for ended := (msg.JobEnded{}); err == nil && !ended.Status.GloballyTerminal(); {
		ended, err = d.Gateway.JobResult(ctx, job, time.Minute)
	}
	if err == nil {
		err = sched.Sleep(ctx, time.Minute)
	}
	return errors.Join(err, d.Gateway.ShutDown(ctx))
}

// TestAMasterRunsAsFibers runs the real ApplicationMaster in one goroutine and in virtual time. It would
// catch a part of it that starts a goroutine, waits outside of package sched, reads the clock or draws lots,
// and files that stay, or that it removes before YARN has recorded the end.
func TestAMasterRunsAsFibers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		mode   launch.Mode
		client client
		want   msg.ApplicationStatus
		seen   string // in the transcript
	}{
		"a job that gets no worker": {launch.PerJob, nil, msg.ApplicationFailed, "front closes"},
		"a job that is cancelled":   {launch.PerJob, cancels, msg.ApplicationCanceled, "front closes"},
		"a session":                 {launch.Session, submits, msg.ApplicationSucceeded, "memory is freed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var transcripts [2]string
			for i := range transcripts {
				f := startMaster(t, 7, test.mode, test.client)
				f.runToEnd(t)
				transcripts[i] = f.transcript.String()
				if !f.done || f.fault != nil || f.outcome.Status != test.want || !strings.Contains(transcripts[i], test.seen) {
					t.Fatalf("run = %v, %+v, %v; want %s, and %q\n%s", f.done, f.outcome, f.fault, test.want, test.seen, transcripts[i])
				}
				if staged, output := f.left(); staged || output {
					t.Errorf("staged files stay: %v, output: %v\n%s", staged, output, transcripts[i])
				}
			}
			if diff := cmp.Diff(transcripts[0], transcripts[1]); diff != "" {
				t.Errorf("the second run differs (-first +second):\n%s", diff)
			}
			before, _, _ := strings.Cut(transcripts[0], recorded)
			if removal := string(dfsmodel.Delete) + " -r " + strings.TrimPrefix(staging, "hdfs://sim") + ":"; strings.Contains(before, removal) {
				t.Errorf("staged files are gone before YARN knows the end:\n%s", before)
			}
		})
	}
}

// TestOutputIsDiscardedWithoutStagedFiles would catch unfinished output that stays because the client, which
// knows the end from YARN, was faster to remove the staged files.
func TestOutputIsDiscardedWithoutStagedFiles(t *testing.T) {
	t.Parallel()
	var f *fibers
	f = startMaster(t, 7, launch.PerJob, func(ctx context.Context, d appmaster.Desk) error {
		files := dfsmodel.New(dfsmodel.Options{Namespace: f.space, Caller: atOnce{}, Client: "client", User: "alice"})
		return errors.Join(files.RemoveAll(ctx, staging), cancels(ctx, d))
	})
	f.runToEnd(t)
	if _, output := f.left(); !f.done || f.fault != nil || output {
		t.Errorf("run = %v, %v; output stays: %v\n%s", f.done, f.fault, output, f.transcript.String())
	}
}

// TestAKilledMasterLeavesItsFiles kills a Master at many moments. It would catch deferred code that changes
// something outside of the process, and a next attempt that finds no job.
func TestAKilledMasterLeavesItsFiles(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		f := startMaster(t, seed, launch.PerJob, nil)
		at := time.Duration(rand.New(rand.NewPCG(seed, 2)).Int64N(int64(7 * time.Minute)))
		f.engine.After(at, nil, f.process.Kill)
		f.runToEnd(t)
		if staged, output := f.left(); !strings.Contains(f.transcript.String(), recorded) && (!staged || !output) {
			t.Errorf("seed %d: killed after %v; staged files stay: %v, output: %v\n%s", seed, at, staged, output, &f.transcript)
		}
	}
}
