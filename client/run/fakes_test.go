package run

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// startYARN starts a fake YARN.
func startYARN(t *testing.T, c yarnfake.Config) *yarnfake.Fake {
	t.Helper()
	fake, err := yarnfake.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fake.Stop(); err != nil {
			t.Error(err)
		}
	})
	return fake
}

// forever is an ApplicationMaster that waits until it is killed.
func forever(ctx context.Context, _ yarnfake.Container) records.ExitStatus {
	<-ctx.Done()
	return records.ExitTerminated
}

// environment is alice's environment on a cluster with this configuration.
func environment(t *testing.T, conf *hadoopconf.Conf) map[string]string {
	t.Helper()
	dir := t.TempDir()
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	var site struct {
		XMLName    xml.Name   `xml:"configuration"`
		Properties []property `xml:"property"`
	}
	for _, name := range conf.Names() {
		site.Properties = append(site.Properties, property{name, conf.Get(name)})
	}
	text, err := xml.Marshal(site)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "yarn-site.xml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"HADOOP_CONF_DIR": dir, "HADOOP_USER_NAME": "alice", "TMPDIR": dir}
}

// executable is a file with a program's header and content.
func executable(t *testing.T, machine elf.Machine, content string) string {
	t.Helper()
	head := make([]byte, program.HeadSize)
	copy(head, elf.ELFMAG)
	head[elf.EI_DATA] = byte(elf.ELFDATA2LSB)
	binary.LittleEndian.PutUint16(head[program.HeadSize-2:], uint16(machine))
	path := filepath.Join(t.TempDir(), "job")
	if err := os.WriteFile(path, slices.Concat(head, []byte(content)), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// mark is that of the SDK.
func mark(version int) string { return fmt.Sprintf("<bobbin sdk protocol version=%d>", version) }

// clusterOfTwo is alice's environment on a cluster of two nodes with 8 GB each and an HDFS, all of them fakes.
// An application that she starts runs until it is killed.
func clusterOfTwo(t *testing.T) *client.Cluster {
	t.Helper()
	return clusterRunning(t, func(ctx context.Context, _ *amrm.Client, c yarnfake.Container) records.ExitStatus {
		return forever(ctx, c)
	})
}

// clusterRunning is as clusterOfTwo, with what an ApplicationMaster does once it has registered.
func clusterRunning(t *testing.T, master func(context.Context, *amrm.Client, yarnfake.Container) records.ExitStatus) *client.Cluster {
	t.Helper()
	hdfs := hdfsfake.Start(hdfsfake.Config{})
	t.Cleanup(hdfs.Stop)
	return clusterOn(t, hdfs, func(ctx context.Context, rm *amrm.Client, c yarnfake.Container) records.ExitStatus {
		if err := leads(ctx, hdfs, c, publish(c, launch.Access{Address: "127.0.0.1:1"})); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		return master(ctx, rm, c)
	})
}

// clusterOn is as clusterRunning, and its ApplicationMasters do not lead by themselves.
func clusterOn(t *testing.T, hdfs *hdfsfake.Fake, master func(context.Context, *amrm.Client, yarnfake.Container) records.ExitStatus) *client.Cluster {
	t.Helper()
	var fake *yarnfake.Fake
	fake = startYARN(t, yarnfake.Config{Nodes: 2, Heartbeat: 10 * time.Millisecond, Run: func(ctx context.Context, c yarnfake.Container) records.ExitStatus {
		o, err := amrm.FromConf(fake.Conf())
		if err != nil {
			t.Error(err)
			return records.ExitAborted
		}
		o.Attempt, o.Token = c.ID.Attempt, c.Credentials.Tokens[""]
		rm := amrm.New(o)
		defer rm.Close()
		if _, err := rm.Register(ctx, amrm.RegisterRequest{Host: "127.0.0.1", RPCPort: 1}); err != nil && ctx.Err() == nil { // not killed meanwhile
			t.Error(err)
		}
		return master(ctx, rm, c)
	}})
	cluster := opened(t, fake)
	if err := cluster.Files.Close(); err != nil {
		t.Fatal(err)
	}
	cluster.Files = dfs.New(dfs.Options{Conf: hdfs.Conf(), User: cluster.User, Dial: hdfs.Dial})
	return cluster
}

// leads makes an attempt the leader, which then uses its store.
func leads(ctx context.Context, hdfs *hdfsfake.Fake, c yarnfake.Container, use func(context.Context, ha.Store) error) (err error) {
	what, err := launch.Decode[launch.AppMaster](c.Launch.Environment[launch.Variable])
	if err != nil {
		return err
	}
	files := dfs.New(dfs.Options{Conf: hdfs.Conf(), User: c.User, Dial: hdfs.Dial})
	defer func() { err = errors.Join(err, files.Close()) }()
	term, err := ha.NewDirectory(ha.Options{Files: files, Dir: what.HighAvailability, Epoch: ids.Epoch(c.ID.Attempt.Attempt)}).Lead(ctx)
	if err != nil {
		return err
	}
	return use(ctx, term.Store)
}

// publish stores the address of an attempt.
func publish(c yarnfake.Container, access launch.Access) func(context.Context, ha.Store) error {
	return func(ctx context.Context, store ha.Store) error {
		access.Attempt, access.Application = c.ID.Attempt.Attempt, c.ID.Attempt.Application.String()
		content, err := json.Marshal(access)
		if err != nil {
			return err
		}
		return store.Publish(ctx, "127.0.0.1:2", content)
	}
}

// opened is a fake YARN, opened by alice.
func opened(t *testing.T, fake *yarnfake.Fake) *client.Cluster {
	t.Helper()
	env := environment(t, fake.Conf())
	cluster, err := client.Open(t.Context(), func(name string) string { return env[name] }, config.Config{}, logrus.New())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// submitted is an application on a cluster without its ApplicationMaster.
func submitted(t *testing.T, cluster *client.Cluster) records.ApplicationID {
	t.Helper()
	created, err := cluster.YARN.NewApplication(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = cluster.YARN.Submit(t.Context(), records.SubmissionContext{
		ID: created.ID, Type: "Bobbin", Unmanaged: true, Resource: records.Resource{MemoryMB: 128, VCores: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	return created.ID
}

// withoutYARN lets the ResourceManager of a cluster be away, until back is called.
func withoutYARN(t *testing.T, cluster *client.Cluster) (back func()) {
	t.Helper()
	there := cluster.YARN
	cluster.YARN = yarnclient.New(yarnclient.Options{
		Addresses: []string{"rm:8032"},
		Policy:    yarnrpc.Policy{MaxWait: time.Millisecond, BaseDelay: time.Millisecond, MaxDelay: time.Millisecond},
		RPC: yarnrpc.Options{
			Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: cluster.User}},
			Dial: func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED },
		},
	})
	return func() {
		if err := cluster.YARN.Close(); err != nil {
			t.Error(err)
		}
		cluster.YARN = there
	}
}

// target is that of a job with a cluster of its own, on YARN.
func targetOn(t *testing.T, cluster *client.Cluster, out io.Writer) *perJob {
	t.Helper()
	r := Request{
		Program: executable(t, program.Native(), mark(jobgraph.ProtocolVersion)), Executable: executable(t, program.Native(), ""),
		Journal: NewJournal(out, time.Now(), false),
	}
	target := &perJob{Request: r, witness: witness{Journal: r.Journal}, on: cluster}
	if err := target.inspect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return target
}
