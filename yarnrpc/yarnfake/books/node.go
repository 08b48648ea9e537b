package books

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// NodeManager is the state of a NodeManager. Only Step changes it. Make it with NewNodeManager.
type NodeManager struct {
	id          records.NodeID
	capability  records.Resource
	incarnation int  // starts so far
	up          bool // its process runs
	registered  bool // false: each heartbeat registers
	rm          int64
	nm          keyring
	container   keyring
	containers  []*run // by their start, also ended ones
}

// run is a container on its node.
type run struct {
	Container
	state  records.ContainerState
	exit   records.ExitStatus
	reason string // why it ended
	forced bool   // exit and reason do not come from the container itself
	known  bool   // its status need not be reported
	since  int    // the incarnation that has started it
}

// Container describes a container on a node.
type Container struct {
	ID        records.ContainerID
	Resource  records.Resource
	Priority  records.Priority
	RequestID int64 // of the ask
	Created   time.Time
	User      string
	Master    bool // of an attempt
}

// StartRequest asks for a container.
type StartRequest struct {
	Token  creds.Token // of the container
	Launch records.ContainerLaunchContext
}

// NewNodeManager makes a NodeManager that does not run. The event Start starts it.
func NewNodeManager(id records.NodeID, capability records.Resource) *NodeManager {
	return &NodeManager{id: id, capability: capability}
}

// Step handles one event and returns the effects to perform, in order.
func (m *NodeManager) Step(now time.Time, e NodeEvent) []NodeEffect {
	if _, starts := e.(Start); !m.up && !starts {
		return m.deaf(e)
	}
	switch e := e.(type) {
	case Start:
		if m.up {
			return nil
		}
		m.incarnation++
		m.up, m.registered = true, false
		if e.Capability != (records.Resource{}) {
			m.capability = e.Capability
		}
		return []NodeEffect{m.registration()}
	case Stop:
		return m.stop()
	case Beat:
		if !m.registered {
			return []NodeEffect{m.registration()}
		}
		return []NodeEffect{m.report(true, m.statuses()...)}
	case NodeCall:
		return m.call(now, e)
	case Exited:
		return m.exited(e)
	case Registered:
		m.registered, m.rm = true, e.ResourceManager
		m.nm.take(e.NM)
		m.container.take(e.Container)
		return nil
	case Resync:
		m.registered = false
		return []NodeEffect{m.registration()}
	case Launch:
		return m.launch(e.Request)
	case Kill:
		_, effects := m.kill(e.ID, e.Exit, e.Reason)
		return effects
	case Forget:
		// The end of a container that still runs is news to a ResourceManager that has restarted since
		// (NodeStatusUpdaterImpl#removeOrTrackCompletedContainersFromContext).
		if r := m.find(e.ID); r != nil && r.state == records.ContainerComplete {
			r.known = true
		}
		return nil
	}
	return nil
}

// Alarm returns the zero time: a NodeManager acts only on events.
func (m *NodeManager) Alarm() time.Time { return time.Time{} }

// deaf handles the events of a NodeManager whose process does not run. Its containers have ended
// with it.
func (m *NodeManager) deaf(e NodeEvent) []NodeEffect {
	switch e := e.(type) {
	case NodeCall:
		return []NodeEffect{answer(nil, &Exception{Class: "java.net.ConnectException", Message: "Connection refused"})}
	case Exited:
		m.exited(e)
	default:
	}
	return nil
}

// stop ends the process and all containers.
func (m *NodeManager) stop() []NodeEffect {
	m.up, m.registered = false, false
	var effects []NodeEffect
	for _, r := range m.containers {
		_, some := m.kill(r.ID, records.ExitAborted, "its node is gone")
		effects = append(effects, some...)
		r.known = true
	}
	return effects
}

// launch starts an ApplicationMaster for the ResourceManager.
func (m *NodeManager) launch(r StartRequest) []NodeEffect {
	id, err := m.verify(&r.Token)
	if err != nil || m.find(id.ID) != nil {
		return nil // a repeated order, or one of an earlier ResourceManager
	}
	return m.run(id, r.Launch)
}

// run runs a container.
func (m *NodeManager) run(id containerToken, launch records.ContainerLaunchContext) []NodeEffect {
	r := &run{Container: id.Container, state: records.ContainerRunning, exit: records.ExitUnknown, since: m.incarnation}
	m.containers = append(m.containers, r)
	return []NodeEffect{Run{Container: r.Container, Launch: launch}, m.report(false, r.status())}
}

// exited records how a container has ended, and reports it.
func (m *NodeManager) exited(e Exited) []NodeEffect {
	r := m.find(e.ID)
	if r == nil || r.state == records.ContainerComplete {
		return nil
	}
	r.state = records.ContainerComplete
	if !r.forced {
		r.exit, r.reason = e.Exit, e.Diagnostics
		if e.Diagnostics == "" && e.Exit != 0 {
			r.reason = fmt.Sprintf("Exception from container-launch.\nContainer id: %s\nExit code: %d", r.ID, e.Exit)
		}
	}
	if r.known || r.since != m.incarnation || !m.registered {
		return nil
	}
	return []NodeEffect{m.report(false, r.status())}
}

// kill ends a container, and reports whether there is one. The first reason stays.
func (m *NodeManager) kill(id records.ContainerID, exit records.ExitStatus, reason string) (bool, []NodeEffect) {
	r := m.find(id)
	if r == nil {
		return false, nil
	}
	if r.state == records.ContainerComplete || r.forced {
		return true, nil
	}
	r.forced, r.exit, r.reason = true, exit, reason
	return true, []NodeEffect{End{ID: id}}
}

func (m *NodeManager) find(id records.ContainerID) *run {
	for _, r := range m.containers {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// known finds a container for a caller. A process knows only the containers that it has started.
func (m *NodeManager) known(id records.ContainerID) *run {
	if r := m.find(id); r != nil && r.since == m.incarnation {
		return r
	}
	return nil
}

func (r *run) status() ContainerStatus {
	s := ContainerStatus{Container: r.Container, State: r.state, Exit: records.ExitUnknown}
	if r.state == records.ContainerComplete {
		s.Exit, s.Diagnostics = r.exit, r.reason
	}
	return s
}

// statuses lists the containers that the ResourceManager must know: those that run, and those whose
// end it has not confirmed.
func (m *NodeManager) statuses() []ContainerStatus {
	var list []ContainerStatus
	for _, r := range m.containers {
		if r.since == m.incarnation && (r.state != records.ContainerComplete || !r.known) {
			list = append(list, r.status())
		}
	}
	return list
}

func (m *NodeManager) registration() Registration {
	return Registration{Node: m.id, Capability: m.capability, Incarnation: m.incarnation, Containers: m.statuses()}
}

func (m *NodeManager) report(beat bool, containers ...ContainerStatus) NodeReport {
	return NodeReport{Node: m.id, ResourceManager: m.rm, Incarnation: m.incarnation, Containers: containers, Beat: beat}
}

// Containers returns the containers that the node has run, in the order of their starts.
func (m *NodeManager) Containers() []ContainerStatus {
	var list []ContainerStatus
	for _, r := range m.containers {
		list = append(list, r.status())
	}
	return list
}

// Up reports whether the NodeManager's process runs.
func (m *NodeManager) Up() bool { return m.up }

// Password returns the password of an NM token, for a login. The error is an *Exception if the
// token is for another node.
func (m *NodeManager) Password(id []byte) ([]byte, error) {
	parsed, err := identifier.DecodeNM(&creds.Token{Kind: creds.KindNM, Identifier: id})
	if err != nil {
		return nil, err
	}
	if parsed.Node != m.id {
		return nil, invalidToken("Given NMToken for application : " + parsed.Attempt.String() + " is not valid for current node manager.")
	}
	key, known := m.nm.key(parsed.KeyID)
	if !known {
		return nil, invalidToken("Given NMToken for application : " + parsed.Attempt.String() + " seems to have been generated illegally.")
	}
	return key.Password(id), nil
}

// containerToken is the content of a container's token.
type containerToken struct {
	Container
	node    string // host:port
	rm      int64
	expires time.Time
}

// verify reads a container's token and checks its signature.
func (m *NodeManager) verify(token *creds.Token) (containerToken, error) {
	forged := invalidToken("Given Container seems to have an illegally generated token.")
	if token == nil {
		return containerToken{}, forged
	}
	var p yarnpb.ContainerTokenIdentifierProto
	if err := proto.Unmarshal(token.Identifier, &p); err != nil {
		return containerToken{}, fmt.Errorf("decode container token: %w", err)
	}
	if key, known := m.container.key(p.GetMasterKeyId()); !known || !key.signed(token) {
		return containerToken{}, forged
	}
	return containerToken{
		Container: Container{
			ID: pbconv.ContainerID(p.GetContainerId()), Resource: pbconv.Resource(p.GetResource()),
			Priority: pbconv.Priority(p.GetPriority()), RequestID: p.GetAllocationRequestId(),
			Created: pbconv.Time(p.GetCreationTime()), User: p.GetAppSubmitter(),
			Master: p.GetContainerType() == yarnpb.ContainerTypeProto_APPLICATION_MASTER,
		},
		node: p.GetNmHostAddr(), rm: p.GetRmIdentifier(), expires: pbconv.Time(p.GetExpiryTimeStamp()),
	}, nil
}

// ID returns the node's id.
func (m *NodeManager) ID() records.NodeID { return m.id }
