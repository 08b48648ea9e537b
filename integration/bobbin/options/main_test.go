// Package options tests that options of YARN's reach YARN: what an application has by
// its ResourceManager's own account, by REST, by RPC, or by what that has written down
// of it to recover it, and where the NodeManagers have put its files and processes.
package options

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Users beside Alice.
const (
	bob   = "bob"
	carol = "carol" // whose staging area is looked at
)

// The nodes: one of a partition of its own, one with an attribute, one without anything.
const (
	gpuNode   = "127.0.0.2"
	ssdNode   = "127.0.0.3"
	plainNode = "127.0.0.4"
)

// widgets is a type of resource of which each node has 7.
const widgets = "widgets"

const queue = "yarn.scheduler.capacity.root."

var suite = bobbintest.NewSuite(clusters.Features)

// me runs the daemons.
func me() string {
	u, err := user.Current()
	if err != nil {
		panic(err)
	}
	return u.Username
}

func TestMain(m *testing.M) { os.Exit(suite.Run(m)) }

var labelOnce sync.Once

// someone gives a user of the cluster, once its nodes have label and attribute.
func someone(t *testing.T, name string) *bobbintest.User {
	t.Helper()
	c := suite.Cluster(t)
	labelOnce.Do(func() {
		const (
			rmAdmin    = "org.apache.hadoop.yarn.client.cli.RMAdminCLI"
			attributes = "org.apache.hadoop.yarn.client.cli.NodeAttributesCLI"
		)
		admin, ctx := errgroup.WithContext(t.Context())
		run := func(class string, args ...string) error {
			_, err := c.CLI(ctx, class, args...)
			return err
		}
		admin.Go(func() error {
			if err := run(rmAdmin, "-addToClusterNodeLabels", "gpu(exclusive=true)"); err != nil {
				return err
			}
			return run(rmAdmin, "-replaceLabelsOnNode", gpuNode+"=gpu")
		})
		admin.Go(func() error { return run(attributes, "-add", ssdNode+":disk(STRING)=ssd") })
		if err := admin.Wait(); err != nil {
			t.Fatal(err)
		}
	})
	return suite.UserOf(t, c, name)
}

// option is a setting for `bobbin run`.
func option(name string, value any) []string {
	return []string{"-D", fmt.Sprintf("%s=%v", name, value)}
}

// submitted is what the ResourceManager has written down of an application
// (ApplicationStateDataProto, whose second field is the submission).
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

// containers gives an application's containers by YARN's account: its master's, and those
// of its workers.
func containers(t *testing.T, u *bobbintest.User, application string) (master records.ContainerReport, workers []records.ContainerReport) {
	t.Helper()
	id, err := records.ParseApplicationID(application)
	if err != nil {
		t.Fatal(err)
	}
	yarn := u.Client(t).YARN
	report, err := yarn.ApplicationReport(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	found, err := yarn.Containers(t.Context(), report.Attempt)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range found {
		if c.ID.ID == 1 {
			master = c
		} else {
			workers = append(workers, c)
		}
	}
	if master.Node.Host == "" || len(workers) == 0 {
		t.Fatalf("YARN tells of the containers %+v", found)
	}
	return master, workers
}
