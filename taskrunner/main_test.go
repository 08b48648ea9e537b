package taskrunner

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/startup"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// issued returns credentials of a TaskExecutor in a container of application_1_0001.
func issued(t *testing.T, container ids.ResourceID) *pki.Credentials {
	t.Helper()
	authority, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	own, err := authority.IssueTaskExecutor(container, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// TestHostsGetCertificatesUnlessEncryptionIsOff would catch an option for encryption that has no
// effect, or is off by default.
func TestHostsGetCertificatesUnlessEncryptionIsOff(t *testing.T) {
	own := issued(t, "container_1_0001_01_000002")
	for text, want := range map[string]*pki.Credentials{"": own, "true": own, "false": nil} {
		layer := config.Layer{Source: "test", Values: map[string]string{}}
		if text != "" {
			layer.Values[config.SSLInternalEnabled.Name()] = text
		}
		options, err := config.New(layer)
		if err != nil {
			t.Fatal(err)
		}
		if got := (environment{config: options, credential: own}).hostIssuer(); got != want {
			t.Errorf("%s=%q: hosts are certified by %v, want %v", config.SSLInternalEnabled, text, got, want)
		}
	}
}

// TestAnotherProgramThanWasSubmittedIsNotRun would catch a worker that runs the file which its
// NodeManager has fetched, though the file was changed on HDFS after the submission.
func TestAnotherProgramThanWasSubmittedIsNotRun(t *testing.T) {
	link := filepath.Join(t.TempDir(), launch.ProgramLink)
	if err := os.WriteFile(link, []byte("the program"), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = "50fda23bf0a5115d4f893dc10d122c10a4705f47688f5620e80611c092d4053e"
	env := environment{launch: launch.TaskExecutor{Programs: map[string]string{good: link}}}
	if got, err := env.programs(); err != nil || got[good] != link {
		t.Errorf("the program itself: %v, %v", got, err)
	}
	if err := os.WriteFile(link, []byte("the pr0gram"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := env.programs(); !errors.Is(err, program.ErrChanged) {
		t.Errorf("another: %v, want ErrChanged", err)
	}
}

// TestFilesAreThoseOfTheCluster would catch a worker that looks for programs on its own disk.
func TestFilesAreThoseOfTheCluster(t *testing.T) {
	conf, err := (&hadoopconf.Conf{}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	logger, _ := logtest.NewNullLogger()
	env := environment{launch: launch.TaskExecutor{HadoopConf: conf, User: "alice"}}
	files, err := env.files(new(dfs.Tokens), logger)()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Stat(t.Context(), "hdfs:///x"); err == nil || !strings.Contains(err.Error(), "names no NameNode") {
		t.Errorf("got %v, want that the configuration names no NameNode", err)
	}
	if err := files.Close(); err != nil {
		t.Error(err)
	}
}

// TestEnvironment would catch a TaskExecutor that starts without all that it needs, or does not
// name what is missing.
func TestEnvironment(t *testing.T) {
	const container = "container_1_0001_01_000002"
	own := issued(t, container)
	secret, err := own.PEM()
	if err != nil {
		t.Fatal(err)
	}
	hdfs := &creds.Token{Kind: creds.KindHDFSDelegation, Service: "ha-hdfs:ns", Identifier: []byte{1}, Password: []byte("of hdfs")}
	write := func(secrets map[string][]byte) string {
		file := filepath.Join(t.TempDir(), "container_tokens")
		found := creds.Credentials{Secrets: secrets, Tokens: map[string]*creds.Token{
			"nn": hdfs, "": {Kind: creds.KindAMRM, Password: []byte("of the master")},
		}}
		if err := os.WriteFile(file, found.Marshal(), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	encode := func(options map[string]string) string {
		encoded, err := launch.Encode(launch.TaskExecutor{Memory: memory.Worker{Slots: 2}, Config: options})
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	variables := map[string]string{
		"CONTAINER_ID": container, "LOG_DIRS": "/logs/a,/logs/b", "LOCAL_DIRS": "/local/a,/local/b",
		launch.Variable:          encode(nil),
		launch.TokenFileVariable: write(map[string][]byte{launch.SecretCredentials: secret}),
	}
	env, err := readEnvironment(func(name string) string { return variables[name] })
	if err != nil {
		t.Fatal(err)
	}
	if dirs := env.dirs(artifactDir); !slices.Equal(dirs, []string{"/local/a/" + container + "/artifacts", "/local/b/" + container + "/artifacts"}) {
		t.Errorf("copies go to %v, want the container's folder on each disk", dirs)
	}
	if env.logDir != "/logs/a" || len(env.localDirs) != 2 || env.launch.Memory.Slots != 2 || env.credential.Identity() != own.Identity() {
		t.Errorf("environment %+v is not what it was given", env)
	}
	beside, err := launch.Encode(launch.TaskExecutor{Uber: container + "-uber-3"})
	if err != nil {
		t.Fatal(err)
	}
	inMaster := maps.Clone(variables)
	inMaster[launch.Variable] = beside
	if env, err := readEnvironment(func(name string) string { return inMaster[name] }); err != nil || env.container != container+"-uber-3" {
		t.Errorf("in its master's container the worker is %s, error %v", env.container, err)
	}
	if says := env.describe(); says.Attempt != 1 || says.Credentials != startup.Tokens {
		t.Errorf("the first lines say attempt %d and credentials %s", says.Attempt, says.Credentials)
	}
	tokens, err := creds.Parse(env.tokens)
	if err != nil {
		t.Fatal(err)
	}
	if len(tokens.Tokens) != 1 || len(tokens.Secrets) != 0 || tokens.Select(hdfs.Kind, hdfs.Service) == nil {
		t.Errorf("hosts get %v, want the token for HDFS alone", tokens)
	}
	for name, test := range map[string]struct {
		variable, value string
		text            string // in the error
	}{
		"by hand":                        {"CONTAINER_ID", "", "started by YARN"},
		"no directory for logs":          {"LOG_DIRS", "", "LOG_DIRS"},
		"nothing from the master":        {launch.Variable, "", launch.Variable},
		"an option that does not exist":  {launch.Variable, encode(map[string]string{"taskmanager.slots": "1"}), "taskmanager.slots"},
		"no credentials":                 {launch.TokenFileVariable, "", launch.TokenFileVariable},
		"credentials without its own":    {launch.TokenFileVariable, write(nil), launch.SecretCredentials},
		"credentials that are not a key": {launch.TokenFileVariable, write(map[string][]byte{launch.SecretCredentials: []byte("x")}), "credentials"},
	} {
		spoilt := maps.Clone(variables)
		spoilt[test.variable] = test.value
		if _, err := readEnvironment(func(name string) string { return spoilt[name] }); err == nil || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v, want an error about %q", name, err, test.text)
		}
	}
}

// TestAWorkerInItsMastersContainerEndsWithIt would catch a worker that outlives the ApplicationMaster, whose container
// it is in.
func TestAWorkerInItsMastersContainerEndsWithIt(t *testing.T) {
	r, w := io.Pipe()
	ctx := untilClosed(t.Context(), r)
	if _, err := w.Write([]byte("x")); err != nil || ctx.Err() != nil {
		t.Errorf("the worker ends while its stdin is open: %v, %v", err, context.Cause(ctx))
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), errMasterEnded) {
		t.Errorf("it ends by %v", context.Cause(ctx))
	}
}
