package yarn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// compare has a conversation with a real and with a fake cluster. The fake (yarnfake and its model, books) must answer
// as the real one: the same calls, byte for byte, give the same lines.
func compare(t *testing.T, have func(*conversation)) {
	t.Helper()
	c := clusters.Use(t, clusters.Open)
	fake := begin(t, startFake(t, yarnfake.Config{Nodes: len(c.NodeManagers())}).Conf())
	genuine := beginWith(t, c)
	have(fake)
	have(genuine)
	fake.same(genuine)
}

// startFake starts a fake with nodes like those of the real clusters.
func startFake(t *testing.T, config yarnfake.Config) *yarnfake.Fake {
	t.Helper()
	config.Node, config.Heartbeat = records.Resource{MemoryMB: 8192, VCores: 32}, 100*time.Millisecond
	fake, err := yarnfake.Start(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // after the ends of the applications
		if err := fake.Stop(); err != nil {
			t.Error(err)
		}
	})
	return fake
}

// same checks that the fake's answers are those of a real cluster.
func (c *conversation) same(genuine *conversation) {
	c.t.Helper()
	if diff := cmp.Diff(genuine.lines, c.lines); diff != "" {
		c.t.Errorf("the fake cluster differs (-real +fake):\n%s", diff)
	}
}

// conversation records the answers of a cluster.
type conversation struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // of one test
	lines  []string
	client *yarnrpc.Proxy
	master *yarnrpc.Proxy
	conf   *hadoopconf.Conf
	dial   func(ctx context.Context, network, address string) (net.Conn, error) // nil: TCP
	rm     int                                                                  // index of the ResourceManager that it calls
	log    string                                                               // the ResourceManager's; "": it is the fake's
	app    *yarnpb.ApplicationIdProto
}

func (c *conversation) note(format string, args ...any) {
	c.lines = append(c.lines, fmt.Sprintf(format, args...))
	c.t.Log(c.lines[len(c.lines)-1]) // for a conversation that stops
}

// ask makes a call and records the kind of its exception, or else the answer. A server that has restarted breaks
// connections.
func (c *conversation) ask(of *yarnrpc.Proxy, what, method string, request, response proto.Message, told func() string) {
	c.t.Helper()
	var err error
	wait.Until(c.t, what+" is answered", func() bool {
		err = of.Call(c.ctx, method, request, response)
		return err == nil || !wait.OfTheWay(err)
	})
	remote, refused := errors.AsType[*yarnrpc.RemoteError](err)
	switch {
	case refused:
		c.note("%s: %s", what, remote.Class)
	case err != nil:
		c.t.Fatalf("%s: %v", what, err)
	default:
		c.note("%s: %s", what, told())
	}
}

func (c *conversation) proxy(address, protocol string, token *creds.Token) *yarnrpc.Proxy {
	o, err := yarnrpc.OptionsFrom(c.conf)
	if err != nil {
		c.t.Fatal(err)
	}
	o.Protocol, o.User = protocol, yarnrpc.UserInformation{Effective: rpctest.Me(c.t)}
	o.Dial = c.dial
	o.MaxIdle = -1 // an idle connection would log in again, with a token of an ended application
	if token != nil {
		o.Token = creds.Fixed(token)
	}
	p := yarnrpc.NewProxy([]string{address}, o, yarnrpc.Policy{})
	c.t.Cleanup(func() { p.Close() })
	return p
}

// beginWith connects a client to a real cluster.
func beginWith(t *testing.T, c *cluster.Cluster) *conversation {
	t.Helper()
	one := begin(t, rpctest.Conf(t, c))
	one.log = filepath.Join(c.LogDir(), "resourcemanager.log")
	return one
}

// begin connects a client.
func begin(t *testing.T, conf *hadoopconf.Conf) *conversation {
	t.Helper()
	c := &conversation{t: t, ctx: t.Context(), conf: conf}
	c.connect()
	return c
}

// connect makes the client of its ResourceManager.
func (c *conversation) connect() {
	c.t.Helper()
	c.client = c.proxy(c.resourceManager().Client, yarnrpc.ApplicationClientProtocol, nil)
}

// resourceManager returns the addresses of the ResourceManager that it calls.
func (c *conversation) resourceManager() hadoopconf.ResourceManager {
	c.t.Helper()
	rms, err := c.conf.ResourceManagers()
	if err != nil {
		c.t.Fatal(err)
	}
	return rms[c.rm]
}

// typed is a client that waits.
func (c *conversation) typed() *yarnclient.Client {
	o, err := yarnclient.FromConf(c.conf, rpctest.Me(c.t))
	if err != nil {
		c.t.Fatal(err)
	}
	o.RPC.Dial = c.dial
	return yarnclient.New(o)
}

func idOf(p *yarnpb.ApplicationIdProto) records.ApplicationID {
	return records.ApplicationID{ClusterTimestamp: p.GetClusterTimestamp(), ID: p.GetId()}
}

func nothing() string { return "done" }

func refusals(list []*yarnpb.ContainerExceptionMapProto) string {
	classes := []string{}
	for _, one := range list {
		classes = append(classes, one.GetException().GetClassName())
	}
	return fmt.Sprint(classes)
}

func askFor(memory int64) *yarnpb.AllocateRequestProto {
	return &yarnpb.AllocateRequestProto{Ask: []*yarnpb.ResourceRequestProto{{
		Priority: &yarnpb.PriorityProto{Priority: proto.Int32(3)}, ResourceName: proto.String("*"), NumContainers: proto.Int32(1),
		Capability: &yarnpb.ResourceProto{Memory: proto.Int64(memory), VirtualCores: proto.Int32(1)}, RelaxLocality: proto.Bool(true),
		AllocationRequestId: proto.Int64(5),
	}}}
}
