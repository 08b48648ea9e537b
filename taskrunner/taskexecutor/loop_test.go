package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

func quiet() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(io.Discard)
	l.Level = 5 // debug, so that all log lines are made
	return l
}

// role is one of the AM's roles, played by the test.
type role struct {
	t       *testing.T
	hears   msg.Kinds
	streams chan *rolerpc.Stream
	in      chan msg.Message
	closed  chan error
}

func newRole(t *testing.T, hears msg.Kinds) *role {
	return &role{t, hears, make(chan *rolerpc.Stream, 8), make(chan msg.Message, 4096), make(chan error, 8)}
}

func (r *role) accept(s *rolerpc.Stream) (rolerpc.Handler, error) {
	r.streams <- s
	return r, nil
}

func (r *role) Hears() msg.Kinds                         { return r.hears }
func (r *role) Receive(_ context.Context, m msg.Message) { r.in <- m }
func (r *role) Closed(_ context.Context, cause error)    { r.closed <- cause }

// next gives the next message that is no heartbeat.
func next[M msg.Message](t *testing.T, in <-chan msg.Message) M {
	t.Helper()
	patience := time.NewTimer(time.Hour)
	defer patience.Stop()
	for {
		select {
		case m := <-in:
			if wanted, is := m.(M); is {
				return wanted
			}
			if kind := msg.Kind(m); kind != "Heartbeat" && kind != "SlotReport" {
				var want M
				t.Fatalf("got %s, want %s", kind, msg.Kind(want))
			}
		case <-patience.C: // in the bubble's time: all goroutines wait
			var want M
			t.Fatalf("no %s comes", msg.Kind(want))
		}
	}
}

// goroutineHosts are task hosts played by a function.
type goroutineHosts struct {
	behave func(c *control.Conn, killed <-chan struct{}) string
	refuse error
}

func (g goroutineHosts) Start(_ context.Context, _ HostSpec) (Host, error) {
	if g.refuse != nil {
		return nil, g.refuse
	}
	near, far := net.Pipe()
	h := &goroutineHost{conn: near, killed: make(chan struct{}), done: make(chan string, 1)}
	go func() {
		defer far.Close()
		h.done <- g.behave(control.New(far, msg.TaskExecutorToHost), h.killed)
	}()
	return h, nil
}

type goroutineHost struct {
	conn   net.Conn
	once   sync.Once
	killed chan struct{}
	done   chan string
}

func (h *goroutineHost) Control() control.Channel { return Controlling(h.conn) }
func (h *goroutineHost) PID() int                 { return 0 }
func (h *goroutineHost) Wait() Exit               { return Exit{How: <-h.done} }
func (h *goroutineHost) Kill()                    { h.once.Do(func() { close(h.killed) }) }

// cluster is a TaskExecutor among played roles.
type cluster struct {
	t      *testing.T
	rm, jm *role
	local  *rolerpc.Local
	result chan error
	stop   context.CancelCauseFunc

	executor *TaskExecutor
}

func startCluster(t *testing.T, hosts HostStarter, change func(*Config, *Environment)) *cluster {
	t.Helper()
	c := &cluster{t: t, rm: newRole(t, msg.TaskExecutorToResourceManager), jm: newRole(t, msg.TaskExecutorToJobMaster), result: make(chan error, 1)}
	var mux rolerpc.Mux
	mux.Handle("resourcemanager", c.rm.accept)
	mux.Handle("jobmaster/", c.jm.accept)
	c.local = rolerpc.NewLocal(&mux, rolerpc.LocalConfig{Logger: quiet(), Encode: true})
	config := testConfig(1)
	config.Memory = memory.Worker{} // nothing to sample
	env := Environment{Roles: OneMaster{c.local}, Hosts: hosts, Logger: quiet(), Instructions: msg.StartHost{ListenHost: "127.0.0.1", LogDir: "logs"}}
	if change != nil {
		change(&config, &env)
	}
	te, err := New(config, env)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	c.stop, c.executor = cancel, te
	go func() { c.result <- te.Run(ctx) }()
	return c
}

// register admits the worker and grants a slot to job j1.
func (c *cluster) register() (rm, jm *rolerpc.Stream) {
	c.t.Helper()
	rm = c.admit()
	return rm, c.grant(rm, 0, "j1", msg.Program{SHA256: "5a"})
}

// admit admits the worker.
func (c *cluster) admit() *rolerpc.Stream {
	c.t.Helper()
	rm := <-c.rm.streams
	next[msg.RegisterTaskExecutor](c.t, c.rm.in)
	rm.SetToken("r1")
	rm.Send(msg.TaskExecutorRegistered{ResourceManager: "r1", HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second})
	return rm
}

// grant grants slot i, as allocation a(i+1), to a job without other slots.
func (c *cluster) grant(rm *rolerpc.Stream, i int, job ids.JobID, program msg.Program, files ...jobgraph.CachedFile) *rolerpc.Stream {
	c.t.Helper()
	allocation := ids.AllocationID(fmt.Sprintf("a%d", i+1))
	rm.Send(msg.RequestSlots{Slots: []msg.SlotOffer{{Index: i, Allocation: allocation}}, Job: job, JobMaster: "m1", Program: program, Memory: testSlot})
	if answer := next[msg.SlotRequestsAnswered](c.t, c.rm.in); len(answer.Refused) > 0 {
		c.t.Fatal(answer.Refused)
	}
	jm := <-c.jm.streams
	next[msg.RegisterAtJobMaster](c.t, c.jm.in)
	jm.SetToken("m1")
	jm.Send(msg.RegisteredAtJobMaster{JobMaster: "m1", Job: msg.JobSpec{ID: job, Name: "wordcount", Files: files}, HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second})
	next[msg.OfferSlots](c.t, c.jm.in)
	jm.Send(msg.SlotOffersAnswered{Accepted: []ids.AllocationID{allocation}})
	return jm
}

func (c *cluster) finish(want error) {
	c.t.Helper()
	if err := <-c.result; !errors.Is(err, want) || want == nil && err != nil {
		c.t.Errorf("it ended with %v, want %v", err, want)
	}
	if err := c.local.Close(); err != nil {
		c.t.Error(err)
	}
}

// obedient is a host that obeys all messages.
func obedient(c *control.Conn, _ <-chan struct{}) string {
	return obey(c, func(msg.StartHost) {})
}

func obey(c *control.Conn, told func(msg.StartHost), updated ...func(msg.UpdateTokens)) string {
	if c.Send(msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion}) != nil {
		return "hello"
	}
	for {
		m, err := c.Receive()
		if err != nil {
			return "end of file"
		}
		switch m := m.(type) {
		case msg.StartHost:
			told(m)
			err = c.Send(msg.HostReady{DataAddress: m.ListenHost + ":1"})
		case msg.ResetHost:
			err = c.Send(msg.HostReady{Host: m.Host, DataAddress: "127.0.0.1:2"})
		case msg.UpdateTokens:
			for _, f := range updated {
				f(m)
			}
		case msg.DeployTasks:
			err = c.Send(msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{State: msg.ExecutionRunning, Execution: m.Tasks[0].Execution}}})
		case msg.Heartbeat:
			err = c.Send(m)
		case msg.StopHost:
			return "exit status 0"
		default:
		}
		if err != nil {
			return err.Error()
		}
	}
}

func TestLifeOfAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		authority, err := pki.NewAuthority("application_1_1", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		identity, err := authority.IssueTaskExecutor("w1", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var told msg.StartHost
		hosts := goroutineHosts{behave: func(c *control.Conn, _ <-chan struct{}) string {
			return obey(c, func(m msg.StartHost) { told = m })
		}}
		c := startCluster(t, hosts, func(_ *Config, env *Environment) { env.Identity = identity })
		rm, jm := c.register()
		ready := next[msg.HostReady](t, c.jm.in)
		if told.Host != ready.Host || told.Job.ID != "j1" || told.Resource != "w1" || told.Memory != testSlot || told.ListenHost != "127.0.0.1" || told.LogDir != "logs" {
			t.Errorf("host is told %+v", told)
		}
		credentials, err := pki.ParseCertificates(told.Certificates)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(pki.Identity{Application: "application_1_1", Role: pki.RoleTaskHost, Job: "j1", Resource: "w1"}, credentials.Identity()); diff != "" {
			t.Errorf("host is another (-want +got):\n%s", diff)
		}
		execution := ids.ExecutionAttemptID{Vertex: 2}
		jm.Send(msg.DeployTasks{Host: ready.Host, Tasks: []msg.TaskDeployment{{Execution: execution}}})
		if changed := next[msg.TaskStatesChanged](t, c.jm.in); changed.Changes[0].Execution != execution {
			t.Errorf("another task runs: %+v", changed)
		}
		for range 12 { // two minutes of the bubble: heartbeats keep the link
			time.Sleep(10 * time.Second)
			rm.Send(msg.Heartbeat{})
			jm.Send(msg.Heartbeat{})
		}
		jm.Send(msg.FreeSlots{Allocations: []ids.AllocationID{"a1"}, Cause: "job has ended"})
		if lost := next[msg.HostLost](t, c.jm.in); lost.Host != ready.Host || lost.Reason != msg.HostStopped {
			t.Errorf("the JobMaster is told %+v of a host that is stopped", lost)
		}
		next[msg.SlotsFreed](t, c.rm.in)
		next[msg.Disconnect](t, c.jm.in)
		rm.Send(msg.ReleaseTaskExecutor{Cause: "idle"})
		if m := next[msg.Disconnect](t, c.rm.in); m.Cause != "idle" {
			t.Errorf("it leaves with %q", m.Cause)
		}
		c.finish(nil)
	})
}

// TestTokensReachHosts would catch tokens that do not reach a host, and tokens of an old leader
// that replace the newest.
func TestTokensReachHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan msg.Message, 8)
		c := startCluster(t, goroutineHosts{behave: func(c *control.Conn, _ <-chan struct{}) string {
			return obey(c, func(m msg.StartHost) { told <- m }, func(m msg.UpdateTokens) { told <- m })
		}}, func(config *Config, _ *Environment) { config.Tokens = msg.Secret("first") })
		rm, _ := c.register()
		next[msg.HostReady](t, c.jm.in)
		if start := next[msg.StartHost](t, told); string(start.Tokens) != "first" {
			t.Errorf("the host starts with %q", []byte(start.Tokens))
		}
		rm.SetToken("r0")
		rm.Send(msg.UpdateTokens{Tokens: msg.Secret("of an old leader")})
		rm.SetToken("r1")
		rm.Send(msg.UpdateTokens{Tokens: msg.Secret("second")})
		if update := next[msg.UpdateTokens](t, told); string(update.Tokens) != "second" {
			t.Errorf("the host gets %q", []byte(update.Tokens))
		}
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestCancelledWorkerLeavesNoHost would catch a host that outlives its TaskExecutor, or a hanging
// host that keeps the TaskExecutor from ending.
func TestCancelledWorkerLeavesNoHost(t *testing.T) {
	for name, behave := range map[string]func(*control.Conn, <-chan struct{}) string{
		"a host that sees end of file": obedient,
		"a host that hangs": func(c *control.Conn, killed <-chan struct{}) string {
			_ = c.Send(msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion})
			<-killed
			return "signal: killed"
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := startCluster(t, goroutineHosts{behave: behave}, nil)
				c.register()
				synctest.Wait()
				cause := errors.New("terminated")
				c.stop(cause)
				c.finish(cause)
				var disconnect *rolerpc.DisconnectError
				if err := <-c.rm.closed; !errors.As(err, &disconnect) {
					t.Errorf("the ResourceManager was told %v", err)
				}
			})
		})
	}
}

// TestHostThatCannotBeStartedIsTold would catch a JobMaster that waits for a host that never comes,
// and a job that fails because of one node.
func TestHostThatCannotBeStartedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, goroutineHosts{refuse: errors.New("exec format error")}, nil)
		c.register()
		m := next[msg.HostLost](t, c.jm.in)
		if m.Reason == msg.HostFailed {
			m = next[msg.HostLost](t, c.jm.in)
		}
		if m.Reason != msg.HostUnavailable || m.Failure.Permanent || !strings.Contains(m.Failure.Message, "cannot be started: exec format error") {
			t.Errorf("the JobMaster is told %+v", m)
		}
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestHostThatTakesNoMessagesIsKilled would catch a loop that waits for a host.
func TestHostThatTakesNoMessagesIsKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, goroutineHosts{behave: func(c *control.Conn, killed <-chan struct{}) string {
			for _, m := range []msg.Message{msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion}, nil, msg.HostReady{}} {
				var err error
				if m == nil {
					_, err = c.Receive() // read startHost and nothing more
				} else {
					err = c.Send(m)
				}
				if err != nil {
					return err.Error()
				}
			}
			<-killed
			return "signal: killed"
		}}, nil)
		_, jm := c.register()
		next[msg.HostReady](t, c.jm.in)
		for i := range leastRoom + 2 {
			jm.Send(msg.SplitAssigned{})
			if i%100 == 0 {
				synctest.Wait() // the stream has its own bound
			}
		}
		if m := next[msg.HostLost](t, c.jm.in); !strings.Contains(m.Failure.Message, "signal: killed") {
			t.Errorf("the JobMaster is told %q", m.Failure.Message)
		}
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestAHostThatBreaksTheProtocolIsEnded would catch a host whose message fills the worker's memory, and
// one that is ended without its reason in the job's failure and in the log: the codec's limits were
// only a closed connection at debug level.
func TestAHostThatBreaksTheProtocolIsEnded(t *testing.T) {
	many := make(map[string]int64)
	for n := range 1<<16 + 1 {
		many[strconv.Itoa(n)] = 0
	}
	for name, c := range map[string]struct {
		sends msg.Message
		want  string
	}{
		"a long message":    {msg.HostReady{DataAddress: strings.Repeat("a", msg.MaxWorkerMessage)}, "want at most 2097152: message is too long"},
		"a strange message": {msg.ExecuteJob{}, msg.ErrKind.Error()},
		"many elements":     {msg.TaskStatesChanged{Changes: []msg.TaskStateChange{{Counters: many}}}, codec.ErrMalformed.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			log, logged := logtest.NewNullLogger()
			cluster := startCluster(t, goroutineHosts{behave: func(conn *control.Conn, _ <-chan struct{}) string {
				return obey(conn, func(msg.StartHost) { _ = conn.Send(c.sends) })
			}}, func(_ *Config, env *Environment) { env.Logger = log })
			cluster.register()
			if lost := next[msg.HostLost](t, cluster.jm.in); !strings.Contains(lost.Failure.Message, "it broke the protocol: ") || !strings.Contains(lost.Failure.Message, c.want) {
				t.Errorf("%s: the JobMaster is told %+v, want %q", name, lost, c.want)
			}
			if !slices.ContainsFunc(logged.AllEntries(), func(e *logrus.Entry) bool {
				return e.Level == logrus.ErrorLevel && strings.Contains(fmt.Sprint(e.Data[logrus.ErrorKey]), c.want)
			}) {
				t.Errorf("%s: the log does not say %q", name, c.want)
			}
			cluster.stop(nil)
			cluster.finish(context.Canceled)
		})
	}
}

func TestLostResourceManagerIsFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, goroutineHosts{behave: obedient}, nil)
		rm, _ := c.register()
		next[msg.HostReady](t, c.jm.in)
		rm.Close("leadership is lost")
		<-c.rm.streams
		again := next[msg.RegisterTaskExecutor](t, c.rm.in)
		if diff := cmp.Diff([]msg.SlotStatus{{Allocation: "a1", Job: "j1"}}, again.Slots); diff != "" {
			t.Errorf("it registers with other slots (-want +got):\n%s", diff)
		}
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

// TestAHostOutlivesItsJobMaster would catch a host that starts anew for each JobMaster, and a JobMaster that learns of
// tasks that are not its own.
func TestAHostOutlivesItsJobMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan msg.StartHost, 8)
		c := startCluster(t, goroutineHosts{behave: func(c *control.Conn, _ <-chan struct{}) string {
			return obey(c, func(m msg.StartHost) { told <- m })
		}}, nil)
		rm, _ := c.register()
		first := next[msg.HostReady](t, c.jm.in)
		for range 5 { // the JobMaster is silent
			time.Sleep(10 * time.Second)
			rm.Send(msg.Heartbeat{})
		}
		<-c.jm.closed
		jm := <-c.jm.streams
		next[msg.Disconnect](t, c.jm.in) // of the stream to the silent one
		next[msg.RegisterAtJobMaster](t, c.jm.in)
		jm.SetToken("m1")
		jm.Send(msg.RegisteredAtJobMaster{JobMaster: "m1", Job: msg.JobSpec{ID: "j1", Name: "wordcount"}, HeartbeatInterval: 10 * time.Second, HeartbeatTimeout: 50 * time.Second})
		next[msg.OfferSlots](t, c.jm.in)
		second := next[msg.HostReady](t, c.jm.in)
		if second.Host == first.Host || second.DataAddress == first.DataAddress || len(told) != 1 {
			t.Errorf("%d hosts were started, and the JobMaster is told %+v after %+v", len(told), second, first)
		}
		execution := ids.ExecutionAttemptID{Vertex: 2}
		jm.Send(msg.DeployTasks{Host: second.Host, Tasks: []msg.TaskDeployment{{Execution: execution}}})
		if changed := next[msg.TaskStatesChanged](t, c.jm.in); changed.Changes[0].Execution != execution {
			t.Errorf("another task runs: %+v", changed)
		}
		c.stop(nil)
		c.finish(context.Canceled)
	})
}

func TestWorkerWithoutResourceManagerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nobody rolerpc.Mux
		c := startCluster(t, goroutineHosts{}, func(_ *Config, env *Environment) {
			env.Roles = OneMaster{rolerpc.NewLocal(&nobody, rolerpc.LocalConfig{Logger: quiet()})}
		})
		c.finish(errUnregistered)
	})
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, goroutineHosts{}, nil)
		rm := <-c.rm.streams
		rm.Send(msg.RegistrationRejected{Reason: "not expected"})
		c.finish(ErrRejected)
	})
}

func TestConfigNamesAllFaults(t *testing.T) {
	t.Parallel()
	_, err := New(Config{}, Environment{Logger: quiet()})
	if err == nil {
		t.Fatal("an empty config was taken")
	}
	for _, part := range []string{"resource id", "taskmanager.numberOfTaskSlots", "taskmanager.slot.timeout", "cluster.registration.initial-timeout"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error does not name %s: %v", part, err)
		}
	}
}
