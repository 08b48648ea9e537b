package rolerpc

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/pki"
)

// TestOnlyTaskExecutorsOfTheApplicationGetIn would catch a server that accepts any certificate.
func TestOnlyTaskExecutorsOfTheApplicationGetIn(t *testing.T) {
	t.Parallel()
	certificates, others := newCluster(t), newCluster(t)
	role := newAccepting("")
	var mux Mux
	mux.Handle("resourcemanager", role.accept)
	address := serve(t, NewServer(certificates.server(t), &mux))

	toAM := pki.OnlyRole(pki.RoleApplicationMaster)
	host, err := certificates.worker(t, "container_2").IssueTaskHost(ids.JobID("feed"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	anyone := func(pki.Identity) error { return nil }
	for name, config := range map[string]Config{
		"another authority's TaskExecutor": others.client(t),
		"a task host":                      {TLS: host.ClientTLS(toAM), Logger: logger()},
		"a client that wants another role": {TLS: certificates.worker(t, "container_2").ClientTLS(pki.OnlyRole(pki.RoleREST)), Logger: logger()},
	} {
		if _, err := dial(t, address, config).Open(t.Context(), "resourcemanager", newRecorder()); err == nil {
			t.Errorf("%s gets in", name)
		}
	}
	open(t, dial(t, address, Config{TLS: certificates.worker(t, "container_2").ClientTLS(anyone), Logger: logger()}), "resourcemanager", newRecorder())
	if got := len(role.streams); got != 1 {
		t.Errorf("%d streams reached the role, want the proper one alone", got)
	}
}

func TestOpenAtNobodyFailsAndLaterSucceeds(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	certificates := newCluster(t)
	conn := dial(t, address, certificates.client(t))
	if _, err := conn.Open(t.Context(), "resourcemanager", newRecorder()); err == nil {
		t.Fatal("opened a stream to nobody")
	}
	role := newAccepting("")
	var mux Mux
	mux.Handle("resourcemanager", role.accept)
	server := NewServer(certificates.server(t), &mux)
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	defer func() {
		server.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	for {
		if _, err = conn.Open(t.Context(), "resourcemanager", newRecorder()); err == nil {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// registrar is a context that counts the functions that wait for its end.
type registrar struct {
	done    chan struct{}
	waiting int
}

func (*registrar) Deadline() (time.Time, bool) { return time.Time{}, false }
func (r *registrar) Done() <-chan struct{}     { return r.done }
func (*registrar) Err() error                  { return nil }
func (*registrar) Value(any) any               { return nil }

func (r *registrar) AfterFunc(func()) (stop func() bool) {
	r.waiting++
	return func() bool {
		r.waiting--
		return true
	}
}

// A worker tries to open streams to ended roles for as long as it lives, with one context. No try
// may leave anything behind in the context.
func TestOpeningLeavesNothingInTheCallersContext(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	role := newAccepting("")
	mux := new(Mux)
	mux.Handle("role", role.accept)
	conn := dial(t, serve(t, NewServer(c.server(t), mux)), c.client(t))
	ctx := &registrar{done: make(chan struct{})}
	for _, target := range []string{"nobody", "role"} {
		if _, err := conn.Open(ctx, target, newRecorder()); (err == nil) != (target == "role") {
			t.Fatalf("open stream to %s: %v", target, err)
		}
		if ctx.waiting != 0 {
			t.Errorf("after opening a stream to %s %d functions wait for the context's end", target, ctx.waiting)
		}
	}
}

// A passed deadline must not look like a cancelled stream.
func TestOpeningThatTakesTooLongSaysSo(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // accepts connections and sends nothing
	conn := dial(t, listener.Addr().String(), newCluster(t).client(t))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := conn.Open(ctx, "role", newRecorder()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

// TestServerThatStopsIsLostAtOnce would catch a worker that waits for heartbeat.timeout although
// its connection is closed.
func TestServerThatStopsIsLostAtOnce(t *testing.T) {
	t.Parallel()
	certificates := newCluster(t)
	role, worker := newAccepting(""), newRecorder()
	var mux Mux
	mux.Handle("resourcemanager", role.accept)
	server := NewServer(certificates.server(t), &mux)
	open(t, dial(t, serve(t, server), certificates.client(t)), "resourcemanager", worker)
	server.Close()
	for name, r := range map[string]*recorder{"worker": worker, "role": role.recorder} {
		if err := r.cause(t); !errors.Is(err, ErrPeerGone) {
			t.Errorf("%s was told %v, want ErrPeerGone", name, err)
		}
	}
}
