package yarn

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// leader is the master of one attempt.
type leader struct {
	*application
	attempt records.ApplicationAttemptID
	token   *creds.Token
	proxy   *yarnrpc.Proxy
	next    int32 // response id
	nodes   map[records.NodeID]*creds.Token
	granted []*yarnpb.ContainerProto

	// What it has learned since the last line of learns.
	completed, recovered, updated []string
	grants                        int
}

func (l *leader) connect() {
	l.t.Helper()
	l.proxy = l.conversation.proxy(l.resourceManager().Scheduler, yarnrpc.ApplicationMasterProtocol, l.token)
}

func (l *leader) says(what string) string {
	return fmt.Sprintf("attempt %d %s", l.attempt.Attempt, what)
}

// register records the containers of the registration, and whether each of their nodes has a token.
func (l *leader) register(what string) {
	l.t.Helper()
	response := new(yarnpb.RegisterApplicationMasterResponseProto)
	l.ask(l.proxy, l.says(what), "registerApplicationMaster", &yarnpb.RegisterApplicationMasterRequestProto{
		Host: proto.String("here"), RpcPort: proto.Int32(-1), TrackingUrl: proto.String(""),
	}, response, func() string {
		l.next = 0
		l.keep(response.GetNmTokensFromPreviousAttempts())
		return fmt.Sprint("finds ", l.describe(response.GetContainersFromPreviousAttempts()))
	})
}

func (l *leader) describe(containers []*yarnpb.ContainerProto) []string {
	list := []string{}
	for _, one := range containers {
		token := "no token"
		if l.nodes[nodeOf(one)] != nil {
			token = "token"
		}
		list = append(list, fmt.Sprintf("%s (%s)", l.name(containerOf(one.GetId())), token))
	}
	slices.Sort(list)
	return list
}

func (l *leader) keep(tokens []*yarnpb.NMTokenProto) {
	for _, one := range tokens {
		p := one.GetToken()
		l.nodes[records.NodeID{Host: one.GetNodeId().GetHost(), Port: int(one.GetNodeId().GetPort())}] = &creds.Token{
			Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(), Service: p.GetService(),
		}
	}
}

func nodeOf(c *yarnpb.ContainerProto) records.NodeID {
	return records.NodeID{Host: c.GetNodeId().GetHost(), Port: int(c.GetNodeId().GetPort())}
}

func containerOf(p *yarnpb.ContainerIdProto) records.ContainerID {
	return records.ContainerID{
		Attempt: records.ApplicationAttemptID{Application: idOf(p.GetAppAttemptId().GetApplicationId()), Attempt: p.GetAppAttemptId().GetAttemptId()},
		ID:      p.GetId(),
	}
}

// allocate makes a call and records its response id.
func (l *leader) allocate(what string, r *yarnpb.AllocateRequestProto) {
	l.t.Helper()
	r.ResponseId, r.Progress = proto.Int32(l.next), proto.Float32(0)
	response := new(yarnpb.AllocateResponseProto)
	l.ask(l.proxy, l.says(what), "allocate", r, response, func() string {
		before := l.next
		l.hear(response)
		return fmt.Sprintf("response %+d", response.GetResponseId()-before)
	})
}

// hear keeps what a response says.
func (l *leader) hear(r *yarnpb.AllocateResponseProto) {
	l.next = r.GetResponseId()
	l.keep(r.GetNmTokens())
	l.granted = append(l.granted, r.GetAllocatedContainers()...)
	l.grants += len(r.GetAllocatedContainers())
	for _, s := range r.GetCompletedContainerStatuses() {
		l.completed = append(l.completed, fmt.Sprintf("%s as %s", l.name(containerOf(s.GetContainerId())), records.ExitStatus(s.GetExitStatus())))
	}
	l.recovered = append(l.recovered, l.describe(r.GetContainersFromPreviousAttempts())...)
	for _, n := range r.GetUpdatedNodes() {
		l.updated = append(l.updated, fmt.Sprintf("%s %s", n.GetNodeState(), n.GetNodeUpdateType()))
	}
}

// until sends heartbeats until done. The number of calls depends on the cluster.
func (l *leader) until(what string, first *yarnpb.AllocateRequestProto, done func() bool) {
	l.t.Helper()
	wait.For(l.t, what, func() (bool, error) {
		first.ResponseId, first.Progress = proto.Int32(l.next), proto.Float32(0)
		response := new(yarnpb.AllocateResponseProto)
		if err := l.proxy.Call(l.ctx, "allocate", first, response); err != nil {
			return false, err
		}
		first = new(yarnpb.AllocateRequestProto)
		l.hear(response)
		return done(), nil
	})
}

// grant asks for containers and gives them names in the order of their ids.
func (l *leader) grant(names ...string) {
	l.t.Helper()
	l.granted = nil
	ask := askFor(128)
	ask.Ask[0].NumContainers = proto.Int32(int32(len(names)))
	l.gets(ask, names...)
}

// gets waits until as many containers are granted as there are names. The first heartbeat sends the request.
func (l *leader) gets(first *yarnpb.AllocateRequestProto, names ...string) {
	l.t.Helper()
	l.until("containers are granted", first, func() bool { return len(l.granted) >= len(names) })
	slices.SortFunc(l.granted, func(a, b *yarnpb.ContainerProto) int { return containerOf(a.GetId()).Compare(containerOf(b.GetId())) })
	var ids []string
	for i, one := range l.granted {
		id, name := containerOf(one.GetId()), "surplus"
		if i < len(names) {
			name = names[i]
		}
		l.call(id, name)
		ids = append(ids, fmt.Sprintf("%s in epoch %+d as %d of attempt %d", name, id.Epoch()-l.epoch, id.Sequence(), id.Attempt.Attempt))
	}
	l.note("%s: %s", l.says("gets"), strings.Join(ids, ", "))
	l.grants = 0
}

// grantOn gets a container on a node. It asks for two, because each of the two nodes takes one with a heartbeat, and
// releases the others. It cannot name the node: all nodes of the fake are on one host.
func (l *leader) grantOn(node records.NodeID, name string) {
	l.t.Helper()
	var surplus []*yarnpb.ContainerIdProto
	for found := false; !found; {
		before, ask := len(l.granted), askFor(128)
		ask.Ask[0].NumContainers = proto.Int32(2)
		l.until("containers are granted", ask, func() bool { return len(l.granted) >= before+2 })
		for _, one := range l.granted[before:] {
			if !found && nodeOf(one) == node {
				l.call(containerOf(one.GetId()), name)
				found = true
			} else {
				surplus = append(surplus, one.GetId())
			}
		}
	}
	l.completed = nil
	l.until("others have ended", &yarnpb.AllocateRequestProto{Release: surplus}, func() bool { return len(l.completed) >= len(surplus) })
	l.until("YARN knows that the master knows", new(yarnpb.AllocateRequestProto), func() bool { return true })
	l.completed, l.grants = nil, 0
}

// learns sends heartbeats until it knows of so many ended containers, found containers and changed nodes. It records
// everything that it has learned.
func (l *leader) learns(ended, found, nodes int) {
	l.t.Helper()
	l.until(fmt.Sprintf("the master learns of %d ends, %d containers and %d nodes", ended, found, nodes), new(yarnpb.AllocateRequestProto), func() bool {
		return len(l.completed) >= ended && len(l.recovered) >= found && len(l.updated) >= nodes
	})
	l.tell()
}

// quiet records what it learns by a few more heartbeats.
func (l *leader) quiet() {
	l.t.Helper()
	beats := 0
	l.until("some responses", new(yarnpb.AllocateRequestProto), func() bool { beats++; return beats == 3 })
	l.tell()
}

func (l *leader) tell() {
	slices.Sort(l.completed)
	l.note("%s: ended %v, found %v, nodes %v, %d granted", l.says("learns"), l.completed, l.recovered, l.updated, l.grants)
	l.completed, l.recovered, l.updated, l.grants = nil, nil, nil, 0
}

// finish unregisters.
func (l *leader) finish(what string, final yarnpb.FinalApplicationStatusProto) {
	l.t.Helper()
	response := new(yarnpb.FinishApplicationMasterResponseProto)
	l.ask(l.proxy, l.says(what), "finishApplicationMaster", &yarnpb.FinishApplicationMasterRequestProto{
		Diagnostics: proto.String(what), TrackingUrl: proto.String(""), FinalApplicationStatus: final.Enum(),
	}, response, func() string { return fmt.Sprint(response.GetIsUnregistered()) })
}

// grantOf returns a granted container by its name.
func (l *leader) grantOf(name string) *yarnpb.ContainerProto {
	l.t.Helper()
	for _, one := range l.granted {
		if l.names[containerOf(one.GetId())] == name {
			return one
		}
	}
	l.t.Fatalf("%s was not granted", name)
	return nil
}

// manager connects to a node with its token.
func (l *leader) manager(node records.NodeID) *yarnrpc.Proxy {
	l.t.Helper()
	token := l.nodes[node]
	if token == nil {
		l.t.Fatalf("there is no token of %s", node)
	}
	return l.conversation.proxy(node.String(), yarnrpc.ContainerManagementProtocol, token)
}

// start starts containers that sleep.
func (l *leader) start(names ...string) {
	l.t.Helper()
	for _, name := range names {
		one := l.grantOf(name)
		started := new(yarnpb.StartContainersResponseProto)
		request := &yarnpb.StartContainersRequestProto{StartContainerRequest: []*yarnpb.StartContainerRequestProto{{
			ContainerLaunchContext: &yarnpb.ContainerLaunchContextProto{Command: []string{"exec " + l.sleep}},
			ContainerToken:         one.GetContainerToken(),
		}}}
		l.ask(l.manager(nodeOf(one)), l.says("starts "+name), "startContainers", request, started, func() string {
			return fmt.Sprintf("%d started, refused %s", len(started.GetSucceededRequests()), refusals(started.GetFailedRequests()))
		})
	}
}

// stop stops a container on its node.
func (l *leader) stop(node records.NodeID, name string) {
	l.t.Helper()
	stopped := new(yarnpb.StopContainersResponseProto)
	request := &yarnpb.StopContainersRequestProto{ContainerId: []*yarnpb.ContainerIdProto{l.containerProto(name)}}
	l.ask(l.manager(node), l.says("stops "+name), "stopContainers", request, stopped, func() string {
		return fmt.Sprintf("%d stopped, refused %s", len(stopped.GetSucceededRequests()), refusals(stopped.GetFailedRequests()))
	})
}
