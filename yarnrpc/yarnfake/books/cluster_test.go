package books_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// cluster connects the cores of a ResourceManager and of nodes. Messages arrive at once, unless
// their node is cut off.
type cluster struct {
	t     fataler
	now   time.Time
	rm    *books.ResourceManager
	nodes []*books.NodeManager
	cut   map[string]bool // hosts from and to which nothing arrives
	lines []string        // the transcript
	runs  []records.ContainerID
	where map[records.ContainerID]string         // the host of a run
	got   []records.ContainerID                  // by answers to allocate
	ended []records.ContainerID                  // likewise
	ids   map[records.ApplicationAttemptID]int32 // response ids
}

var unit = records.Resource{MemoryMB: 100, VCores: 1}

func keys(seed byte) books.Keys {
	key := func(n byte) books.Key { return books.Key{ID: int32(seed + n), Secret: []byte{seed, n}} }
	return books.Keys{AMRM: key(1), NM: key(2), Container: key(3), Client: key(4), Delegation: key(5)}
}

func newCluster(t fataler, s books.Settings, hosts ...string) *cluster {
	s.Minimum, s.Maximum, s.MaxAttempts = unit, records.Resource{MemoryMB: 1000, VCores: 4}, cmp.Or(s.MaxAttempts, 2)
	c := &cluster{t: t, now: time.UnixMilli(1000), cut: map[string]bool{}, where: map[records.ContainerID]string{}, ids: map[records.ApplicationAttemptID]int32{}}
	c.rm = books.NewResourceManager(s, keys(10), c.now)
	for _, host := range hosts {
		c.nodes = append(c.nodes, books.NewNodeManager(records.NodeID{Host: host, Port: 1}, s.Maximum))
		c.tell(host, books.Start{})
	}
	return c
}

func (c *cluster) note(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
}

// transcript returns the lines since the last transcript.
func (c *cluster) transcript() string {
	text := strings.Join(c.lines, "\n")
	c.lines = nil
	return text
}

// expect compares the transcript.
func (c *cluster) expect(want string) {
	c.t.Helper()
	want = strings.TrimSpace(strings.ReplaceAll(want, "\n\t\t", "\n"))
	if got := c.transcript(); got != want {
		c.t.Fatalf("transcript:\n%s\nwant:\n%s", got, want)
	}
}

func short(id records.ContainerID) string {
	if id.Epoch() > 0 {
		return fmt.Sprintf("%d.%d.e%d.%d", id.Attempt.Application.ID, id.Attempt.Attempt, id.Epoch(), id.Sequence())
	}
	return fmt.Sprintf("%d.%d.%d", id.Attempt.Application.ID, id.Attempt.Attempt, id.Sequence())
}

func (c *cluster) node(host string) *books.NodeManager {
	for i, n := range c.nodes {
		if n.ID().Host == host {
			return c.nodes[i]
		}
	}
	c.t.Fatalf("no node %s", host)
	return nil
}

// step passes an event to the ResourceManager.
func (c *cluster) step(e books.Event) books.Answer {
	var reply books.Answer
	for _, effect := range c.rm.Step(c.now, e) {
		switch effect := effect.(type) {
		case books.Answer:
			reply = effect
		case books.ToNode:
			host := effect.To().Host
			switch effect := effect.(type) {
			case books.Kill:
				c.note("RM to %s: kill %s as %s", host, short(effect.ID), effect.Exit)
			case books.Forget:
				c.note("RM to %s: forget %s", host, short(effect.ID))
			case books.Resync:
				c.note("RM to %s: resync", host)
			default:
			}
			if !c.cut[host] {
				c.tell(host, effect)
			}
		default:
		}
	}
	return reply
}

// tell passes an event to a node. A container that is to end does so at once.
func (c *cluster) tell(host string, e books.NodeEvent) books.Answer {
	var reply books.Answer
	for _, effect := range c.node(host).Step(c.now, e) {
		switch effect := effect.(type) {
		case books.Answer:
			reply = effect
		case books.Run:
			c.note("%s runs %s", host, short(effect.Container.ID))
			c.runs = append(c.runs, effect.Container.ID)
			c.where[effect.Container.ID] = host
		case books.End:
			c.note("%s ends %s", host, short(effect.ID))
			c.exit(host, effect.ID, records.ExitTerminated)
		case books.ToResourceManager:
			if !c.cut[host] {
				c.step(effect)
			}
		default:
		}
	}
	return reply
}

// exit ends the process of a container.
func (c *cluster) exit(host string, id records.ContainerID, exit records.ExitStatus) {
	c.runs = slices.DeleteFunc(c.runs, func(r records.ContainerID) bool { return r == id })
	c.tell(host, books.Exited{ID: id, Exit: exit})
}

// pass lets time pass, with the alarms that ring meanwhile.
func (c *cluster) pass(d time.Duration) {
	end := c.now.Add(d)
	for {
		alarm := c.rm.Alarm()
		if alarm.IsZero() || alarm.After(end) {
			break
		}
		if alarm.After(c.now) {
			c.now = alarm
		}
		c.step(books.Tick{})
		if next := c.rm.Alarm(); !next.IsZero() && !next.After(c.now) {
			c.t.Fatalf("at %v the alarm stays at %v", c.now, next)
		}
	}
	c.now = end
}

// beat makes a heartbeat of each node.
func (c *cluster) beat() {
	for _, n := range c.nodes {
		c.tell(n.ID().Host, books.Beat{})
	}
}

func (c *cluster) encode(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// class returns the exception of an answer without its package, or "" after decoding the response.
func (c *cluster) class(reply books.Answer, response proto.Message) string {
	c.t.Helper()
	if reply.Exception != nil {
		return reply.Exception.Class[strings.LastIndexByte(reply.Exception.Class, '.')+1:]
	}
	if err := proto.Unmarshal(reply.Response, response); err != nil {
		c.t.Fatal(err)
	}
	return ""
}

// submit submits an application and returns its first attempt.
func (c *cluster) submit(p *yarnpb.ApplicationSubmissionContextProto) records.ApplicationAttemptID {
	c.t.Helper()
	created := new(yarnpb.GetNewApplicationResponseProto)
	c.class(c.step(books.ClientCall{User: "alice", Method: "getNewApplication"}), created)
	p.ApplicationId = created.GetApplicationId()
	p.AmContainerSpec, p.Resource = &yarnpb.ContainerLaunchContextProto{}, pbconv.ResourceProto(unit)
	reply := c.step(books.ClientCall{User: "alice", Method: "submitApplication", Request: c.encode(&yarnpb.SubmitApplicationRequestProto{ApplicationSubmissionContext: p})})
	if class := c.class(reply, new(yarnpb.SubmitApplicationResponseProto)); class != "" {
		c.t.Fatal(class)
	}
	return records.ApplicationAttemptID{Application: pbconv.ApplicationID(p.ApplicationId), Attempt: 1}
}

func (c *cluster) master(a records.ApplicationAttemptID, method string, request, response proto.Message) string {
	c.t.Helper()
	return c.class(c.step(books.MasterCall{Attempt: a, KeyID: 11, Method: method, Request: c.encode(request)}), response)
}

// register registers an attempt and notes what it inherits.
func (c *cluster) register(a records.ApplicationAttemptID) {
	c.t.Helper()
	r := new(yarnpb.RegisterApplicationMasterResponseProto)
	class := c.master(a, "registerApplicationMaster", &yarnpb.RegisterApplicationMasterRequestProto{}, r)
	c.ids[a] = 0
	c.note("%d.%d registers:%s%s", a.Application.ID, a.Attempt, class, list(" has", r.GetContainersFromPreviousAttempts()))
}

// finish unregisters an attempt and notes the answer.
func (c *cluster) finish(a records.ApplicationAttemptID) {
	c.t.Helper()
	r := new(yarnpb.FinishApplicationMasterResponseProto)
	class := c.master(a, "finishApplicationMaster", &yarnpb.FinishApplicationMasterRequestProto{
		FinalApplicationStatus: yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED.Enum(),
	}, r)
	if class == "" {
		class = fmt.Sprint(r.GetIsUnregistered())
	}
	c.note("%d.%d finishes: %s", a.Application.ID, a.Attempt, class)
}

// fail gives an attempt up for the user.
func (c *cluster) fail(a records.ApplicationAttemptID) {
	c.t.Helper()
	request := c.encode(&yarnpb.FailApplicationAttemptRequestProto{ApplicationAttemptId: pbconv.ApplicationAttemptIDProto(a)})
	if class := c.class(c.step(books.ClientCall{User: "alice", Method: "failApplicationAttempt", Request: request}), new(yarnpb.FailApplicationAttemptResponseProto)); class != "" {
		c.t.Fatal(class)
	}
}

// allocate makes a heartbeat of a master and notes the answer.
func (c *cluster) allocate(a records.ApplicationAttemptID, r *yarnpb.AllocateRequestProto) []records.Container {
	c.t.Helper()
	r.ResponseId = proto.Int32(c.ids[a])
	response := new(yarnpb.AllocateResponseProto)
	if class := c.master(a, "allocate", r, response); class != "" {
		c.note("%d.%d allocates: %s", a.Application.ID, a.Attempt, class)
		return nil
	}
	again := new(yarnpb.AllocateResponseProto)
	if c.master(a, "allocate", r, again); !proto.Equal(again, response) {
		c.t.Fatalf("the same allocate gives %v, then %v", response, again)
	}
	c.ids[a] = response.GetResponseId()
	ended := ""
	for _, s := range pbconv.ContainerStatuses(response.GetCompletedContainerStatuses()) {
		c.ended = append(c.ended, s.ID)
		ended += fmt.Sprintf(" ended %s as %s", short(s.ID), s.ExitStatus)
	}
	c.note("%d.%d allocates:%s%s%s", a.Application.ID, a.Attempt, list(" gets", response.GetAllocatedContainers()),
		list(" finds", response.GetContainersFromPreviousAttempts()), ended)
	granted := pbconv.Containers(response.GetAllocatedContainers())
	for _, one := range granted {
		c.got = append(c.got, one.ID)
	}
	return granted
}

func list(what string, containers []*yarnpb.ContainerProto) string {
	if len(containers) == 0 {
		return ""
	}
	for _, one := range pbconv.Containers(containers) {
		what += " " + short(one.ID)
	}
	return what
}

func asks(count int32) *yarnpb.AllocateRequestProto {
	return &yarnpb.AllocateRequestProto{Ask: []*yarnpb.ResourceRequestProto{{
		Priority: pbconv.PriorityProto(1), ResourceName: proto.String("*"), NumContainers: proto.Int32(count), Capability: pbconv.ResourceProto(unit),
	}}}
}

func nothing() *yarnpb.AllocateRequestProto { return &yarnpb.AllocateRequestProto{} }

func nodeA() records.NodeID { return records.NodeID{Host: "a", Port: 1} }

func startOf(one records.Container) *yarnpb.StartContainersRequestProto {
	return &yarnpb.StartContainersRequestProto{StartContainerRequest: []*yarnpb.StartContainerRequestProto{{
		ContainerLaunchContext: &yarnpb.ContainerLaunchContextProto{}, ContainerToken: pbconv.TokenProto(one.Token),
	}}}
}

// start starts a granted container, and returns its exception or that of the call.
func (c *cluster) start(one records.Container) string {
	c.t.Helper()
	reply := c.tell(one.Node.Host, books.NodeCall{Application: one.ID.Attempt.Application, Method: "startContainers", Request: c.encode(startOf(one))})
	response := new(yarnpb.StartContainersResponseProto)
	if class := c.class(reply, response); class != "" {
		return class
	}
	for _, refused := range response.GetFailedRequests() {
		return refused.GetException().GetClassName()[len("org.apache.hadoop.yarn.exceptions."):] + ": " + refused.GetException().GetMessage()
	}
	return "started"
}

// work gets a container for each node and starts them.
func (c *cluster) work(a records.ApplicationAttemptID) []records.Container {
	c.t.Helper()
	c.allocate(a, asks(int32(len(c.nodes))))
	c.beat()
	granted := c.allocate(a, nothing())
	for _, one := range granted {
		if got := c.start(one); got != "started" {
			c.t.Fatal(got)
		}
	}
	return granted
}

func (c *cluster) state(a records.ApplicationAttemptID) string {
	for _, app := range c.rm.Applications() {
		if app.ID == a.Application {
			return fmt.Sprintf("%s, attempt %d is %s", app.State, len(app.Attempts), app.Attempts[len(app.Attempts)-1].State)
		}
	}
	return "unknown"
}

func managed() *yarnpb.ApplicationSubmissionContextProto {
	return &yarnpb.ApplicationSubmissionContextProto{}
}

func keeping() *yarnpb.ApplicationSubmissionContextProto {
	return &yarnpb.ApplicationSubmissionContextProto{KeepContainersAcrossApplicationAttempts: proto.Bool(true)}
}
