package yarn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// master is an ApplicationMaster as small as one can be: the loop that a driver
// has around amrm and nmclient.
type master struct {
	rm    *amrm.Client
	nm    *nmclient.Client
	nodes []amrm.Node
	as    amrm.Registration

	running   map[records.ContainerID]records.Container
	completed map[records.ContainerID]records.ContainerStatus
	resynced  int
	collector *amrm.Collector // the last
}

var unit = records.Resource{MemoryMB: 128, VCores: 1}

func newMaster(ctx context.Context, conf *hadoopconf.Conf, user string, attempt records.ApplicationAttemptID, token *creds.Token) (*master, error) {
	log := logrus.New()
	rms, err := conf.ResourceManagers()
	if err != nil {
		return nil, err
	}
	o, err := yarnclient.FromConf(conf, user)
	if err != nil {
		return nil, err
	}
	client := yarnclient.New(o)
	reports, err := client.ClusterNodes(ctx, records.NodeRunning)
	if err = errors.Join(err, client.Close()); err != nil {
		return nil, err
	}
	m := &master{
		rm:      amrm.New(amrm.Options{Addresses: []string{rms[0].Scheduler}, Attempt: attempt, Token: token, RPC: yarnrpc.Options{Logger: log}}),
		nm:      nmclient.New(nmclient.Options{RPC: yarnrpc.Options{Logger: log}}),
		running: map[records.ContainerID]records.Container{}, completed: map[records.ContainerID]records.ContainerStatus{},
	}
	for _, r := range reports {
		m.nodes = append(m.nodes, amrm.NodeOf(r))
	}
	m.as, err = m.rm.Register(ctx, amrm.RegisterRequest{Host: "localhost", RPCPort: -1, TrackingURL: "http://localhost:1"})
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	if m.as.Maximum.MemoryMB < unit.MemoryMB {
		return nil, errors.Join(fmt.Errorf("registration is %+v", m.as), m.close())
	}
	return m, nil
}

func (m *master) close() error { return errors.Join(m.rm.Close(), m.nm.Close()) }

func (m *master) ask(n int) {
	m.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: unit, Count: n, Hosts: amrm.Spread(m.nodes, n, unit)})
}

// until heartbeats, and starts command in each container that comes, until done.
func (m *master) until(ctx context.Context, command string, done func() bool) error {
	for !done() {
		r, err := m.rm.Allocate(ctx, 0.5)
		if errors.Is(err, amrm.ErrAttemptGone) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "allocate:", err)
		}
		m.nm.SetTokens(r.NMTokens)
		if r.Resynced {
			m.resynced++
		}
		if r.Collector != nil {
			m.collector = r.Collector
		}
		for _, c := range r.Surplus {
			m.rm.Release(c.ID)
		}
		for _, c := range r.Allocated {
			if err := m.nm.Start(ctx, c, records.ContainerLaunchContext{Commands: []string{command}}); err != nil {
				return err
			}
			m.running[c.ID] = c
		}
		for _, s := range r.Completed {
			delete(m.running, s.ID)
			m.completed[s.ID] = s
		}
		timer := time.NewTimer(100 * time.Millisecond)
		<-timer.C
	}
	return nil
}

// An unmanaged ApplicationMaster is this process: everything it sees can be
// asserted directly.
func TestAnApplicationMastersWholeLife(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := newClient(t, c, me(t))
	report := submitUnmanaged(t, client, "default")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m, err := newMaster(ctx, confOf(t, c), me(t), report.Attempt, report.AMRMToken)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()

	run := func(command string, done func() bool) {
		t.Helper()
		if err := m.until(ctx, command, done); err != nil {
			t.Fatal(err)
		}
	}

	// One container that ends by itself, with a code of its own.
	m.ask(1)
	run("sleep 0.2; exit 3", func() bool { return len(m.completed) == 1 })
	for id, s := range m.completed {
		if s.ExitStatus != 3 || s.State != records.ContainerComplete {
			t.Errorf("%s ended as %+v", id, s)
		}
	}
	clear(m.completed)

	// Ten that live, on both hosts. They come within a round of NodeManager
	// heartbeats; a bare "*" would take five.
	const unusual = "sleep 3210.75"
	m.ask(10)
	run(unusual, func() bool { return len(m.running) == 10 && processes(t, unusual) == 10 })
	if n := m.rm.Outstanding(amrm.AskKey{Priority: 1}); n != 0 {
		t.Errorf("%d containers are outstanding", n)
	}
	onHost := map[string]int{}
	for _, c := range m.running {
		onHost[c.Node.Host]++
		if !unit.Fits(c.Resource) {
			t.Errorf("%s has %s", c.ID, c.Resource)
		}
	}
	for _, host := range c.NodeManagers() {
		if onHost[host] == 0 {
			t.Errorf("containers are spread as %v", onHost)
		}
	}

	// One is stopped on its node, the rest are released; each says how it ended.
	ids := slices.SortedFunc(maps.Keys(m.running), records.ContainerID.Compare)
	stopped := m.running[ids[0]]
	statuses, err := m.nm.Statuses(ctx, stopped.Node, stopped.ID)
	if err != nil || len(statuses) != 1 || statuses[0].State != records.ContainerRunning {
		t.Errorf("status of a running container is %+v, %v", statuses, err)
	}
	if err := m.nm.Start(ctx, stopped, records.ContainerLaunchContext{Commands: []string{"true"}}); err == nil {
		t.Error("a container was started twice")
	}
	if err := m.nm.Stop(ctx, stopped.Node, stopped.ID); err != nil {
		t.Error(err)
	}
	m.rm.Release(ids[1:]...)
	run("", func() bool { return len(m.completed) == 10 && processes(t, unusual) == 0 })
	for id, s := range m.completed {
		want := records.ExitAborted
		if id == stopped.ID {
			want = records.ExitKilledByAppMaster
		}
		if s.ExitStatus != want {
			t.Errorf("%s ended as %s: %s", id, s.ExitStatus, s.Diagnostics)
		}
	}

	// What is asked for and taken back does not come.
	m.ask(5)
	m.ask(0)
	for range 20 {
		run("", func() bool { return !m.rm.Changed() })
	}

	if err := m.rm.Finish(ctx, records.FinalSucceeded, "all is well", ""); err != nil {
		t.Fatal(err)
	}
	report = await(t, client, report.ID, "finished", ended)
	app, err := c.RM().App(ctx, report.ID.String())
	if err != nil || app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" || !strings.Contains(report.Diagnostics, "all is well") {
		t.Errorf("YARN says %+v, %v; diagnostics %q", app, err, report.Diagnostics)
	}
}

func TestAnAskLargerThanTheMaximumIsRefusedUntilItIsTakenBack(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := newClient(t, c, me(t))
	m, report := unmanaged(t, c)
	big := amrm.Ask{Key: amrm.AskKey{Priority: 2}, Capability: records.Resource{MemoryMB: 1 << 40, VCores: 1}, Count: 1}
	m.rm.SetAsk(big)
	if _, err := m.rm.Allocate(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "InvalidResourceRequestException") {
		t.Errorf("error is %v", err)
	}
	big.Count = 0
	m.rm.SetAsk(big)
	if _, err := m.rm.Allocate(t.Context(), 0); err != nil {
		t.Errorf("after the ask was taken back: %v", err)
	}
	if err := m.rm.Finish(t.Context(), records.FinalFailed, "as planned", ""); err != nil {
		t.Error(err)
	}
	if r := await(t, client, report.ID, "finished", ended); r.State != records.ApplicationFinished || r.FinalStatus != records.FinalFailed {
		t.Errorf("it ended as %s (%s)", r.State, r.FinalStatus)
	}
}

func TestAKilledApplicationsMasterIsTold(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := newClient(t, c, me(t))
	m, report := unmanaged(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := client.Kill(ctx, report.ID, ""); err != nil {
		t.Fatal(err)
	}
	if err := m.until(ctx, "", func() bool { return false }); !errors.Is(err, amrm.ErrAttemptGone) {
		t.Errorf("the master of a killed application gets %v", err)
	}
}

// The files by which a test and its ApplicationMaster talk to each other.
const (
	binaryName = "master"
	confName   = "hadoop.xml"
	startedAs  = "started"
	resyncedAs = "resynced"

	collectorAs = "collector"
)

// stage puts this test binary and the Hadoop configuration on HDFS and makes
// them an application.
func stage(t *testing.T, c *cluster.Cluster, scenario string) (records.SubmissionContext, *dfs.FS, string) {
	t.Helper()
	conf := confOf(t, c)
	f := newFS(t, dfs.Options{Conf: conf, User: me(t), Patience: time.Minute})
	dir := scratch(t, f)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := conf.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WriteFile(t.Context(), dir+"/"+confName, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Upload(t.Context(), binary, dir+"/"+binaryName, dfs.UploadOptions{CreateOptions: dfs.CreateOptions{Mode: 0o700}}); err != nil {
		t.Fatal(err)
	}
	resources := map[string]records.LocalResource{}
	for _, name := range []string{binaryName, confName} {
		info, err := f.Stat(t.Context(), dir+"/"+name)
		if err != nil {
			t.Fatal(err)
		}
		url, err := records.ParseURL(info.URI)
		if err != nil {
			t.Fatal(err)
		}
		resources[name] = records.LocalResource{
			URL: url, Size: info.Size, Timestamp: info.ModTime.UnixMilli(),
			Type: records.LocalFile, Visibility: records.VisibilityApplication,
		}
	}
	application := shell("./" + binaryName)
	application.Resource.MemoryMB = 512
	application.Container.LocalResources = resources
	application.Container.Environment = map[string]string{
		masterVariable: scenario, "HADOOP_USER_NAME": me(t), "BOBBIN_TEST_DIR": dir,
	}
	return application, f, dir
}

// runMaster is the main function of an ApplicationMaster in a container.
func runMaster(scenario string) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := lead(ctx, scenario); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func lead(ctx context.Context, scenario string) error {
	container, err := records.ParseContainerID(os.Getenv("CONTAINER_ID"))
	if err != nil {
		return err
	}
	credentials, err := creds.ReadFile(os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(confName)
	if err != nil {
		return err
	}
	conf, err := hadoopconf.Parse(text)
	if err != nil {
		return err
	}
	user, dir := os.Getenv("HADOOP_USER_NAME"), os.Getenv("BOBBIN_TEST_DIR")
	f := dfs.New(dfs.Options{Conf: conf, User: user, Patience: time.Minute})
	defer f.Close()
	m, err := newMaster(ctx, conf, user, container.Attempt, credentials.ByKind(creds.KindAMRM))
	if err != nil {
		return err
	}
	defer m.close()
	tell := func(name, text string) error { // the file is there with all that is in it
		if err := f.WriteFile(ctx, dir+"/."+name, []byte(text), 0o600); err != nil {
			return err
		}
		return f.Rename(ctx, dir+"/."+name, dir+"/"+name)
	}
	switch scenario {
	case "echo":
		m.ask(2)
		err = m.until(ctx, "echo from a container", func() bool { return len(m.completed) == 2 })
	case "collector":
		if err = m.until(ctx, "", func() bool { return m.collector != nil }); err == nil {
			err = tell(collectorAs, m.collector.Address)
		}
	case "bequeath":
		if container.Attempt.Attempt == 1 {
			err = m.bequeath(ctx, func(pid string) error { return tell(startedAs, pid) })
		} else {
			err = m.inherit(ctx)
		}
	case "restart":
		m.ask(2)
		err = m.until(ctx, "sleep 1000", func() bool { return len(m.running) == 2 })
		if err == nil {
			err = tell(startedAs, container.String())
		}
		if err == nil {
			err = m.until(ctx, "", func() bool { return m.resynced == 1 })
		}
		if err == nil { // the ResourceManager that came back takes asks, and knows the containers
			m.ask(1)
			err = m.until(ctx, "sleep 1000", func() bool { return len(m.running) == 3 })
		}
		if err == nil {
			err = tell(resyncedAs, container.String())
		}
		for id := range m.running {
			m.rm.Release(id)
		}
		if err == nil {
			err = m.until(ctx, "", func() bool { return len(m.running) == 0 })
		}
	default:
		err = fmt.Errorf("unknown scenario %q", scenario)
	}
	for id, s := range m.completed {
		fmt.Fprintf(os.Stderr, "%s ended: %s %s\n", id, s.ExitStatus, s.Diagnostics)
	}
	if err != nil {
		return errors.Join(err, m.rm.Finish(ctx, records.FinalFailed, err.Error(), ""))
	}
	return m.rm.Finish(ctx, records.FinalSucceeded, "done by Go", "http://localhost:2/history")
}

func TestAGoApplicationMasterInAContainer(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := newClient(t, c, me(t))
	application, _, _ := stage(t, c, "echo")
	report := submit(t, client, application)
	report = await(t, client, report.ID, "registered", func(r records.ApplicationReport) bool { return running(r) || ended(r) })
	if report.OriginalTrackingURL == "" || !strings.Contains(report.TrackingURL, "/proxy/"+report.ID.String()) {
		t.Errorf("tracking URLs are %q and %q", report.OriginalTrackingURL, report.TrackingURL)
	}
	report = await(t, client, report.ID, "finished", ended)
	if report.State != records.ApplicationFinished || report.FinalStatus != records.FinalSucceeded || !strings.Contains(report.Diagnostics, "done by Go") {
		t.Errorf("it ended as %s (%s): %s\n%s", report.State, report.FinalStatus, report.Diagnostics, containerLogs(t, c, report.ID, "std*"))
	}
}

// What is done to this cluster nobody else must see.
func TestOnAClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	// The keys of encryption zones are in a file, which needs no key server.
	keys := "jceks://file" + t.TempDir() + "/keys.jceks"
	c := cluster.ForTest(t, cluster.Config{
		Core: map[string]string{"hadoop.security.key.provider.path": keys},
		YARN: map[string]string{ // the timeline service, version 2, with its collectors
			"yarn.timeline-service.enabled":                          "true",
			"yarn.timeline-service.version":                          "2.0f",
			"yarn.timeline-service.writer.class":                     "org.apache.hadoop.yarn.server.timelineservice.storage.NoOpTimelineWriterImpl",
			"yarn.nodemanager.aux-services":                          "timeline_collector",
			"yarn.nodemanager.aux-services.timeline_collector.class": "org.apache.hadoop.yarn.server.timelineservice.collector.PerNodeTimelineCollectorsAuxService",
		},
	})
	java(t, c, "org.apache.hadoop.crypto.key.KeyShell", "create", "key1")
	t.Run("a master is told where its events go", func(t *testing.T) { timelineCollector(t, c) })
	t.Run("a restarted ResourceManager finds its application at work", func(t *testing.T) { restartResourceManager(t, c) })
	t.Run("files survive a restart of the NameNode", func(t *testing.T) { restartNameNode(t, c) })
	// The restarted NameNode knows the key.
	t.Run("files of an encryption zone are refused", func(t *testing.T) { encryptionZone(t, c) })
}

// timelineCollector has a master find the collector that its NodeManager runs for it, and
// asks that which timeline service it is.
func timelineCollector(t *testing.T, c *cluster.Cluster) {
	client := newClient(t, c, me(t))
	application, f, dir := stage(t, c, "collector")
	report := submit(t, client, application)
	awaitFile(t, f, dir+"/"+collectorAs)
	address, err := f.ReadFile(t.Context(), dir+"/"+collectorAs, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+string(address)+"/ws/v2/timeline/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "Timeline Collector API") {
		t.Errorf("the collector answers %s: %s, %v", answer.Status, text, err)
	}
	report = await(t, client, report.ID, "finished", ended)
	if report.FinalStatus != records.FinalSucceeded {
		t.Errorf("it ended as %s (%s): %s\n%s", report.State, report.FinalStatus, report.Diagnostics, containerLogs(t, c, report.ID, "std*"))
	}
}

func restartResourceManager(t *testing.T, c *cluster.Cluster) {
	client := newClient(t, c, me(t))
	application, f, dir := stage(t, c, "restart")
	report := submit(t, client, application)
	awaitFile(t, f, dir+"/"+startedAs)
	if err := c.Kill(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	report = await(t, client, report.ID, "finished", ended)
	if report.State != records.ApplicationFinished || report.FinalStatus != records.FinalSucceeded {
		t.Errorf("it ended as %s (%s): %s\n%s", report.State, report.FinalStatus, report.Diagnostics, containerLogs(t, c, report.ID, "std*"))
	}
	if attempts, err := client.Attempts(t.Context(), report.ID); err != nil || len(attempts) != 1 {
		t.Errorf("attempts are %+v, %v", attempts, err)
	}
	awaitFile(t, f, dir+"/"+resyncedAs)
}

func restartNameNode(t *testing.T, c *cluster.Cluster) {
	f := newFS(t, dfs.Options{Conf: smallBlocks(t, c), User: me(t)})
	dir := scratch(t, f)
	content := noise(6 * blockSize)
	create(t, f, dir+"/before", content)
	file, err := f.Open(t.Context(), dir+"/before")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.CopyN(io.Discard, file, blockSize); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(t.Context(), "namenode"); err != nil {
		t.Fatal(err)
	}
	back := make(chan error, 1)
	go func() { back <- c.Restart(t.Context(), "namenode") }()
	entries, err := f.List(t.Context(), dir) // asked while the NameNode is away
	if err != nil || len(entries) != 1 {
		t.Errorf("entries are %+v, %v", entries, err)
	}
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(file)
	if err != nil || len(rest) != 5*blockSize {
		t.Errorf("%d bytes are left to read, %v", len(rest), err)
	}
	create(t, f, dir+"/after", content)
	if err := f.Rename(t.Context(), dir+"/after", dir+"/renamed"); err != nil {
		t.Error(err)
	}
}

func awaitFile(t *testing.T, f *dfs.FS, uri string) (info filesystem.FileInfo) {
	t.Helper()
	wait.For(t, uri+" is there", func() (there bool, err error) {
		if info, err = f.Stat(t.Context(), uri); errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return true, err
	})
	return info
}
