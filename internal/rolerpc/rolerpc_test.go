package rolerpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const app = "application_1700000000000_0001"

// recorder is a handler that keeps what it receives.
type recorder struct {
	mu       sync.Mutex
	received []msg.Message
	arrived  chan struct{} // a token for each Receive, if there is room
	closed   chan error    // one cause; a second would panic below
	block    chan struct{} // unless nil, Receive waits for it
}

func newRecorder() *recorder {
	return &recorder{arrived: make(chan struct{}, 4096), closed: make(chan error, 1)}
}

// everything is the set of messages in these tests, in both directions.
var everything = msg.KindsOf(msg.Heartbeat{}, msg.Disconnect{}, msg.RegisterTaskExecutor{}, msg.SlotReport{}, msg.SlotsFreed{},
	msg.OfferSlots{}, msg.CollectBatch{}, msg.ReleaseTaskExecutor{})

func (r *recorder) Hears() msg.Kinds { return everything }

func (r *recorder) Receive(_ context.Context, m msg.Message) {
	r.mu.Lock()
	r.received = append(r.received, m)
	r.mu.Unlock()
	r.arrived <- struct{}{}
	if r.block != nil {
		<-r.block
	}
}

func (r *recorder) Closed(_ context.Context, cause error) {
	select {
	case r.closed <- cause:
	default:
		panic("closed twice")
	}
}

func (r *recorder) messages() []msg.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.received)
}

// last returns the message that came last.
func (r *recorder) last() msg.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.received) == 0 {
		return nil
	}
	return r.received[len(r.received)-1]
}

// wait waits for n more messages.
func (r *recorder) wait(t *testing.T, n int) {
	t.Helper()
	for range n {
		select {
		case <-r.arrived:
		case <-t.Context().Done():
			t.Fatal("test ended while waiting for a message")
		}
	}
}

func (r *recorder) cause(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.closed:
		return err
	case <-t.Context().Done():
		t.Fatal("test ended while waiting for the end of a stream")
		return nil
	}
}

// accepting is a role that accepts every stream and keeps its own end of it.
type accepting struct {
	*recorder
	streams chan *Stream
	token   string
}

func newAccepting(token string) *accepting {
	return &accepting{newRecorder(), make(chan *Stream, 16), token}
}

func (a *accepting) accept(s *Stream) (Handler, error) {
	if a.token != "" {
		s.SetToken(a.token)
	}
	a.streams <- s
	return a.recorder, nil
}

func logger() logrus.FieldLogger {
	l := logrus.New()
	l.SetOutput(discard{})
	return l
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// cluster has an application's certificates.
type cluster struct{ authority *pki.Authority }

func newCluster(t *testing.T) cluster {
	t.Helper()
	authority, err := pki.NewAuthority(app, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return cluster{authority}
}

func (c cluster) server(t *testing.T) Config {
	t.Helper()
	am, err := c.authority.IssueApplicationMaster(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return Config{TLS: am.ServerTLS(pki.OnlyRole(pki.RoleTaskExecutor)), Logger: logger()}
}

func (c cluster) worker(t *testing.T, container ids.ResourceID) *pki.Credentials {
	t.Helper()
	te, err := c.authority.IssueTaskExecutor(container, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return te
}

func (c cluster) client(t *testing.T) Config {
	t.Helper()
	return Config{TLS: c.worker(t, "container_2").ClientTLS(pki.OnlyRole(pki.RoleApplicationMaster)), Logger: logger()}
}

// serve starts a server on loopback, until the test ends, and returns its address.
func serve(t *testing.T, server *Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

func dial(t *testing.T, address string, config Config) *Conn {
	t.Helper()
	conn, err := NewConn(address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return conn
}

// opener is the common interface of Conn and Local.
type opener interface {
	Open(ctx context.Context, target string, h Handler) (*Stream, error)
	Close() error
}

// transports runs a test over gRPC and within one process, so that the two cannot differ for roles.
func transports(t *testing.T, test func(t *testing.T, connect func(*Mux) opener)) {
	t.Run("over TLS", func(t *testing.T) {
		test(t, func(mux *Mux) opener {
			certificates := newCluster(t)
			return dial(t, serve(t, NewServer(certificates.server(t), mux)), certificates.client(t))
		})
	})
	for _, encode := range []bool{false, true} {
		t.Run(fmt.Sprintf("within the process, encoded=%t", encode), func(t *testing.T) {
			test(t, func(mux *Mux) opener {
				local := NewLocal(mux, LocalConfig{
					Dialer:   Peer{Identity: pki.Identity{Application: app, Role: pki.RoleTaskExecutor, Resource: "container_2"}},
					Listener: Peer{Identity: pki.Identity{Application: app, Role: pki.RoleApplicationMaster}},
					Logger:   logger(), Encode: encode,
				})
				t.Cleanup(func() { _ = local.Close() })
				return local
			})
		})
	}
}

func open(t *testing.T, conn opener, target string, h Handler) *Stream {
	t.Helper()
	stream, err := conn.Open(t.Context(), target, h)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func freed(slot int) msg.Message {
	return msg.SlotsFreed{Slots: []msg.SlotOffer{{Index: slot, Allocation: "a"}}}
}

func numbered(n int) []msg.Message {
	messages := make([]msg.Message, n)
	for i := range messages {
		messages[i] = freed(i)
	}
	return messages
}

func TestMessagesArriveInOrderBothWays(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, connect func(*Mux) opener) {
		role, worker := newAccepting(""), newRecorder()
		var mux Mux
		mux.Handle("resourcemanager", role.accept)
		stream := open(t, connect(&mux), "resourcemanager", worker)
		far := <-role.streams
		if got := far.Peer().Resource; got != "container_2" {
			t.Errorf("the role sees worker %q", got)
		}
		if got := stream.Peer().Role; got != pki.RoleApplicationMaster {
			t.Errorf("the worker sees role %q", got)
		}
		want := numbered(500)
		for _, m := range want {
			if !stream.Send(m) || !far.Send(m) {
				t.Fatal("message not taken")
			}
		}
		role.wait(t, len(want))
		worker.wait(t, len(want))
		for name, r := range map[string]*recorder{"role": role.recorder, "worker": worker} {
			if diff := cmp.Diff(want, r.messages()); diff != "" {
				t.Errorf("%s received others (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestCloseDeliversWhatWasSentAndTheCause would catch a farewell that overtakes or drops queued
// messages, at either end.
func TestCloseDeliversWhatWasSentAndTheCause(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, connect func(*Mux) opener) {
		var mux Mux
		role := newAccepting("")
		mux.Handle("resourcemanager", role.accept)
		conn := connect(&mux)
		for _, closer := range []string{"worker", "role"} {
			worker := newRecorder()
			role.recorder = newRecorder()
			near := open(t, conn, "resourcemanager", worker)
			far := <-role.streams
			from, to := near, role.recorder
			if closer == "role" {
				from, to = far, worker
			}
			for _, m := range numbered(100) {
				from.Send(m)
			}
			from.Close("no more work")
			if from.Send(msg.Heartbeat{}) {
				t.Errorf("closed by %s: a message was taken after Close", closer)
			}
			for name, r := range map[string]*recorder{"worker": worker, "role": role.recorder} {
				var disconnect *DisconnectError
				if err := r.cause(t); !errors.As(err, &disconnect) || disconnect.Cause != "no more work" {
					t.Errorf("closed by %s: %s was told %v", closer, name, err)
				}
			}
			want := append(numbered(100), msg.Disconnect{Cause: "no more work"})
			if diff := cmp.Diff(want, to.messages()); diff != "" {
				t.Errorf("closed by %s: received (-want +got):\n%s", closer, diff)
			}
		}
	})
}

func TestUnknownTargetsAreRefused(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, connect func(*Mux) opener) {
		var mux Mux
		mux.Handle("jobmaster/", func(s *Stream) (Handler, error) {
			return nil, fmt.Errorf("job %s has ended: %w", strings.TrimPrefix(s.Target(), "jobmaster/"), ErrUnknownTarget)
		})
		mux.Handle("resourcemanager", func(*Stream) (Handler, error) { return nil, errors.New("not leader") })
		mux.Handle("starting", func(*Stream) (Handler, error) { return nil, fmt.Errorf("job feed: %w", ErrNotReady) })
		conn := connect(&mux)
		for target, part := range map[string]string{"jobmaster/feed": "job feed has ended", "dispatcher": `"dispatcher"`, "jobmaster": `"jobmaster"`} {
			if _, err := conn.Open(t.Context(), target, newRecorder()); !errors.Is(err, ErrUnknownTarget) || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: got error %v", target, err)
			}
		}
		if _, err := conn.Open(t.Context(), "resourcemanager", newRecorder()); err == nil || errors.Is(err, ErrUnknownTarget) || errors.Is(err, ErrNotReady) || !strings.Contains(err.Error(), "not leader") {
			t.Errorf("refused stream: got error %v", err)
		}
		if _, err := conn.Open(t.Context(), "starting", newRecorder()); !errors.Is(err, ErrNotReady) || errors.Is(err, ErrUnknownTarget) || !strings.Contains(err.Error(), "job feed") {
			t.Errorf("a role that is being started: got error %v", err)
		}
	})
}

// TestStaleTokensChangeNothing would catch a message from a fenced leader, or to one, that reaches
// a role.
func TestStaleTokensChangeNothing(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, connect func(*Mux) opener) {
		role, worker := newAccepting("leader-2"), newRecorder()
		var mux Mux
		mux.Handle("resourcemanager", role.accept)
		stream := open(t, connect(&mux), "resourcemanager", worker)
		far := <-role.streams

		register := msg.RegisterTaskExecutor{Resource: "container_2"}
		stream.Send(msg.SlotReport{}) // before the registration: no token
		stream.Send(register)
		stream.SetToken("leader-1")
		stream.Send(freed(1))
		stream.Send(register) // a registration at another leader is stale too
		stream.SetToken("leader-2")
		stream.Send(freed(2))
		role.wait(t, 2)
		if diff := cmp.Diff([]msg.Message{register, freed(2)}, role.messages()); diff != "" {
			t.Errorf("role received (-want +got):\n%s", diff)
		}
		if got := far.dropped.Load(); got != 3 {
			t.Errorf("role dropped %d messages, want 3", got)
		}

		far.SetToken("leader-3")
		far.Send(msg.ReleaseTaskExecutor{Cause: "stale"})
		far.SetToken("leader-2")
		far.Send(msg.Heartbeat{})
		worker.wait(t, 1)
		if diff := cmp.Diff([]msg.Message{msg.Heartbeat{}}, worker.messages()); diff != "" {
			t.Errorf("worker received (-want +got):\n%s", diff)
		}
	})
}

func TestPeerThatDoesNotKeepUpIsLost(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, connect func(*Mux) opener) {
		role, worker := newAccepting(""), newRecorder()
		role.block = make(chan struct{})
		var mux Mux
		mux.Handle("resourcemanager", role.accept)
		stream := open(t, connect(&mux), "resourcemanager", worker)
		// More than the outbox and the transport's windows can hold.
		large := msg.CollectBatch{Records: make([]byte, 256<<10)}
		for sent := 0; stream.Send(large); sent++ {
			if sent > 4*leastRoom {
				t.Fatal("a peer that reads nothing took everything")
			}
		}
		if err := worker.cause(t); !errors.Is(err, errOutboxFull) {
			t.Errorf("stream ended with %v, want ErrOutboxFull", err)
		}
		close(role.block)
		if err := role.cause(t); !errors.Is(err, ErrPeerGone) {
			t.Errorf("role was told %v, want ErrPeerGone", err)
		}
	})
}

// TestAPeerSaysWhatItMay would catch a role that decodes any message of its peer, such as a
// worker's JobGraph, with all the memory of it.
func TestAPeerSaysWhatItMay(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, connect func(*Mux) opener) {
		role, worker := newAccepting(""), newRecorder()
		var mux Mux
		mux.Handle("resourcemanager", role.accept)
		stream := open(t, connect(&mux), "resourcemanager", worker)
		stream.Send(msg.Heartbeat{})
		stream.Send(msg.ExecuteJob{})
		if err := role.cause(t); !errors.Is(err, msg.ErrKind) {
			t.Errorf("the role was told %v, want ErrKind", err)
		}
		if err := worker.cause(t); !errors.Is(err, ErrPeerGone) {
			t.Errorf("the worker was told %v, want ErrPeerGone", err)
		}
		if got := role.messages(); len(got) != 1 {
			t.Errorf("the role has received %v", got)
		}
	})
}

// TestAWorkerSendsNoLongMessage would catch a worker whose messages of 64 MiB fill the memory of the
// ApplicationMaster, an end of the worker's stream without a line in the log, and a bound on the long
// messages of the ApplicationMaster.
func TestAWorkerSendsNoLongMessage(t *testing.T) {
	t.Parallel()
	certificates, role, worker := newCluster(t), newAccepting(""), newRecorder()
	var mux Mux
	mux.Handle("resourcemanager", role.accept)
	config := certificates.server(t)
	log, logged := logtest.NewNullLogger()
	config.Logger = log
	stream := open(t, dial(t, serve(t, NewServer(config, &mux)), certificates.client(t)), "resourcemanager", worker)
	long := msg.SlotsFreed{Slots: []msg.SlotOffer{{Allocation: ids.AllocationID(strings.Repeat("a", msg.MaxWorkerMessage+maxToken))}}}
	(<-role.streams).Send(long)
	worker.wait(t, 1)
	stream.Send(long)
	if err := role.cause(t); !errors.Is(err, errTooLong) || len(role.messages()) > 0 {
		t.Errorf("the role was told %v, want errTooLong", err)
	}
	if last := logged.LastEntry(); last == nil || last.Level != logrus.ErrorLevel || !strings.Contains(fmt.Sprint(last.Data[logrus.ErrorKey]), "received message larger than max") {
		t.Errorf("the log ends with %+v", last)
	}
	if err := worker.cause(t); !errors.Is(err, ErrPeerGone) {
		t.Errorf("the worker was told %v, want ErrPeerGone", err)
	}
}

// TestAWorkerSendsNoLongHeaders would catch a worker that fills the memory of the ApplicationMaster by the names of
// roles.
func TestAWorkerSendsNoLongHeaders(t *testing.T) {
	t.Parallel()
	certificates, role := newCluster(t), newAccepting("")
	var mux Mux
	mux.Handle("jobmaster/", role.accept)
	conn := dial(t, serve(t, NewServer(certificates.server(t), &mux)), certificates.client(t))
	if _, err := conn.Open(t.Context(), "jobmaster/"+strings.Repeat("a", maxHeaders), newRecorder()); err == nil || len(role.streams) > 0 {
		t.Fatalf("a role was found by a name of more than %d bytes", maxHeaders)
	}
	open(t, conn, "jobmaster/"+strings.Repeat("a", 128), newRecorder())
}

// TestAStoppedPeerLosesNothingItIsTold would catch a stream to a peer with thousands of slots that
// ends because its outbox is full, one that grows with each heartbeat of an hour, and one that
// sends an old state after a new one.
func TestAStoppedPeerLosesNothingItIsTold(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of a processor")
	}
	t.Parallel()
	transports(t, func(t *testing.T, connect func(*Mux) opener) {
		role, worker := newAccepting(""), newRecorder()
		role.block = make(chan struct{})
		var mux Mux
		mux.Handle("resourcemanager", role.accept)
		stream := open(t, connect(&mux), "resourcemanager", worker)
		const slots = 2000
		stream.SetShare(slots)
		for i := range slots * roomPerShare {
			if !stream.Send(freed(i)) || !stream.Send(msg.Heartbeat{}) {
				t.Fatalf("message %d finds no room", i)
			}
		}
		end := msg.ReleaseTaskExecutor{Cause: "that was all"}
		stream.Send(end)
		close(role.block)
		for !reflect.DeepEqual(role.last(), end) {
			role.wait(t, 1)
		}
		next, beats := 0, 0
		for _, m := range role.messages() {
			switch m := m.(type) {
			case msg.SlotsFreed:
				if m.Slots[0].Index != next {
					t.Fatalf("message %d comes in place of %d", m.Slots[0].Index, next)
				}
				next++
			case msg.Heartbeat:
				beats++
			}
		}
		if next != slots*roomPerShare || beats > next/2 {
			t.Errorf("%d messages and %d heartbeats arrive", next, beats)
		}
	})
}

func TestLostConnectionEndsEveryStream(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, connect func(*Mux) opener) {
		var mux Mux
		roles := []*accepting{newAccepting(""), newAccepting("")}
		mux.Handle("resourcemanager", roles[0].accept)
		mux.Handle("jobmaster/", roles[1].accept)
		conn := connect(&mux)
		workers := []*recorder{newRecorder(), newRecorder()}
		open(t, conn, "resourcemanager", workers[0])
		open(t, conn, "jobmaster/feed", workers[1])
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		for i := range workers {
			if err := workers[i].cause(t); err == nil {
				t.Errorf("stream %d ended without a cause", i)
			}
			if err := roles[i].cause(t); !errors.Is(err, ErrPeerGone) {
				t.Errorf("role %d was told %v, want ErrPeerGone", i, err)
			}
		}
		if _, err := conn.Open(t.Context(), "resourcemanager", newRecorder()); !errors.Is(err, errConnClosed) {
			t.Errorf("open after close: %v", err)
		}
	})
}
