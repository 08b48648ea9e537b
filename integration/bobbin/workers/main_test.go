// Package workers tests the ResourceManager's provider against a real YARN. The test process is an unmanaged
// ApplicationMaster. Its workers are shells that connect to it, so that it sees when their processes run and end.
package workers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarnworkers"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var suite = bobbintest.NewSuite(clusters.Open)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

var small = resourcemanager.WorkerResourceSpec{MemoryMB: 128, VCores: 1, Slots: 1}

// application is an unmanaged application with a Provider that runs in the test.
type application struct {
	id       records.ApplicationID
	provider *yarnworkers.Provider
	nodes    *nmclient.Client // of the provider
	workers  *workers
	reports  *reports
	ended    chan struct{} // closed when the provider has ended
	stop     func() error  // ends the provider and returns Run's error
}

// submit starts an application of alice on the cluster, and its provider.
func submit(t testing.TB, c *cluster.Cluster) *application {
	t.Helper()
	alice := suite.UserOf(t, c, bobbintest.Alice)
	conf := alice.Conf(t)
	options := rpctest.ClientOptions(t, c, alice.Name)
	if c.Secure() {
		// YARN gives the token of an unmanaged application only to the owner, compared by short name. A user who logs
		// in has a realm; an impersonated user has none.
		options.RPC.User = yarnrpc.UserInformation{Effective: alice.Name, Real: alice.Name}
	}
	client := rpctest.NewClient(t, options)
	a := &application{workers: listen(t), reports: new(reports)}
	report := rpctest.SubmitUnmanaged(t, client, "default", nil)
	a.id = report.ID
	nodes, err := client.ClusterNodes(t.Context(), records.NodeRunning)
	if err != nil {
		t.Fatal(err)
	}
	toRM, err := amrm.FromConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	toNM, err := nmclient.FromConf(conf)
	if err != nil {
		t.Fatal(err)
	}
	a.run(t, toRM, toNM, report, nodes)
	return a
}

func closing(t testing.TB, c interface{ Close() error }) {
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// run runs the provider until stop, or the end of the test.
func (a *application) run(t testing.TB, toRM amrm.Options, toNM nmclient.Options, report records.ApplicationReport, nodes []records.NodeReport) {
	t.Helper()
	logger := logrus.New()
	logger.SetOutput(t.Output())
	logger.SetFormatter(&logrus.TextFormatter{TimestampFormat: "05.000", FullTimestamp: true})
	toRM.Policy = yarnrpc.Policy{} // the provider repeats its heartbeat itself
	toRM.Attempt, toRM.Token = report.Attempt, report.AMRMToken
	toRM.RPC.Logger, toNM.RPC.Logger = logging.Slog(logger), logging.Slog(logger)
	rm, nm := amrm.New(toRM), nmclient.New(toNM)
	provider, err := yarnworkers.New(yarnworkers.Config{
		ResourceManager: rm, NodeManagers: nm, Attempt: report.Attempt,
		Registration:    amrm.RegisterRequest{Host: "localhost", RPCPort: -1, TrackingURL: "http://localhost:1"},
		Launch:          a.workers.launch,
		Heartbeat:       config.Config{}.Duration(config.YarnHeartbeatInterval),
		RequestInterval: config.Config{}.Duration(config.YarnContainerRequestInterval),
	}, logger)
	if err != nil {
		t.Fatal(err)
	}
	provider.KnowNodes(t.Context(), nodes)
	a.provider, a.nodes = provider, nm
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.Context()))
	a.ended = make(chan struct{})
	var runError error
	go func() {
		defer close(a.ended)
		runError = provider.Run(ctx, a.reports.take)
	}()
	a.stop = func() error {
		cancel(errStopped)
		<-a.ended
		return runError
	}
	t.Cleanup(func() {
		if err := a.stop(); err != nil && !errors.Is(err, errStopped) && !errors.Is(err, amrm.ErrAttemptGone) {
			t.Error(err)
		}
		closing(t, nm)
		closing(t, rm)
	})
}

var errStopped = errors.New("stopped by the test")

// workersOf orders a total of workers of one kind.
func workersOf(spec resourcemanager.WorkerResourceSpec, total int) []resourcemanager.WorkerOrder {
	return []resourcemanager.WorkerOrder{{Spec: spec, Total: total}}
}

// releases names all running workers.
func (a *application) releases() (list []resourcemanager.Release) {
	for id := range a.workers.running() {
		list = append(list, resourcemanager.Release{Worker: id, Cause: "the test wants it"})
	}
	return list
}

// reports collects the provider's reports.
type reports struct {
	mu        sync.Mutex // guards the fields below
	starting  map[ids.ResourceID]string
	completed map[ids.ResourceID]string
	others    []resourcemanager.WorkerEvent
}

func (r *reports) take(_ context.Context, events ...resourcemanager.WorkerEvent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.starting == nil {
		r.starting, r.completed = make(map[ids.ResourceID]string), make(map[ids.ResourceID]string)
	}
	for _, event := range events {
		switch e := event.(type) {
		case resourcemanager.WorkerStarting:
			r.starting[e.Worker] = e.Host
		case resourcemanager.WorkerCompleted:
			r.completed[e.Worker] = e.Cause
		case resourcemanager.WorkerFailed, resourcemanager.WorkersRefused, resourcemanager.RefusalEnded, resourcemanager.OrdersTaken:
			r.others = append(r.others, e)
		}
	}
	return nil
}

// read returns the numbers of reports, and the cause of one worker's end.
func (r *reports) read(id ids.ResourceID) (starting, completed int, cause string, others []resourcemanager.WorkerEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.starting), len(r.completed), r.completed[id], r.others
}

// workers is the processes in containers. Each holds a connection to the test as long as it lives.
type workers struct {
	listener net.Listener
	serving  sync.WaitGroup
	gate     chan struct{} // blocks launches until it is closed; nil: does not block

	mu   sync.Mutex // guards pids
	pids map[ids.ResourceID]int
}

func listen(t testing.TB) *workers {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &workers{listener: listener, pids: make(map[ids.ResourceID]int)}
	w.serving.Go(w.accept)
	t.Cleanup(func() { // after the application was killed, so all connections end
		closing(t, listener)
		w.serving.Wait()
	})
	return w
}

func (w *workers) accept() {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.serving.Go(func() { w.serve(conn) })
	}
}

// serve tracks a worker from its first line to the end of its connection.
func (w *workers) serve(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	line, err := reader.ReadString('\n')
	container, pid, ok := strings.Cut(strings.TrimSpace(line), " ")
	number, convert := strconv.Atoi(pid)
	if err != nil || !ok || convert != nil {
		return
	}
	w.mu.Lock()
	w.pids[ids.ResourceID(container)] = number
	w.mu.Unlock()
	_, _ = reader.ReadByte() // blocks while the worker lives
	w.mu.Lock()
	delete(w.pids, ids.ResourceID(container))
	w.mu.Unlock()
}

func (w *workers) launch(records.ContainerID, records.NodeID, resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error) {
	if w.gate != nil {
		<-w.gate
	}
	_, port, err := net.SplitHostPort(w.listener.Addr().String())
	if err != nil {
		return records.ContainerLaunchContext{}, err
	}
	return records.ContainerLaunchContext{Commands: []string{
		fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/%s; echo $CONTAINER_ID \$\$ >&3; exec sleep 100000`, port),
	}}, nil
}

// running returns the live workers, with their process ids.
func (w *workers) running() map[ids.ResourceID]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.pids)
}

func (w *workers) await(t testing.TB, n int) {
	t.Helper()
	wait.Until(t, fmt.Sprintf("%d workers run", n), func() bool { return len(w.running()) == n })
}
