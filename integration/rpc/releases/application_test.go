package releases

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// application runs an application whose ApplicationMaster is this test binary, and checks its findings.
func (p *place) application(t *testing.T) {
	var seen rpctest.Connections
	client := p.client(t, alice, &seen)
	files := rpctest.FS(t, rpctest.FSOptions(t, p.Cluster, alice))
	dir := rpctest.Scratch(t, files)
	if err := files.WriteFile(t.Context(), dir+"/"+inputName, []byte("read by the master"), 0o600); err != nil {
		t.Fatal(err)
	}
	report := rpctest.Submit(t, client, records.SubmissionContext{
		Name: t.Name(), Type: "bobbin-test", MaxAttempts: 1,
		Resource: records.Resource{MemoryMB: 512, VCores: 1},
		Container: records.ContainerLaunchContext{
			LocalResources: p.staged(t, files, dir),
			Environment:    map[string]string{masterVariable: dir},
			Tokens:         p.tokens(t, files),
			Commands:       []string{"./" + binaryName + " 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"},
		},
	})
	if report.User != alice {
		t.Errorf("the application is %s's", report.User)
	}
	report = rpctest.Await(t, client, report.ID, "ended", rpctest.Ended)
	if report.FinalStatus != records.FinalSucceeded {
		t.Fatalf("it ended as %s: %s\n%s", report.FinalStatus, report.Diagnostics, rpctest.Logs(t, p.Cluster, report.ID, "std*"))
	}
	seen.Check(t, 1, p.byLogin("rm"))

	var got findings
	if err := json.Unmarshal([]byte(report.Diagnostics), &got); err != nil {
		t.Fatalf("diagnostics %q: %v", report.Diagnostics, err)
	}
	want := findings{
		ResourceManager: []yarnrpc.Security{p.byToken()},
		NodeManager:     []yarnrpc.Security{p.byToken()},
		ExitStatus:      exitStatus,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the applicationmaster found (-want +got):\n%s", diff)
	}
	if got, err := files.ReadFile(t.Context(), dir+"/"+outputName, 1<<20); err != nil || string(got) != "READ BY THE MASTER" {
		t.Errorf("it has written %q, %v", got, err)
	}
}

// staged returns the files of the ApplicationMaster's container: the configuration, which its NodeManager reads from
// HDFS with alice's token, and this test binary, which is on every node.
func (p *place) staged(t *testing.T, files *dfs.FS, dir string) map[string]records.LocalResource {
	t.Helper()
	text, err := p.conf.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	conf := dir + "/" + confName
	if err := files.WriteFile(t.Context(), conf, text, 0o600); err != nil {
		t.Fatal(err)
	}
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	resources := map[string]records.LocalResource{}
	for name, uri := range map[string]string{binaryName: "file://" + binary, confName: conf} {
		info, err := files.Stat(t.Context(), uri)
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
	return resources
}

// tokens returns the tokens that containers need on a secure cluster: one for HDFS, which the ResourceManager may
// renew.
func (p *place) tokens(t *testing.T, files *dfs.FS) []byte {
	t.Helper()
	if p.protection == simple {
		return nil
	}
	token, err := files.DelegationToken(t.Context(), "/", p.conf.Get("yarn.resourcemanager.principal"))
	if err != nil {
		t.Fatal(err)
	}
	return (&creds.Credentials{Tokens: map[string]*creds.Token{token.Service: token}}).Marshal()
}
