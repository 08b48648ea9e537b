package yarnfake

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// nodeManager runs containers.
type nodeManager struct {
	id     records.NodeID
	fake   *Fake
	server *rpctest.Server
	dir    string
	frozen atomic.Bool // no heartbeats

	mu         sync.Mutex // guards what follows; taken after the Fake's
	gone       bool
	containers map[records.ContainerID]*run
}

// run is a container on its node.
type run struct {
	Container
	cancel context.CancelFunc
	signal chan syscall.Signal

	// Guarded by the nodeManager's lock.
	state  records.ContainerState
	exit   records.ExitStatus
	reason string // why it was ended; its own exit status does not count then
	forced bool
}

func newNodeManager(f *Fake, dir string) *nodeManager {
	m := &nodeManager{fake: f, dir: dir, containers: make(map[records.ContainerID]*run)}
	m.server = &rpctest.Server{Handler: m.call, Passwords: m.password, QOPs: f.cluster.qops}
	return m
}

// password returns the password of an NM token if the token is for this node.
func (m *nodeManager) password(id []byte) ([]byte, error) {
	parsed, err := identifier.DecodeNM(&creds.Token{Kind: creds.KindNM, Identifier: id})
	if err != nil {
		return nil, err
	}
	if parsed.Node != m.id {
		return nil, rpctest.Exception(classInvalidToken, "Given NMToken for application : "+parsed.Attempt.String()+" is not valid for current node manager.")
	}
	return m.fake.nmKey().password(id), nil
}

func (f *Fake) nmKey() key {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.books.keys.nm
}

// proof returns what a NodeManager needs to check a container token.
func (f *Fake) proof() (k key, resourceManager int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.books.keys.container, f.books.started
}

// call answers a call of ContainerManagementProtocol.
func (m *nodeManager) call(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Protocol != yarnrpc.ContainerManagementProtocol {
		return nil, rpctest.NoSuchProtocol(call)
	}
	id, err := identifier.DecodeNM(&creds.Token{Kind: creds.KindNM, Identifier: []byte(call.User)})
	if err != nil {
		return nil, err
	}
	app := id.Attempt.Application
	switch call.Call.Method {
	case "startContainers":
		r := new(yarnpb.StartContainersRequestProto)
		return m.fake.answer(call, r, false, func() (proto.Message, error) { return m.startContainers(app, r) })
	case "stopContainers":
		r := new(yarnpb.StopContainersRequestProto)
		return m.fake.answer(call, r, false, func() (proto.Message, error) { return m.stopContainers(app, r), nil })
	case "getContainerStatuses":
		r := new(yarnpb.GetContainerStatusesRequestProto)
		return m.fake.answer(call, r, false, func() (proto.Message, error) { return m.statuses(app, r), nil })
	case "signalToContainer":
		r := new(yarnpb.SignalContainerRequestProto)
		return m.fake.answer(call, r, false, func() (proto.Message, error) { return m.signalContainer(app, r), nil })
	default:
		return nil, rpctest.NoSuchMethod(call)
	}
}

func (m *nodeManager) startContainers(app records.ApplicationID, r *yarnpb.StartContainersRequestProto) (proto.Message, error) {
	key, resourceManager := m.fake.proof()
	response := new(yarnpb.StartContainersResponseProto)
	for _, one := range r.GetStartContainerRequest() {
		token := pbconv.Token(one.GetContainerToken())
		if token == nil || !key.signed(token) {
			return nil, rpctest.Exception(classInvalidToken, "Given Container is not signed by this cluster's key.")
		}
		id, err := identifier.DecodeContainer(token)
		if err != nil {
			return nil, err
		}
		if refused := m.judge(app, id, resourceManager); refused != nil {
			response.FailedRequests = append(response.FailedRequests, refused)
			continue
		}
		if refused := m.start(id, one.GetContainerLaunchContext(), false); refused != nil {
			response.FailedRequests = append(response.FailedRequests, refused)
			continue
		}
		m.fake.step(containerStarted{id: id.ID, node: m.id})
		response.SucceededRequests = append(response.SucceededRequests, pbconv.ContainerIDProto(id.ID))
	}
	return response, nil
}

// judge returns the reason why a container may not be started; nil: it may.
func (m *nodeManager) judge(app records.ApplicationID, id identifier.Container, resourceManager int64) *yarnpb.ContainerExceptionMapProto {
	switch {
	case id.NodeAddress != m.id.String():
		return refusal(id.ID, "YarnException", "Container %s is for node %s", id.ID, id.NodeAddress)
	case id.ID.Attempt.Application != app:
		return refusal(id.ID, "YarnException", "Unauthorized request to start container %s", id.ID)
	case id.RMIdentifier != resourceManager:
		return refusal(id.ID, "InvalidContainerException", "Container %s rejected as it is allocated by a previous RM", id.ID)
	case time.Now().After(id.Expires):
		return refusal(id.ID, "YarnException", "Unauthorized request to start container. This token is expired.")
	default:
		return nil
	}
}

// launchMaster starts an ApplicationMaster for the ResourceManager.
func (m *nodeManager) launchMaster(r *yarnpb.StartContainerRequestProto) {
	id, err := identifier.DecodeContainer(pbconv.Token(r.GetContainerToken()))
	if err == nil { // always: the token is the fake's own
		m.start(id, r.GetContainerLaunchContext(), true)
	}
}

// start runs a container in its own goroutine.
func (m *nodeManager) start(id identifier.Container, launch *yarnpb.ContainerLaunchContextProto, master bool) *yarnpb.ContainerExceptionMapProto {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone || m.containers[id.ID] != nil {
		return refusal(id.ID, "YarnException", "Container %s already is running on this node !!", id.ID)
	}
	spec := pbconv.ContainerLaunchContext(launch)
	credentials := creds.New()
	if given, err := creds.Parse(spec.Tokens); err == nil {
		credentials = given
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{
		Container: Container{
			ID: id.ID, Node: m.id, Resource: id.Resource, User: id.Submitter, Master: master,
			Launch: spec, Credentials: credentials,
		},
		cancel: cancel, signal: make(chan syscall.Signal, 1),
		state: records.ContainerRunning, exit: records.ExitUnknown,
	}
	m.containers[id.ID] = r
	m.fake.tasks.Go(func() {
		defer cancel()
		exit, diagnostics := m.execute(ctx, r)
		m.ended(r, exit, diagnostics) //nolint:contextcheck // the effects of a container's end outlive its context
	})
	return nil
}

// execute runs a container to its end.
func (m *nodeManager) execute(ctx context.Context, r *run) (records.ExitStatus, string) {
	if m.fake.cluster.Run != nil {
		return m.fake.cluster.Run(ctx, r.Container), ""
	}
	return runProcess(ctx, r, m.places(r.ID))
}

// ended records how a container has ended, and reports it to the ResourceManager.
func (m *nodeManager) ended(r *run, exit records.ExitStatus, diagnostics string) {
	m.mu.Lock()
	r.state = records.ContainerComplete
	if !r.forced {
		r.exit, r.reason = exit, diagnostics
		if diagnostics == "" && exit != 0 {
			r.reason = fmt.Sprintf("Exception from container-launch.\nContainer id: %s\nExit code: %d", r.ID, exit)
		}
	}
	event := containerEnded{id: r.ID, exit: r.exit, diagnostics: r.reason}
	m.mu.Unlock()
	m.fake.step(event)
}

// kill ends a container. The node reports its status. The first reason stays.
func (m *nodeManager) kill(id records.ContainerID, exit records.ExitStatus, reason string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.containers[id]
	if r == nil {
		return false
	}
	if r.state != records.ContainerComplete && !r.forced {
		r.forced, r.exit, r.reason = true, exit, reason
		r.cancel()
	}
	return true
}

// empty ends all containers and refuses new ones.
func (m *nodeManager) empty() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = true
	for _, r := range m.containers {
		if !r.forced {
			r.forced, r.exit, r.reason = true, records.ExitAborted, "its node is gone"
		}
		r.cancel()
	}
}

// back makes the node accept containers again.
func (m *nodeManager) back() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = false
}

func (m *nodeManager) stopContainers(app records.ApplicationID, r *yarnpb.StopContainersRequestProto) proto.Message {
	response := new(yarnpb.StopContainersResponseProto)
	for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
		if id.Attempt.Application == app && m.kill(id, records.ExitKilledByAppMaster, "Container killed by the ApplicationMaster.") {
			response.SucceededRequests = append(response.SucceededRequests, pbconv.ContainerIDProto(id))
			continue
		}
		response.FailedRequests = append(response.FailedRequests, unknown(id))
	}
	return response
}

func (m *nodeManager) statuses(app records.ApplicationID, r *yarnpb.GetContainerStatusesRequestProto) proto.Message {
	m.mu.Lock()
	defer m.mu.Unlock()
	response := new(yarnpb.GetContainerStatusesResponseProto)
	for _, id := range pbconv.ContainerIDs(r.GetContainerId()) {
		c := m.containers[id]
		if c == nil || id.Attempt.Application != app {
			response.FailedRequests = append(response.FailedRequests, unknown(id))
			continue
		}
		status := records.ContainerStatus{
			ID: id, State: c.state, SubState: records.ContainerSubRunning, ExitStatus: records.ExitUnknown, Capability: c.Resource,
		}
		if c.state == records.ContainerComplete {
			status.SubState, status.ExitStatus, status.Diagnostics = records.ContainerSubDone, c.exit, c.reason
		}
		response.Status = append(response.Status, pbconv.ContainerStatusProto(status))
	}
	return response
}

// signalContainer sends a signal to a process. For Config.Run it ends the context and
// sets the status that a process would have.
func (m *nodeManager) signalContainer(app records.ApplicationID, r *yarnpb.SignalContainerRequestProto) proto.Message {
	id := pbconv.ContainerID(r.GetContainerId())
	signal, exit := syscall.SIGQUIT, records.ExitUnknown
	switch r.GetCommand() {
	case yarnpb.SignalContainerCommandProto_GRACEFUL_SHUTDOWN:
		signal, exit = syscall.SIGTERM, records.ExitTerminated
	case yarnpb.SignalContainerCommandProto_FORCEFUL_SHUTDOWN:
		signal, exit = syscall.SIGKILL, records.ExitForceKilled
	default: // a thread dump
	}
	response := new(yarnpb.SignalContainerResponseProto)
	m.mu.Lock()
	c := m.containers[id]
	m.mu.Unlock()
	switch {
	case c == nil || id.Attempt.Application != app:
	case m.fake.cluster.Run == nil:
		select {
		case c.signal <- signal:
		default: // a signal is waiting already
		}
	case exit != records.ExitUnknown:
		m.kill(id, exit, "Container received a signal")
	}
	return response
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
		m.mu.Lock()
		known := m.containers[id] != nil
		m.mu.Unlock()
		if known {
			return m.places(id).logs
		}
	}
	return ""
}

func unknown(id records.ContainerID) *yarnpb.ContainerExceptionMapProto {
	return refusal(id, "YarnException", "Container %s is not handled by this NodeManager", id)
}

func refusal(id records.ContainerID, class, format string, args ...any) *yarnpb.ContainerExceptionMapProto {
	return &yarnpb.ContainerExceptionMapProto{
		ContainerId: pbconv.ContainerIDProto(id),
		Exception: &yarnpb.SerializedExceptionProto{
			Message:   proto.String(fmt.Sprintf(format, args...)),
			ClassName: proto.String("org.apache.hadoop.yarn.exceptions." + class),
		},
	}
}
