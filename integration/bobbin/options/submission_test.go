package options

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// view is YARN's data about a running application.
type view struct {
	app        cluster.RMApp                             // by REST
	report     records.ApplicationReport                 // by RPC
	submission *yarnpb.ApplicationSubmissionContextProto // from the state store
	master     records.ContainerReport
	worker     records.ContainerReport
	bobs       records.ApplicationReport // by RPC, as Bob
	expiry     string                    // by REST
	listens    []netip.AddrPort          // the ApplicationMaster
	// variable reads the environment of a worker's process, because the ResourceManager does not know it.
	variable func(name string) string
}

func look(t *testing.T, d *bobbintest.Dawdler) view {
	t.Helper()
	v := view{app: d.User.App(t, d.Application), submission: submitted(t, d.User, d.Application)}
	v.report = d.User.Report(t, d.Application)
	v.bobs = suite.UserOf(t, d.User.Cluster, clusters.Bob).Report(t, d.Application)
	v.expiry = wait.Answer(t, "the end of the application's life", func() (string, error) { return d.User.Cluster.RM().Expiry(t.Context(), d.Application) })
	master, workers := containers(t, d.User, d.Application)
	v.master, v.worker = master, workers[0]
	v.listens = d.First(t, bobbintest.ApplicationMaster).Listens(t)
	process := d.First(t, bobbintest.TaskExecutor)
	v.variable = func(name string) string { return process.Variable(t, name) }
	return v
}

// masterVariable reads a variable of the ApplicationMaster's launch context.
func (v view) masterVariable(name string) string {
	for _, entry := range v.submission.GetAmContainerSpec().GetEnvironment() {
		if entry.GetKey() == name {
			return entry.GetValue()
		}
	}
	return ""
}

// acl returns the users with a right, from the ApplicationMaster's launch context.
func (v view) acl(right yarnpb.ApplicationAccessTypeProto) string {
	for _, entry := range v.submission.GetAmContainerSpec().GetApplication_ACLs() {
		if entry.GetAccessType() == right {
			return entry.GetAcl()
		}
	}
	return ""
}

// TestOptionsReachYARN would catch an option that has no effect. YARN's data about two applications must differ in each
// property: one has all options, the other has none.
//
// The variables that begin with YARN_CONTAINER_RUNTIME choose YARN's Docker runtime. These nodes have no Docker, and
// their executor ignores the variables. So the test can see only that the launch contexts contain them.
func TestOptionsReachYARN(t *testing.T) {
	t.Parallel()
	rows := []struct {
		option string
		value  string
		seen   func(v view) any
		want   any
	}{
		{"yarn.application.name", "a name", func(v view) any { return v.app.Name }, "a name"},
		{"yarn.application.type", "Typed", func(v view) any { return v.app.Type }, "Typed"},
		{"yarn.application.queue", "small", func(v view) any { return strings.TrimPrefix(v.app.Queue, "root.") }, "small"},
		{"yarn.application.priority", "4", func(v view) any { return v.app.Priority }, 4},
		{"yarn.tags", "Nightly", func(v view) any { return v.app.Tags }, "nightly"},
		{"yarn.application-attempts", "1", func(v view) any { return v.submission.GetMaxAppAttempts() }, int32(1)},
		{"yarn.application-attempt-failures-validity-interval", "60000", func(v view) any {
			return v.submission.GetAttemptFailuresValidityInterval()
		}, int64(60000)},
		{"yarn.application.lifetime", "2 h", func(v view) any { return v.report.Expires.Sub(v.report.Started).Round(time.Minute) }, 2 * time.Hour},
		{"yarn.application.lifetime", "2 h", func(v view) any { return v.expiry != "UNLIMITED" }, true},
		{"yarn.application-master.port", "23000-23999", func(v view) any {
			worker, err := launch.Decode[launch.TaskExecutor](v.variable(launch.Variable))
			_, told, _ := strings.Cut(worker.AMAddress, ":")
			return err == nil && slices.ContainsFunc(v.listens, func(at netip.AddrPort) bool {
				port := at.Port()
				return port/1000 == 23 && strconv.Itoa(int(port)) == told // not a port that the kernel chooses
			})
		}, true},
		{"yarn.view.acls", clusters.Bob + " analysts", func(v view) any { return v.acl(yarnpb.ApplicationAccessTypeProto_APPACCESS_VIEW_APP) }, clusters.Bob + " analysts"},
		{"yarn.view.acls", clusters.Bob + " analysts", func(v view) any { return v.bobs.Host == v.report.Host }, true},
		{"yarn.modify.acls", "ops", func(v view) any { return v.acl(yarnpb.ApplicationAccessTypeProto_APPACCESS_MODIFY_APP) }, "ops"},
		{"yarn.rolled-logs.include-pattern", "taskhost.*", func(v view) any {
			return v.submission.GetLogAggregationContext().GetRolledLogsIncludePattern()
		}, "taskhost.*"},
		{"yarn.rolled-logs.exclude-pattern", ".*gz", func(v view) any {
			return v.submission.GetLogAggregationContext().GetRolledLogsExcludePattern()
		}, ".*gz"},
		{"jobmanager.memory.process.size", "384m", func(v view) any { return v.master.Resource.MemoryMB }, int64(384)},
		{"taskmanager.memory.process.size", "512m", func(v view) any { return v.worker.Resource.MemoryMB }, int64(512)},
		{"yarn.appmaster.vcores", "2", func(v view) any { return v.master.Resource.VCores }, 2},
		{"yarn.containers.vcores", "3", func(v view) any { return v.worker.Resource.VCores }, 3},
		{"containerized.master.env.GREETING", "hello", func(v view) any { return v.masterVariable("GREETING") }, "hello"},
		{"containerized.master.env.YARN_CONTAINER_RUNTIME_TYPE", "docker", func(v view) any {
			return v.masterVariable("YARN_CONTAINER_RUNTIME_TYPE")
		}, "docker"},
		{"containerized.master.env.YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", "library/debian:12", func(v view) any {
			return v.masterVariable("YARN_CONTAINER_RUNTIME_DOCKER_IMAGE")
		}, "library/debian:12"},
		{"containerized.taskmanager.env.YARN_CONTAINER_RUNTIME_TYPE", "docker", func(v view) any {
			return v.variable("YARN_CONTAINER_RUNTIME_TYPE")
		}, "docker"},
		{"containerized.taskmanager.env.YARN_CONTAINER_RUNTIME_DOCKER_IMAGE", "library/debian:12", func(v view) any {
			return v.variable("YARN_CONTAINER_RUNTIME_DOCKER_IMAGE")
		}, "library/debian:12"},
		{"containerized.taskmanager.env.YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS", "/etc/passwd:/etc/passwd:ro", func(v view) any {
			return v.variable("YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS")
		}, "/etc/passwd:/etc/passwd:ro"},
	}
	var flags []string
	for _, row := range rows {
		flags = append(flags, option(row.option, row.value)...)
	}
	u := suite.User(t, clusters.Small)
	// Flags for the same settings would override the options.
	with := suite.Dawdle(t, u, slices.Concat([]string{"-jm", "384m", "-tm", "512m"}, flags)...)
	without := suite.Dawdle(t, u)
	one, other := look(t, with), look(t, without)
	for _, row := range rows {
		t.Run(row.option, func(t *testing.T) {
			if diff := cmp.Diff(row.want, row.seen(one)); diff != "" {
				t.Errorf("YARN reports other values (-want +got):\n%s", diff)
			}
			if cmp.Equal(row.want, row.seen(other)) {
				t.Errorf("YARN reports %v also for an application without the option, so the test shows nothing", row.want)
			}
		})
	}
	if other.worker.ExecutionType != records.ExecutionGuaranteed { // another test has the opposite value
		t.Errorf("a worker is %s by default", other.worker.ExecutionType)
	}
	with.CheckSucceeds(t)
	without.CheckSucceeds(t)
}

// TestWorkersMayBeOpportunistic would catch workers that YARN may not end for others although the option allows it, and
// a job that does not survive the loss of a worker. No worker is certain to stay: when a container of another
// application is released, RMNodeImpl#findLostContainers treats each opportunistic container of that node as lost.
func TestWorkersMayBeOpportunistic(t *testing.T) {
	t.Parallel()
	d := suite.Dawdle(t, suite.User(t, clusters.Small), slices.Concat(option("yarn.taskmanager.execution-type", "OPPORTUNISTIC"),
		option("restart-strategy.type", "fixed-delay"), option("restart-strategy.fixed-delay.attempts", "1000"), option("restart-strategy.fixed-delay.delay", "0s"))...)
	if _, workers := containers(t, d.User, d.Application); workers[0].ExecutionType != records.ExecutionOpportunistic {
		t.Errorf("a worker is %s", workers[0].ExecutionType)
	}
	d.CheckSucceeds(t)
}

// TestProgressIsTheShareOfFinishedTasks would catch an application that YARN shows as complete while its tasks run, as
// it does with Flink, and one that stays at 0 until its end. The first of two files is read at once. So one of five
// tasks finishes long before the task that reads the other file, and before those that wait for both.
func TestProgressIsTheShareOfFinishedTasks(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	local := t.TempDir()
	for name, lines := range map[string]int{"short": 1, "long": 20_000} { // a fifth of a second for each, until the gate opens; no file is divided
		if err := os.WriteFile(filepath.Join(local, name), []byte(strings.Repeat("line\n", lines)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u.Put(t, local, dir+"/lines")
	gate := filepath.Join(t.TempDir(), "gate")
	run := u.Start(t, bobbintest.Small("-p", "2", "-D", "yarn.heartbeat.interval=1 s", suite.Program(t, "dawdle"), gate, dir+"/out", dir+"/lines")...)
	id := run.Application(t)
	shown := func() float64 { return u.App(t, id).Progress }
	wait.Until(t, "YARN shows that some of it is done", func() bool { return shown() > 0 })
	if got := shown(); got != 20 {
		t.Errorf("one of five tasks has finished, and YARN shows %v %%", got)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run.Wait(t); got.Code != 0 {
		t.Error(got)
	}
	u.WaitEnded(t, id)
	if got := shown(); got != 100 {
		t.Errorf("all have finished, and YARN shows %v %%", got)
	}
}
