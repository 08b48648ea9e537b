package resourcetracker

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	testID  = records.NodeID{Host: "n1", Port: 8041}
	testApp = records.ApplicationID{ClusterTimestamp: 1, ID: 1}
	offer   = Registration{Node: testID, HTTPPort: 8042, Resource: records.Resource{MemoryMB: 4096, VCores: 4}, Version: "3.4.3"}
)

func containerID(app, n int) records.ContainerID {
	return records.ContainerID{
		Attempt: records.ApplicationAttemptID{Application: records.ApplicationID{ClusterTimestamp: 1, ID: int32(app)}, Attempt: 1},
		ID:      int64(n),
	}
}

func granted(app, n int) records.Container {
	return records.Container{ID: containerID(app, n), Node: testID, Resource: records.Resource{MemoryMB: 1024, VCores: 1}, Priority: 3, AllocationRequestID: -1}
}

// rmModel is a ResourceManager that checks the heartbeats' numbers.
type rmModel struct {
	t             *testing.T
	known         bool
	last          int32
	registrations []*yarnpb.RegisterNodeManagerRequestProto
	heartbeats    []*yarnpb.NodeHeartbeatRequestProto
	next          *yarnpb.NodeHeartbeatResponseProto // further content of the next answer
	refuse        bool
}

func (m *rmModel) Call(_ context.Context, method string, request, response proto.Message) error {
	switch r := request.(type) {
	case *yarnpb.RegisterNodeManagerRequestProto:
		m.registrations = append(m.registrations, r)
		answer := response.(*yarnpb.RegisterNodeManagerResponseProto)
		if m.refuse {
			answer.NodeAction, answer.DiagnosticsMessage = yarnpb.NodeActionProto_SHUTDOWN.Enum(), proto.String("Disallowed NodeManager")
			return nil
		}
		m.known, m.last = true, 0
		answer.ContainerTokenMasterKey = &yarnpb.MasterKeyProto{KeyId: proto.Int32(7), Bytes: []byte("secret")}
		answer.NmTokenMasterKey = &yarnpb.MasterKeyProto{KeyId: proto.Int32(-8), Bytes: []byte("other")}
		answer.RmIdentifier = proto.Int64(99)
	case *yarnpb.NodeHeartbeatRequestProto:
		m.heartbeats = append(m.heartbeats, r)
		answer := response.(*yarnpb.NodeHeartbeatResponseProto)
		if !m.known || r.GetNodeStatus().GetResponseId() != m.last {
			m.known = false
			answer.NodeAction = yarnpb.NodeActionProto_RESYNC.Enum()
			return nil
		}
		m.last++
		answer.ResponseId = proto.Int32(m.last)
		if m.next != nil {
			proto.Merge(answer, m.next)
			m.next = nil
		}
	case *yarnpb.UnRegisterNodeManagerRequestProto:
		m.known = false
	default:
		m.t.Errorf("called %s", method)
	}
	return nil
}

func modelled(t *testing.T) (*Node, *rmModel) {
	t.Helper()
	m := &rmModel{t: t}
	return NewNode(&Client{rpc: m}, offer), m
}

func register(t *testing.T, n *Node) {
	t.Helper()
	if err := n.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func beat(t *testing.T, n *Node) heartbeatResponse {
	t.Helper()
	r, err := n.beat(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func states(n *Node) string {
	var all []string
	for _, c := range n.Containers() {
		all = append(all, fmt.Sprint(c.ID.Attempt.Application.ID, "/", c.ID.ID, " ", c.State, " ", int(c.ExitStatus)))
	}
	return strings.Join(all, ", ")
}

// A node's containers end when the ResourceManager or their owner says so. Their exit status tells
// the ApplicationMaster why. The node reports them until the ResourceManager forgets them.
func TestTheLifeOfANode(t *testing.T) {
	t.Parallel()
	n, m := modelled(t)
	register(t, n)
	if r := m.registrations[0]; r.GetNodeId().GetHost() != "n1" || r.GetHttpPort() != 8042 || r.GetResource().GetMemory() != 4096 ||
		r.GetNmVersion() != "3.4.3" || !r.GetNodeStatus().GetNodeHealthStatus().GetIsNodeHealthy() || len(r.GetContainerStatuses()) != 0 {
		t.Errorf("registered as %v", r)
	}
	for i := range 3 {
		n.Start(granted(1, i+1))
	}
	n.Start(granted(2, 1))
	n.Start(granted(2, 1))
	beat(t, n)
	if got, want := states(n), "1/1 RUNNING -1000, 1/2 RUNNING -1000, 1/3 RUNNING -1000, 2/1 RUNNING -1000"; got != want {
		t.Errorf("it has %s, want %s", got, want)
	}
	if !n.Complete(containerID(1, 1), 3, "oops") || n.Complete(containerID(1, 1), 4, "") || n.Complete(containerID(9, 9), 0, "") {
		t.Error("a container completes once, and an unknown one never")
	}
	m.next = &yarnpb.NodeHeartbeatResponseProto{
		ContainersToCleanup:   each([]records.ContainerID{containerID(1, 1), containerID(1, 2), containerID(8, 8)}, containerIDProto),
		ApplicationsToCleanup: []*yarnpb.ApplicationIdProto{{ClusterTimestamp: proto.Int64(1), Id: proto.Int32(2)}},
	}
	r := beat(t, n)
	if len(r.Stop) != 3 || len(r.Ended) != 1 {
		t.Errorf("answer is %+v", r)
	}
	if got, want := states(n), "1/1 COMPLETE 3, 1/2 COMPLETE -106, 1/3 RUNNING -1000, 2/1 COMPLETE -107"; got != want {
		t.Errorf("it has %s, want %s", got, want)
	}
	m.next = &yarnpb.NodeHeartbeatResponseProto{
		ContainersToBeRemovedFromNm: each([]records.ContainerID{containerID(1, 1), containerID(1, 3)}, containerIDProto),
		ContainersToUpdate: []*yarnpb.ContainerProto{{
			Id: containerIDProto(containerID(1, 3)), Resource: resourceProto(records.Resource{MemoryMB: 2048, VCores: 2}), Version: proto.Int32(1),
		}},
	}
	beat(t, n)
	if got, want := states(n), "1/2 COMPLETE -106, 1/3 RUNNING -1000, 2/1 COMPLETE -107"; got != want {
		t.Errorf("it has %s, want %s", got, want)
	}
	if got := n.Containers()[1].Capability; got.MemoryMB != 2048 {
		t.Errorf("the updated container has %v", got)
	}
	n.SetHealth("disk full")
	beat(t, n)
	if h := m.heartbeats[len(m.heartbeats)-1].GetNodeStatus().GetNodeHealthStatus(); h.GetIsNodeHealthy() || h.GetHealthReport() != "disk full" {
		t.Errorf("health is %v", h)
	}
	if err := n.Unregister(t.Context()); err != nil || m.known {
		t.Errorf("after Unregister: %v, known %v", err, m.known)
	}
}

// A restarted ResourceManager must get the containers back. Otherwise they would be lost.
func TestANodeRegistersAnewWithItsContainers(t *testing.T) {
	t.Parallel()
	n, m := modelled(t)
	register(t, n)
	n.Start(granted(1, 1))
	n.Start(granted(2, 1))
	n.Complete(containerID(2, 1), 5, "")
	beat(t, n)
	beat(t, n)
	m.known = false
	if r := beat(t, n); r.Action != actionResync {
		t.Errorf("answer is %+v", r)
	}
	again := m.registrations[1]
	if len(again.GetContainerStatuses()) != 2 || len(again.GetRunningApplications()) != 2 {
		t.Fatalf("registered anew as %v", again)
	}
	first, second := again.GetContainerStatuses()[0], again.GetContainerStatuses()[1]
	if first.GetContainerState() != yarnpb.ContainerStateProto_C_RUNNING || first.GetResource().GetMemory() != 1024 || first.GetPriority().GetPriority() != 3 ||
		first.GetCreationTime() == 0 || second.GetContainerState() != yarnpb.ContainerStateProto_C_COMPLETE || second.GetContainerExitStatus() != 5 {
		t.Errorf("registered anew with %v and %v", first, second)
	}
	if r := beat(t, n); r.Action != actionNormal || r.ResponseID != 1 {
		t.Errorf("the first answer after that is %+v", r)
	}
}

// A lost answer must not count: the next Beat sends the same report again.
func TestALostHeartbeatIsSaidAgain(t *testing.T) {
	t.Parallel()
	n, m := modelled(t)
	register(t, n)
	beat(t, n)
	n.client.rpc = failing{}
	if _, err := n.beat(t.Context()); !yarnrpc.MaybeSent(err) || !strings.Contains(err.Error(), "n1:8041") {
		t.Errorf("error is %v", err)
	}
	n.client.rpc = m
	if r := beat(t, n); r.ResponseID != 2 {
		t.Errorf("answer is %+v", r)
	}
}

type failing struct{}

func (failing) Call(context.Context, string, proto.Message, proto.Message) error {
	return &yarnrpc.CallError{MaybeSent: true, Err: context.DeadlineExceeded}
}

func TestANodeThatIsNotWantedIsToldWhy(t *testing.T) {
	t.Parallel()
	n, m := modelled(t)
	m.refuse = true
	if err := n.Register(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "Disallowed NodeManager") {
		t.Errorf("error is %v", err)
	}
	m.refuse = false
	register(t, n)
	m.next = &yarnpb.NodeHeartbeatResponseProto{NodeAction: yarnpb.NodeActionProto_SHUTDOWN.Enum(), DiagnosticsMessage: proto.String("excluded")}
	if err := n.Beat(t.Context()); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "excluded") {
		t.Errorf("error is %v", err)
	}
}

func TestTheNewestKeysAreKept(t *testing.T) {
	t.Parallel()
	n, m := modelled(t)
	register(t, n)
	beat(t, n)
	if h := m.heartbeats[0]; h.GetLastKnownContainerTokenMasterKey().GetKeyId() != 7 || h.GetLastKnownNmTokenMasterKey().GetKeyId() != -8 ||
		h.GetLastKnownNmTokenMasterKey().Bytes != nil || h.GetNodeStatus().NodeUtilization == nil || h.GetNodeStatus().ContainersUtilization == nil {
		t.Errorf("the heartbeat is %v", h)
	}
	m.next = &yarnpb.NodeHeartbeatResponseProto{ContainerTokenMasterKey: &yarnpb.MasterKeyProto{KeyId: proto.Int32(9), Bytes: []byte("rolled")}}
	beat(t, n)
	if r := n.Registered(); string(r.ContainerTokenKey.Secret) != "rolled" || string(r.NMTokenKey.Secret) != "other" || r.RMIdentifier != 99 {
		t.Errorf("registered with %+v", r)
	}
	beat(t, n)
	if id := m.heartbeats[2].GetLastKnownContainerTokenMasterKey().GetKeyId(); id != 9 {
		t.Errorf("the key is %d, want the rolled one", id)
	}
}

func TestKeysSignAndAreNotShown(t *testing.T) {
	t.Parallel()
	key := MasterKey{ID: 3, Secret: []byte("key")}
	// The HMAC-SHA1 example of RFC 2202 and other documents.
	if got := hex.EncodeToString(key.Password([]byte("The quick brown fox jumps over the lazy dog"))); got != "de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9" {
		t.Errorf("password is %s", got)
	}
	text, err := json.Marshal(Registered{NMTokenKey: key})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprintf("%v %+v %#v %s %x", key, key, &key, key, key), fmt.Sprintf("%+v", Registered{NMTokenKey: key}), string(text)} {
		if strings.Contains(shown, "6b6579") || strings.Contains(shown, "107 101") || strings.Contains(shown, "a2V5") || strings.Contains(shown, `"key"`) || !strings.Contains(shown, "3") {
			t.Errorf("a key is shown as %s", shown)
		}
	}
}

func TestCallsGoToTheTrackersProtocol(t *testing.T) {
	t.Parallel()
	var called []string
	down := errors.New("down")
	c := New(Options{Addresses: []string{"rm:8031"}, RPC: yarnrpc.Options{
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, down },
		Observe: func(try yarnrpc.Try) {
			if try.Protocol != yarnrpc.ResourceTracker {
				t.Errorf("protocol is %s", try.Protocol)
			}
			called = append(called, try.Method)
		},
	}})
	n := NewNode(c, offer)
	for _, call := range []func(context.Context) error{n.Register, n.Beat, n.Unregister} {
		if err := call(t.Context()); !errors.Is(err, down) {
			t.Errorf("error is %v", err)
		}
	}
	if diff := cmp.Diff([]string{"registerNodeManager", "nodeHeartbeat", "unRegisterNodeManager"}, called); diff != "" {
		t.Error(diff)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestAnswersAreRead(t *testing.T) {
	t.Parallel()
	if r := registeredOf(&yarnpb.RegisterNodeManagerResponseProto{RmVersion: proto.String("3.4.3")}); r.RMVersion != "3.4.3" || r.Action != actionNormal {
		t.Errorf("registered as %+v", r)
	}
	if r := heartbeatResponseOf(&yarnpb.NodeHeartbeatResponseProto{NextHeartBeatInterval: proto.Int64(1500)}); r.Interval != 1500*time.Millisecond {
		t.Errorf("answer is %+v", r)
	}
}

// FuzzHeartbeatResponse would catch an answer that crashes a node, or that makes it report a
// container that no test started.
func FuzzHeartbeatResponse(f *testing.F) {
	for _, p := range []*yarnpb.NodeHeartbeatResponseProto{
		{ResponseId: proto.Int32(1), NextHeartBeatInterval: proto.Int64(-1), ContainersToCleanup: []*yarnpb.ContainerIdProto{containerIDProto(containerID(1, 1)), {}}},
		{ApplicationsToCleanup: []*yarnpb.ApplicationIdProto{applicationIDProto(testApp)}, ContainersToBeRemovedFromNm: []*yarnpb.ContainerIdProto{containerIDProto(containerID(1, 2))}},
		{ContainersToUpdate: []*yarnpb.ContainerProto{{Id: containerIDProto(containerID(1, 1)), Resource: resourceProto(granted(1, 1).Resource)}}, NmTokenMasterKey: &yarnpb.MasterKeyProto{}, NodeAction: yarnpb.NodeActionProto_RESYNC.Enum()},
	} {
		b, err := proto.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var p yarnpb.NodeHeartbeatResponseProto
		if proto.Unmarshal(b, &p) != nil {
			return
		}
		r := heartbeatResponseOf(&p)
		if r.Interval < 0 || len(r.Stop) != len(p.GetContainersToCleanup()) {
			t.Errorf("%v is read as %+v", &p, r)
		}
		s := newState(offer)
		for _, c := range []records.Container{granted(1, 1), granted(1, 2), granted(2, 1)} {
			s.containers[c.ID] = runningStatus(c)
		}
		s.complete(containerID(1, 2), 0, "")
		s.answered(r)
		once := s.heartbeat()
		if len(once.Containers) > 3 || len(once.Containers) < 2 { // containers that the node does not run are forgotten at once
			t.Errorf("after %+v it has %+v", r, once.Containers)
		}
		r.Forget = nil // affects only containers that have ended by then
		s.answered(r)
		if diff := cmp.Diff(once, s.heartbeat()); diff != "" {
			t.Errorf("an answer that comes twice changes more:\n%s", diff)
		}
		if greeting := s.greeting(); len(greeting.Containers) != len(once.Containers) {
			t.Errorf("it would register with %+v", greeting.Containers)
		}
	})
}

// FuzzRegistered would catch an answer that crashes its reader.
func FuzzRegistered(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x18\x02\x2a\x02no"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p yarnpb.RegisterNodeManagerResponseProto
		if proto.Unmarshal(b, &p) != nil {
			return
		}
		if r := registeredOf(&p); (r.Action == actionShutdown) != (p.GetNodeAction() == yarnpb.NodeActionProto_SHUTDOWN) || r.RMIdentifier != p.GetRmIdentifier() {
			t.Errorf("%v is read as %+v", &p, r)
		}
	})
}
