package yarnfake

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ledger is the naive model: what a master without mistakes must see.
type ledger struct {
	b        *books
	attempt  records.ApplicationAttemptID
	response int32
	wanted   int32
	live     map[records.ContainerID]bool // reported as granted, not as ended
	gone     map[records.ContainerID]bool
}

func newLedger(t *rapid.T, now time.Time) *ledger {
	b := &books{
		started: now.UnixMilli(), keys: keys{amrm: key{id: 1}, nm: key{id: 2}, container: key{id: 3}},
		settings: settings{minimum: records.Resource{MemoryMB: 100, VCores: 1}, maximum: records.Resource{MemoryMB: 1000, VCores: 4}, configured: records.Resource{MemoryMB: 1000, VCores: 4}, maxAttempts: 2},
	}
	for _, host := range []string{"a", "b", "c"} {
		b.nodes = append(b.nodes, &node{id: records.NodeID{Host: host, Port: 1}, capability: records.Resource{MemoryMB: 1000, VCores: 4}})
	}
	id := records.ApplicationID{ClusterTimestamp: b.started, ID: 1}
	l := &ledger{
		b: b, attempt: records.ApplicationAttemptID{Application: id, Attempt: 1},
		live: map[records.ContainerID]bool{}, gone: map[records.ContainerID]bool{},
	}
	l.call(t, now, clientCall{user: "alice", request: &yarnpb.SubmitApplicationRequestProto{ApplicationSubmissionContext: &yarnpb.ApplicationSubmissionContextProto{
		ApplicationId: pbconv.ApplicationIDProto(id), AmContainerSpec: &yarnpb.ContainerLaunchContextProto{}, UnmanagedAm: proto.Bool(true),
	}}})
	l.register(t, now)
	return l
}

func (l *ledger) call(t *rapid.T, now time.Time, e event) proto.Message {
	effects := l.b.step(now, e)
	reply, is := effects[len(effects)-1].(answer)
	if !is || reply.err != nil {
		t.Fatalf("%T is answered with %+v", e, reply)
	}
	return reply.message
}

func (l *ledger) register(t *rapid.T, now time.Time) {
	l.call(t, now, masterCall{attempt: l.attempt, keyID: 1, request: &yarnpb.RegisterApplicationMasterRequestProto{}})
	l.response = 0
}

// allocate makes a heartbeat, sometimes twice as after a lost answer, and records the result.
func (l *ledger) allocate(t *rapid.T, now time.Time, request *yarnpb.AllocateRequestProto, twice bool) {
	request.ResponseId = proto.Int32(l.response)
	e := masterCall{attempt: l.attempt, keyID: 1, request: request}
	message := l.call(t, now, e)
	if again := message; twice {
		if message = l.call(t, now, e); !proto.Equal(message, again) {
			t.Fatal("a repeated request has another answer")
		}
	}
	r, is := message.(*yarnpb.AllocateResponseProto)
	if !is || r.GetResponseId() != l.response+1 {
		t.Fatalf("response %d after request %d", r.GetResponseId(), l.response)
	}
	l.response++
	for _, c := range pbconv.Containers(r.GetAllocatedContainers()) {
		if l.live[c.ID] || l.gone[c.ID] {
			t.Fatalf("%s was told twice", c.ID)
		}
		l.live[c.ID] = true
		l.wanted--
	}
	if l.wanted < 0 {
		t.Fatalf("%d containers more than were asked for", -l.wanted)
	}
	for _, s := range pbconv.ContainerStatuses(r.GetCompletedContainerStatuses()) {
		if l.gone[s.ID] {
			t.Fatalf("the end of %s was told twice", s.ID)
		}
		delete(l.live, s.ID)
		l.gone[s.ID] = true
	}
}

// check compares the nodes' accounts with the existing containers.
func (l *ledger) check(t *rapid.T) {
	used := map[records.NodeID]records.Resource{}
	for _, app := range l.b.apps {
		for _, c := range app.containers {
			if c.state != records.ContainerComplete {
				used[c.node.id] = used[c.node.id].Add(c.resource)
			}
		}
	}
	for _, n := range l.b.nodes {
		if n.used != used[n.id] || !n.used.Fits(n.capability) {
			t.Fatalf("%s has %s in use of %s, its containers take %s", n.id, n.used, n.capability, used[n.id])
		}
	}
}

// It would catch grants that are lost, reported twice or beyond the ask, and room that is never
// returned. No test of a single sequence shows these.
func TestTheBooksAgreeWithAMastersLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMilli(1_700_000_000_000)
		l := newLedger(t, now)
		pick := func(t *rapid.T) (records.ContainerID, bool) {
			for _, c := range l.b.apps[0].containers { // by age
				if l.live[c.id] && rapid.Bool().Draw(t, "this one") {
					return c.id, true
				}
			}
			return records.ContainerID{}, false
		}
		t.Repeat(map[string]func(*rapid.T){
			"": l.check,
			"ask": func(t *rapid.T) {
				// An answer contains what was granted before the request's numbers take effect.
				l.allocate(t, now, &yarnpb.AllocateRequestProto{}, false)
				l.wanted = rapid.Int32Range(0, 5).Draw(t, "count")
				l.allocate(t, now, &yarnpb.AllocateRequestProto{Ask: []*yarnpb.ResourceRequestProto{{
					Priority: pbconv.PriorityProto(1), ResourceName: proto.String(anyPlace), NumContainers: proto.Int32(l.wanted),
					Capability: pbconv.ResourceProto(records.Resource{MemoryMB: rapid.Int64Range(1, 600).Draw(t, "memory"), VCores: 1}),
				}}}, rapid.Bool().Draw(t, "lost"))
			},
			"allocate": func(t *rapid.T) {
				l.allocate(t, now, &yarnpb.AllocateRequestProto{}, rapid.Bool().Draw(t, "lost"))
			},
			"heartbeat": func(t *rapid.T) {
				now = now.Add(rapid.SampledFrom([]time.Duration{time.Second, containerExpiry}).Draw(t, "later"))
				l.b.step(now, nodeBeat{rapid.SampledFrom(l.b.nodes).Draw(t, "node").id})
			},
			"start": func(t *rapid.T) {
				if id, is := pick(t); is {
					l.b.step(now, containerStarted{id: id, node: l.b.container(id).node.id})
				}
			},
			"end": func(t *rapid.T) {
				if id, is := pick(t); is {
					l.b.step(now, containerEnded{id: id, exit: 1})
				}
			},
			"release": func(t *rapid.T) {
				if id, is := pick(t); is {
					l.allocate(t, now, &yarnpb.AllocateRequestProto{Release: []*yarnpb.ContainerIdProto{pbconv.ContainerIDProto(id)}}, true)
				}
			},
			"preempt": func(t *rapid.T) {
				if id, is := pick(t); is {
					l.b.step(now, containerTaken{id: id, exit: records.ExitPreempted})
				}
			},
			"lose": func(t *rapid.T) {
				if n := l.b.nodes[0]; rapid.IntRange(0, 9).Draw(t, "chance") == 0 {
					l.b.step(now, nodeGone{n.id})
				}
			},
		})
	})
}
