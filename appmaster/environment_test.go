package appmaster

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/startup"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// containerVariables are the variables that YARN gives the process.
func containerVariables(t *testing.T) map[string]string {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "container_tokens")
	if err := os.WriteFile(tokens, creds.New().Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
	encoded, err := launch.Encode(launch.AppMaster{
		Mode: launch.PerJob, StagingDir: "hdfs://nn/user/alice/.bobbin/application_1700000000000_0007",
		HadoopConf: []byte("<configuration><property><name>a</name><value>b</value></property></configuration>"),
		Config:     map[string]string{config.TaskSlots.Name(): "3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"CONTAINER_ID":           testContainer,
		"NM_HOST":                "node1",
		"LOG_DIRS":               "/logs/a,/logs/b",
		launch.Variable:          encoded,
		launch.TokenFileVariable: tokens,
	}
}

// TestEnvironment would catch an ApplicationMaster that starts on half of what it
// needs, or does not say what is missing.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	variables := containerVariables(t)
	env, err := readEnvironment(func(name string) string { return variables[name] })
	if err != nil {
		t.Fatal(err)
	}
	if env.container.String() != testContainer || env.host != "node1" || env.logDir != "/logs/a" || env.config.Int(config.TaskSlots) != 3 || env.hadoop.Get("a") != "b" {
		t.Errorf("environment %+v is not what it was given", env)
	}

	encode := func(a launch.AppMaster) string {
		encoded, err := launch.Encode(a)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	for name, test := range map[string]struct {
		variable, value string
		want            error  // nil: any
		text            string // in the error
	}{
		"by hand":                                {"NM_HOST", "", nil, "started by YARN"},
		"no directory for logs":                  {"LOG_DIRS", "", nil, "LOG_DIRS"},
		"no container":                           {"CONTAINER_ID", "", nil, "CONTAINER_ID"},
		"a container that is none":               {"CONTAINER_ID", "container_1", nil, "container_1"},
		"nothing from the client":                {launch.Variable, "", launch.ErrMalformed, launch.Variable},
		"an option that does not exist":          {launch.Variable, encode(launch.AppMaster{Config: map[string]string{"taskmanager.numberOfSlots": "1"}}), config.ErrInvalid, "numberOfTaskSlots"},
		"a configuration of Hadoop that is none": {launch.Variable, encode(launch.AppMaster{HadoopConf: []byte("{}")}), nil, "Hadoop configuration"},
		"a mode of another release":              {launch.Variable, encode(launch.AppMaster{Mode: "reactive", HadoopConf: []byte("<configuration/>")}), launch.ErrMalformed, "reactive"},
		"no credentials":                         {launch.TokenFileVariable, "", nil, launch.TokenFileVariable},
		"credentials that are not there":         {launch.TokenFileVariable, "/nowhere/tokens", os.ErrNotExist, "/nowhere/tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spoilt := maps.Clone(variables)
			spoilt[test.variable] = test.value
			_, err := readEnvironment(func(name string) string { return spoilt[name] })
			if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v and %q", err, test.want, test.text)
			}
		})
	}
}

// TestTheFirstLinesSayWhatTheContainerHas would catch a log that says less memory or fewer cores than the container has
// when a worker is in it, and a log without the kind of the process' credentials.
func TestTheFirstLinesSayWhatTheContainerHas(t *testing.T) {
	t.Parallel()
	variables := containerVariables(t)
	env, err := readEnvironment(func(name string) string { return variables[name] })
	if err != nil {
		t.Fatal(err)
	}
	got := env.describe()
	if got.ContainerMB != 512 || got.VCores != 1 || got.Credentials != startup.None {
		t.Errorf("alone: %d MB, vcores %d, credentials %s", got.ContainerMB, got.VCores, got.Credentials)
	}
	env.launch.Uber = true // with the 3 slots of containerVariables
	env.credentials.Tokens["nn"] = &creds.Token{Kind: creds.KindHDFSDelegation}
	got = env.describe()
	if got.ContainerMB != 512+1024 || got.VCores != 3 || got.Credentials != startup.Tokens {
		t.Errorf("with a worker: %d MB, vcores %d, credentials %s", got.ContainerMB, got.VCores, got.Credentials)
	}
	var divided config.Bytes
	for _, d := range got.Memory {
		divided += d.Total
	}
	if divided.Megabytes() != got.ContainerMB {
		t.Errorf("%s of %d MB are divided", divided, got.ContainerMB)
	}
}

// TestAnApplicationsProgramIsWhatWasSubmitted would catch a driver that runs although its file was changed
// on HDFS after the submission.
func TestAnApplicationsProgramIsWhatWasSubmitted(t *testing.T) {
	t.Parallel()
	content := []byte("the program")
	env := environment{workDir: t.TempDir(), launch: launch.AppMaster{
		Mode: launch.Application, ProgramRef: msg.Program{Name: "p", SHA256: fmt.Sprintf("%x", sha256.Sum256(content))},
	}}
	for text, want := range map[string]error{"the program": nil, "the pr0gram": program.ErrChanged} {
		if err := os.WriteFile(filepath.Join(env.workDir, launch.ProgramLink), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := env.identifyProgram(); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", text, err, want)
		}
	}
}

// TestTheContainerIsNamedAsYARNNamesIt would catch an archive whose logs no log server finds, because its node has no port, or has that
// of the NodeManager's web server, and one that names a container although YARN does not tell the node.
func TestTheContainerIsNamedAsYARNNamesIt(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t, "hdfs://nn/staging")
	ports := map[string]string{}
	getenv := func(name string) string { return ports[name] }
	if env.tellYARN(getenv); env.inYARN() != nil {
		t.Errorf("without a port the container is %+v", env.inYARN())
	}
	env.host, ports = "fd00::7", map[string]string{"NM_PORT": "45454", "NM_HTTP_PORT": "8042"}
	env.tellYARN(getenv)
	want := &restapi.MasterContainer{ID: env.container.String(), Node: "[fd00::7]:45454", User: env.launch.User}
	if diff := cmp.Diff(want, env.inYARN()); diff != "" {
		t.Errorf("the container (-want +got):\n%s", diff)
	}
}
