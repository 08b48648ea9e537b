package yarnfake

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// nodeManager runs containers. Its decisions are those of its core.
type nodeManager struct {
	id     records.NodeID
	fake   *Fake
	server *rpctest.Server
	dir    string
	frozen atomic.Bool // no heartbeats

	// Guarded by the Fake's lock.
	core *books.NodeManager
	runs map[records.ContainerID]*run
}

// run is a container that runs or has run.
type run struct {
	Container
	cancel  context.CancelFunc
	signals chan syscall.Signal
}

func newNodeManager(f *Fake, dir string) *nodeManager {
	m := &nodeManager{fake: f, dir: dir, runs: make(map[records.ContainerID]*run)}
	m.server = &rpctest.Server{Handler: m.call, Passwords: m.password, QOPs: f.cluster.qops}
	return m
}

// password returns the password of an NM token if the token is for this node.
func (m *nodeManager) password(id []byte) ([]byte, error) {
	m.fake.mu.Lock()
	defer m.fake.mu.Unlock()
	password, err := m.core.Password(id)
	return password, java(err)
}

// call answers a call of ContainerManagementProtocol.
func (m *nodeManager) call(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Protocol != yarnrpc.ContainerManagementProtocol {
		return nil, rpctest.NoSuchProtocol(call)
	}
	if !books.HasNodeMethod(call.Call.Method) {
		return nil, rpctest.NoSuchMethod(call)
	}
	id, err := identifier.DecodeNM(&creds.Token{Kind: creds.KindNM, Identifier: []byte(call.User)})
	if err != nil {
		return nil, err
	}
	return m.fake.answer(call, func(request []byte) books.Answer {
		return m.fake.tell(m, books.NodeCall{Application: id.Attempt.Application, Method: call.Call.Method, Request: request})
	})
}

// run runs a container in its own goroutine. The Fake's lock is held.
func (m *nodeManager) run(order books.Run) {
	credentials := creds.New()
	if given, err := creds.Parse(order.Launch.Tokens); err == nil {
		credentials = given
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := order.Container
	r := &run{
		Container: Container{
			ID: c.ID, Node: m.id, Resource: c.Resource, User: c.User, Master: c.Master,
			Launch: order.Launch, Credentials: credentials,
		},
		cancel: cancel, signals: make(chan syscall.Signal, 1),
	}
	m.runs[c.ID] = r
	m.fake.tasks.Go(func() {
		defer cancel()
		exit, diagnostics := m.execute(ctx, r)
		m.fake.tell(m, books.Exited{ID: c.ID, Exit: exit, Diagnostics: diagnostics}) //nolint:contextcheck // the effects of a container's end outlive its context
	})
}

// execute runs a container to its end.
func (m *nodeManager) execute(ctx context.Context, r *run) (records.ExitStatus, string) {
	if m.fake.cluster.Run != nil {
		return m.fake.cluster.Run(ctx, r.Container), ""
	}
	return runProcess(ctx, r, m.places(r.ID))
}

// end ends a container. The Fake's lock is held.
func (m *nodeManager) end(id records.ContainerID) {
	if r := m.runs[id]; r != nil {
		r.cancel()
	}
}

// signal sends a signal to a process. For Config.Run it ends the context and sets the status that a
// process would have. The Fake's lock is held.
func (m *nodeManager) signal(order books.Signal) {
	signal, exit := syscall.SIGQUIT, records.ExitUnknown
	switch order.Signal {
	case records.SignalGracefulShutdown:
		signal, exit = syscall.SIGTERM, records.ExitTerminated
	case records.SignalForcefulShutdown:
		signal, exit = syscall.SIGKILL, records.ExitForceKilled
	default: // a thread dump
	}
	r := m.runs[order.ID]
	switch {
	case r == nil:
	case m.fake.cluster.Run == nil:
		select {
		case r.signals <- signal:
		default: // a signal is waiting already
		}
	case exit != records.ExitUnknown:
		m.fake.tellLocked(m, books.Kill{Node: m.id, ID: order.ID, Exit: exit, Reason: "Container received a signal"})
	}
}

// places holds the directories of a container.
type places struct{ work, logs, app string }

func (m *nodeManager) places(id records.ContainerID) places {
	app := id.Attempt.Application.String()
	node := filepath.Join(m.dir, fmt.Sprintf("%s_%d", m.id.Host, m.id.Port))
	local := filepath.Join(node, "local", "appcache", app)
	return places{work: filepath.Join(local, id.String()), logs: filepath.Join(node, "logs", app, id.String()), app: local}
}

// Logs returns the content of a child process' log directory: prelaunch.out,
// prelaunch.err and the files under <LOG_DIR>. It is empty for a container that no
// node has started.
func (f *Fake) Logs(id records.ContainerID) string {
	for _, m := range f.managers {
		f.mu.Lock()
		known := m.runs[id] != nil
		f.mu.Unlock()
		if known {
			return m.places(id).logs
		}
	}
	return ""
}
