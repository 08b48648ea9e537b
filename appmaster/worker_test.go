package appmaster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// hdfsToken is the token that a worker's tasks need.
var hdfsToken = &creds.Token{
	Kind: creds.KindHDFSDelegation, Service: "ha-hdfs:ns", Identifier: []byte("for alice"), Password: []byte("password of the token"),
}

func launchWorker(t *testing.T, options map[string]string) records.ContainerLaunchContext {
	t.Helper()
	launcher, id := launcherOf(t, options)
	made, err := launcher.launch(id, records.NodeID{Host: "node2", Port: 8041}, resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 3, Slots: 2, Memory: launcher.spec.Memory})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// launcherOf makes the launcher of an ApplicationMaster, and the id of a container.
func launcherOf(t *testing.T, options map[string]string) (*workerLauncher, records.ContainerID) {
	t.Helper()
	env := testEnvironment(t, "hdfs://nn:8020/staging")
	var err error
	if env.config, err = config.New(config.Layer{Source: "test", Values: options}); err != nil {
		t.Fatal(err)
	}
	env.launch.Config = env.config.Set()
	authority, err := pki.NewAuthority(env.container.Attempt.Application.String(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	tokens := creds.New()
	tokens.Tokens["nn"] = hdfsToken
	shipped := []launch.Shipped{
		{Link: "conf/site.properties", Resource: launch.Resource{URI: "hdfs://nn:8020/site.properties", Timestamp: 5}},
		{Link: "model.zip", Resource: launch.Resource{URI: "hdfs://nn:8020/lib/model.zip", Timestamp: 6, Public: true}, Archive: true},
	}
	w, err := memory.WorkerOf(env.config)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := workerSpec(env.config, w)
	if err != nil {
		t.Fatal(err)
	}
	launcher, err := newWorkerLauncher(Outside{
		Launch: env.launch, Attempt: env.container.Attempt, Config: env.config,
		Workers: Workers{Address: "127.0.0.1:4711", Identify: (&keys{authority: authority}).identify, Viewer: func() string { return "digest" }},
	}, spec, func() *creds.Credentials { return tokens })
	if err == nil {
		err = launcher.ship(shipped)
	}
	if err != nil {
		t.Fatal(err)
	}
	id := env.container
	id.ID = 2
	return launcher, id
}

// TestAWorkerBesideHasTheSameSettings would catch a worker in this process' container that has the master's identity or
// memory, or does not know where it is.
func TestAWorkerBesideHasTheSameSettings(t *testing.T) {
	t.Parallel()
	options := map[string]string{"containerized.taskmanager.env.TZ": "UTC"}
	launcher, _ := launcherOf(t, options)
	const id = testContainer + "-uber-1"
	beside, err := launcher.beside(id, "node2", resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 3, Slots: 2, Memory: launcher.spec.Memory})
	if err != nil {
		t.Fatal(err)
	}
	held, err := creds.Parse(beside.Credentials)
	if err != nil {
		t.Fatal(err)
	}
	identity, err := pki.ParsePEM(held.Secrets[launch.SecretCredentials])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := identity.Identity().String(), "bobbin:application_1700000000000_0007/te/"+id; got != want || held.Tokens["nn"] == nil {
		t.Errorf("the worker is %s, want %s with the token for HDFS", got, want)
	}
	elsewhere := launchWorker(t, options)
	settings := func(environment map[string]string) launch.TaskExecutor {
		decoded, err := launch.Decode[launch.TaskExecutor](environment[launch.Variable])
		if err != nil {
			t.Fatal(err)
		}
		delete(environment, launch.Variable)
		return decoded
	}
	want := settings(elsewhere.Environment)
	want.Uber = id
	if diff := cmp.Diff(want, settings(beside.Environment)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", launch.Variable, diff)
	}
	if diff := cmp.Diff(elsewhere.Environment, beside.Environment); diff != "" {
		t.Errorf("environment differs (-want +got):\n%s", diff)
	}
}

// TestSecretsOfAWorkerAreInItsCredentialsOnly would catch a private key in a place where other users of the
// node, or YARN's web pages, can read it.
func TestSecretsOfAWorkerAreInItsCredentialsOnly(t *testing.T) {
	t.Parallel()
	made := launchWorker(t, nil)
	held, err := creds.Parse(made.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if got := held.Tokens["nn"]; len(held.Tokens) != 1 || got == nil || string(got.Password) != string(hdfsToken.Password) {
		t.Errorf("the worker holds %v, want the token for HDFS alone", held)
	}
	secret := held.Secrets[launch.SecretCredentials]
	identity, err := pki.ParsePEM(secret)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := identity.Identity().String(), "bobbin:application_1700000000000_0007/te/container_1700000000000_0007_01_000002"; got != want {
		t.Errorf("the worker is %s, want %s", got, want)
	}
	_, key, found := strings.Cut(string(secret), "PRIVATE KEY-----\n")
	if !found {
		t.Fatal("credentials hold no private key")
	}
	key = key[:32]
	told, err := launch.Decode[launch.TaskExecutor](made.Environment[launch.Variable])
	if err != nil {
		t.Fatal(err)
	}
	inside, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	made.Tokens = nil
	for place, text := range map[string]string{
		"launch context": fmt.Sprintf("%+v", made),
		launch.Variable:  string(inside),
		"Hadoop configuration in " + launch.Variable: string(told.HadoopConf),
	} {
		if strings.Contains(text, key) || strings.Contains(text, "PRIVATE KEY") {
			t.Errorf("%s holds the private key", place)
		}
		if strings.Contains(text, string(hdfsToken.Password)) {
			t.Errorf("%s holds the token's password", place)
		}
	}
}

// TestLaunchOfAWorker would catch a TaskExecutor without the settings that it needs, a user's variable that
// replaces one of ours, and workers' logs that are closed to users who may read the ApplicationMaster's.
func TestLaunchOfAWorker(t *testing.T) {
	t.Parallel()
	made := launchWorker(t, map[string]string{
		"taskmanager.numberOfTaskSlots":               "2",
		"containerized.taskmanager.env.TZ":            "UTC",
		"containerized.taskmanager.env.GOMEMLIMIT":    "40MiB",
		"containerized.taskmanager.env.BOBBIN_LAUNCH": "mine",
		"containerized.master.env.SECRET":             "of the master",
		"yarn.view.acls":                              "ann analysts",
		"yarn.modify.acls":                            "ops",
	})
	told, err := launch.Decode[launch.TaskExecutor](made.Environment[launch.Variable])
	if err != nil {
		t.Fatal(err)
	}
	if _, there := told.Config["containerized.master.env.SECRET"]; there || told.Config["yarn.view.acls"] == "" {
		t.Errorf("options of a worker are %v, want all but the master's variables", told.Config)
	}
	told.Config = nil
	if err := told.Memory.Check(); err != nil || told.Memory.ContainerMB() != 1024 || told.Memory.Slots != 2 {
		t.Errorf("memory of a worker is %+v, %v", told.Memory, err)
	}
	told.Memory = memory.Worker{}
	want := launch.TaskExecutor{
		Application: "application_1700000000000_0007", AMAddress: "127.0.0.1:4711", Host: "node2",
		VCores: 3, User: "alice", Viewer: "digest",
		Programs: map[string]string{programHash: launch.ProgramLink},
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", launch.Variable, diff)
	}
	delete(made.Environment, launch.Variable)
	if diff := cmp.Diff(map[string]string{"HADOOP_USER_NAME": "alice", "GOMAXPROCS": "3", "GOMEMLIMIT": "40MiB", "TZ": "UTC"}, made.Environment); diff != "" {
		t.Errorf("environment differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[records.ApplicationAccess]string{records.AccessView: "ann analysts", records.AccessModify: "ops"}, made.ACLs); diff != "" {
		t.Errorf("ACLs differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{launch.BobbinLink, "conf/site.properties", "model.zip", launch.ProgramLink}, slices.Sorted(maps.Keys(made.LocalResources))); diff != "" {
		t.Errorf("other files are localized (-want +got), such as the master's keytab:\n%s", diff)
	}
	if r := made.LocalResources["model.zip"]; r.Timestamp != 6 || r.Visibility != records.VisibilityPublic || r.Type != records.LocalArchive {
		t.Errorf("a provided archive is localized as %+v, want everybody's, unpacked", r)
	}
	for link, timestamp := range map[string]int64{launch.BobbinLink: 2, launch.ProgramLink: 4, "conf/site.properties": 5} {
		r := made.LocalResources[link]
		if r.Timestamp != timestamp || r.Visibility != records.VisibilityPrivate || r.Type != records.LocalFile {
			t.Errorf("%s is localized as %+v, want the user's file with its timestamp %d", link, r, timestamp)
		}
	}
	if diff := cmp.Diff([]string{launch.Command("taskexecutor", bobbinHash, "taskmanager")}, made.Commands); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestWorkerSpec(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options map[string]string
		want    resourcemanager.WorkerResourceSpec
	}{
		"by default": {nil, resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 1, Slots: 1}},
		"a vcore for each slot": {
			map[string]string{"taskmanager.numberOfTaskSlots": "4", "taskmanager.memory.process.size": "2g"},
			resourcemanager.WorkerResourceSpec{MemoryMB: 2048, VCores: 4, Slots: 4},
		},
		"vcores of their own": {
			map[string]string{"taskmanager.numberOfTaskSlots": "4", "yarn.containers.vcores": "2"},
			resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 2, Slots: 4},
		},
		"a part of a core, which YARN cannot give": {
			map[string]string{"taskmanager.cpu.cores": "2.5", "yarn.containers.vcores": "1"},
			resourcemanager.WorkerResourceSpec{MemoryMB: 1024, VCores: 3, Slots: 1},
		},
	} {
		c, err := config.New(config.Layer{Source: "test", Values: test.options})
		if err != nil {
			t.Fatal(err)
		}
		w, err := memory.WorkerOf(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := workerSpec(c, w)
		if err != nil || got.Memory != w {
			t.Errorf("%s: %+v, %v, want the memory %+v", name, got, err, w)
		}
		if got.Memory = (memory.Worker{}); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
