package rpctest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// Master is a minimal ApplicationMaster: the loop of a driver around amrm and nmclient, with a record of all answers.
// One goroutine uses it.
type Master struct {
	RM    *amrm.Client
	NM    *nmclient.Client
	As    amrm.Registration
	Nodes []amrm.Node // of the default partition, for Ask; may be empty

	Running   map[records.ContainerID]records.Container // allocated containers that have not ended
	Completed map[records.ContainerID]records.ContainerStatus
	Surplus   int // containers without a request, which were released
	Resyncs   int // number of ResourceManagers that have taken over or come back

	// Heard is called with each response to a heartbeat, before its containers are started. It may be nil.
	Heard func(amrm.Response)
}

// MasterOptions are the options of a Master's connections.
type MasterOptions struct {
	RM       amrm.Options
	NM       nmclient.Options
	Register amrm.RegisterRequest
	Nodes    []amrm.Node
}

// Key is the key of Ask.
func Key() amrm.AskKey { return amrm.AskKey{Priority: 1} }

// MasterOptionsOf reads the options from a configuration. The caller fills in RM's Attempt and Token.
func MasterOptionsOf(conf *hadoopconf.Conf) (o MasterOptions, err error) {
	o.Register = amrm.RegisterRequest{Host: "localhost", RPCPort: -1}
	if o.RM, err = amrm.FromConf(conf); err != nil {
		return o, err
	}
	o.NM, err = nmclient.FromConf(conf)
	o.NM.Policy = nmclient.DefaultPolicy() // Hadoop's default is 10 s between two tries
	return o, err
}

// NewMaster makes a Master and registers it. Close ends it.
func NewMaster(ctx context.Context, o MasterOptions) (*Master, error) {
	m := &Master{
		RM: amrm.New(o.RM), NM: nmclient.New(o.NM), Nodes: o.Nodes,
		Running: make(map[records.ContainerID]records.Container), Completed: make(map[records.ContainerID]records.ContainerStatus),
	}
	var err error
	if m.As, err = m.RM.Register(ctx, o.Register); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	if !Unit().Fits(m.As.Maximum) {
		return nil, errors.Join(fmt.Errorf("the registration is %+v", m.As), m.Close())
	}
	m.NM.SetTokens(m.As.NMTokens)
	return m, nil
}

// Close closes the connections. The application continues until YARN misses its heartbeats, unless RM.Finish was
// called.
func (m *Master) Close() error { return errors.Join(m.RM.Close(), m.NM.Close()) }

// LeadOptions returns the options of the unmanaged ApplicationMaster of an application that waits for it.
func LeadOptions(t testing.TB, c *cluster.Cluster, of records.ApplicationReport) MasterOptions {
	t.Helper()
	o, err := MasterOptionsOf(Conf(t, c))
	if err != nil {
		t.Fatal(err)
	}
	o.RM.Attempt, o.RM.Token = of.Attempt, of.AMRMToken
	return o
}

// Lead makes the test an ApplicationMaster. It closes the connections at the end of the test.
func Lead(t testing.TB, o MasterOptions) *Master {
	t.Helper()
	m, err := NewMaster(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return Closing(t, m)
}

// Unmanaged submits an application to the default queue and makes the test its ApplicationMaster, which knows the nodes
// of the default partition. It is for clusters without Kerberos; on others use LeadOptions and Lead.
func Unmanaged(t testing.TB, c *cluster.Cluster, client *yarnclient.Client) (*Master, records.ApplicationReport) {
	t.Helper()
	report := SubmitUnmanaged(t, client, "default", nil)
	o := LeadOptions(t, c, report)
	o.Nodes = Nodes(t, client)
	return Lead(t, o), report
}

// Nodes returns the nodes of the default partition.
func Nodes(t testing.TB, client *yarnclient.Client) (nodes []amrm.Node) {
	t.Helper()
	reports, err := client.ClusterNodes(t.Context(), records.NodeRunning)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if !slices.ContainsFunc(r.Labels, func(label string) bool { return label != "" }) {
			nodes = append(nodes, amrm.NodeOf(r))
		}
	}
	return nodes
}

// Ask requests n containers of Unit from now on, by Key. It spreads them over the hosts in Nodes, if there are any.
func (m *Master) Ask(n int) {
	m.RM.SetAsk(amrm.Ask{Key: Key(), Capability: Unit(), Count: n, Hosts: amrm.Spread(m.Nodes, n, Unit())})
}

// Beat sends one heartbeat. It runs the command in each container that comes; "" starts nothing.
func (m *Master) Beat(ctx context.Context, command string) (amrm.Response, error) {
	r, err := m.RM.Allocate(ctx, 0.5)
	if err != nil {
		return r, err
	}
	m.NM.SetTokens(r.NMTokens)
	if r.Resynced {
		m.Resyncs++
	}
	m.Surplus += len(r.Surplus)
	for _, c := range r.Surplus {
		m.RM.Release(c.ID)
	}
	if m.Heard != nil {
		m.Heard(r)
	}
	for _, c := range r.Allocated {
		m.Running[c.ID] = c
		if command == "" {
			continue
		}
		if err := m.NM.Start(ctx, c, records.ContainerLaunchContext{Commands: []string{command}}); err != nil {
			return r, fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
		}
	}
	for _, s := range r.Completed {
		delete(m.Running, s.ID)
		m.Completed[s.ID] = s
	}
	return r, nil
}

// errNotYet is the last state that a wait has seen.
var errNotYet = errors.New("not yet")

// step sends a heartbeat of a wait until done. It ignores a ResourceManager that is away for a while.
func (m *Master) step(ctx context.Context, command string, done func() bool) error {
	if done() {
		return nil
	}
	_, err := m.Beat(ctx, command)
	switch {
	case errors.Is(err, amrm.ErrAttemptGone), err != nil && yarnrpc.Classify(err) == yarnrpc.Permanent && !wait.OfTheWay(err):
		return fmt.Errorf("%w, with %d containers: %w", wait.ErrGivenUp, len(m.Running), err)
	case err != nil:
		return err
	case !done():
		return fmt.Errorf("%w: %d containers run, %d are outstanding", errNotYet, len(m.Running), m.RM.Outstanding(Key()))
	}
	return nil
}

// Until sends heartbeats, and runs the command in each container that comes, until done. It is for masters without a
// test.
func (m *Master) Until(ctx context.Context, what, command string, done func() bool) error {
	return wait.Poll(ctx, what, func() error { return m.step(ctx, command, done) })
}

// Await is Until in a test. An error fails the test.
func (m *Master) Await(t testing.TB, what, command string, done func() bool) {
	t.Helper()
	wait.Satisfied(t, what, func() error { return m.step(t.Context(), command, done) })
}

// Has is a condition for Await: this number of containers run, or could run.
func (m *Master) Has(n int) func() bool { return func() bool { return len(m.Running) == n } }

// Hosts returns the hosts of the running containers, sorted.
func (m *Master) Hosts() (hosts []string) {
	for _, c := range m.Running {
		hosts = append(hosts, c.Node.Host)
	}
	slices.Sort(hosts)
	return hosts
}

// AwaitRunning waits until a container's NodeManager says that its process runs or has run.
func (m *Master) AwaitRunning(ctx context.Context, container records.Container) error {
	return m.Until(ctx, container.ID.String()+" runs", "", func() bool {
		statuses, err := m.NM.Statuses(ctx, container.Node, container.ID)
		return err == nil && (statuses[0].SubState == records.ContainerSubRunning || statuses[0].State == records.ContainerComplete)
	})
}
