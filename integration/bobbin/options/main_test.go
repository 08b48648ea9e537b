// Package options tests that YARN gets the options for YARN. It reads an application's properties from the
// ResourceManager, by REST, by RPC, and from its state store. It also looks for the files and processes on the
// NodeManagers.
package options

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

var suite = bobbintest.NewSuite(clusters.Features)

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

// option is a setting for `bobbin run`.
func option(name string, value any) []string {
	return []string{"-D", fmt.Sprintf("%s=%v", name, value)}
}

// submitted is the ResourceManager's stored record of an application (ApplicationStateDataProto, whose second field is
// the submission).
func submitted(t *testing.T, u *bobbintest.User, application string) *yarnpb.ApplicationSubmissionContextProto {
	t.Helper()
	const submission = 2
	content, err := os.ReadFile(filepath.Join(u.Cluster.Dir(), "resourcemanager/state/FSRMStateRoot/RMAppRoot", application, application))
	if err != nil {
		t.Fatal(err)
	}
	for len(content) > 0 {
		number, kind, n := protowire.ConsumeTag(content)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		if number == submission && kind == protowire.BytesType {
			inner, m := protowire.ConsumeBytes(content[n:])
			var found yarnpb.ApplicationSubmissionContextProto
			if m < 0 {
				t.Fatal(protowire.ParseError(m))
			}
			if err := proto.Unmarshal(inner, &found); err != nil {
				t.Fatal(err)
			}
			return &found
		}
		m := protowire.ConsumeFieldValue(number, kind, content[n:])
		if m < 0 {
			t.Fatal(protowire.ParseError(m))
		}
		content = content[n+m:]
	}
	t.Fatalf("the ResourceManager has not written down how %s was submitted", application)
	return nil
}

// containers waits until an application has a worker, and returns its containers according to YARN: the master's and
// the workers'.
func containers(t *testing.T, u *bobbintest.User, application string) (master records.ContainerReport, workers []records.ContainerReport) {
	t.Helper()
	yarn, attempt := u.Client(t).YARN, u.Report(t, application).Attempt
	wait.For(t, "YARN tells of a worker", func() (bool, error) {
		found, err := yarn.Containers(t.Context(), attempt)
		workers = nil
		for _, c := range found {
			if c.ID.Sequence() == 1 { // of any epoch: the ResourceManager may have been restarted
				master = c
			} else {
				workers = append(workers, c)
			}
		}
		return master.Node.Host != "" && len(workers) > 0, err
	})
	return master, workers
}
