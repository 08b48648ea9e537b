package taskrunner

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// TestLooksShareAConnection would catch a connection for each look at the NameNode, and one that stays for ever.
func TestLooksShareAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var opened []*dfs.FS
		l := &lister{open: func() (*dfs.FS, error) {
			opened = append(opened, dfs.New(dfs.Options{}))
			return opened[len(opened)-1], nil
		}}
		retrieval := ha.NewRetrieval(l, dir)
		look := func(want error) {
			t.Helper()
			if _, err := retrieval.Leader(t.Context()); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
		look(ha.ErrNothing)
		if err := os.MkdirAll(filepath.Join(dir, "live-2"), 0o700); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			time.Sleep(9 * time.Second)
			look(ha.ErrReplacing)
		}
		if err := os.WriteFile(filepath.Join(dir, "live-2", "am-2-n1.example-4711"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if leader, err := retrieval.Leader(t.Context()); err != nil || leader != (ha.Leader{Epoch: 2, Address: "n1.example:4711"}) {
			t.Errorf("the leader is %+v, %v", leader, err)
		}
		if len(opened) != 1 {
			t.Errorf("%d file systems were opened one after the other, want one for all looks", len(opened))
		}
		time.Sleep(11 * time.Second)
		if _, err := opened[0].List(context.WithoutCancel(t.Context()), dir); !errors.Is(err, dfs.ErrClosed) {
			t.Errorf("the idle file system gives %v, want that it is closed", err)
		}
		look(nil)
		if len(opened) != 2 {
			t.Errorf("%d file systems were opened, want a second one after the pause", len(opened))
		}
		l.close()
		if _, err := opened[1].List(t.Context(), dir); !errors.Is(err, dfs.ErrClosed) {
			t.Errorf("the file system gives %v after the end of the worker", err)
		}
	})
}

// TestLooksOutliveANameNode would catch a worker that never finds the next leader because one of two NameNodes is dark: its
// machine is off, or the process is stopped and keeps its connections. Each look would end before that NameNode is given
// up, and the next one would ask the same.
func TestLooksOutliveANameNode(t *testing.T) {
	for name, connected := range map[string]bool{"that is dark": false, "that goes dark": true} {
		t.Run(name, func(t *testing.T) {
			for range 8 { // the order of the NameNodes is random
				synctest.Test(t, func(t *testing.T) { lookBeside(t, connected) })
			}
		})
	}
}

func lookBeside(t *testing.T, connected bool) {
	fake := hdfsfake.Start(hdfsfake.Config{NameNodes: 2})
	defer fake.Stop()
	fake.WriteFile("/app/live-2/am-2-n1.example-4711", nil)
	nameNodes, _, err := fake.Conf().NameNodes(fake.Authority())
	if err != nil {
		t.Fatal(err)
	}
	dark := make(chan struct{})
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case <-dark:
			if address == nameNodes[0] {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		default:
		}
		return fake.Dial(ctx, network, address)
	}
	l := &lister{open: func() (*dfs.FS, error) {
		return dfs.New(dfs.Options{Conf: fake.Conf(), User: "alice", Dial: dial, Patience: lookPatience}), nil
	}}
	defer l.close()
	look := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := ha.NewRetrieval(l, "/app").Leader(ctx)
		return err
	}
	if connected {
		if err := look(); err != nil {
			t.Fatal(err)
		}
		fake.Delay("getListing", time.Hour)
	}
	close(dark)
	fake.Activate(1)
	began := time.Now()
	for look() != nil {
		if time.Since(began) > time.Minute {
			t.Fatal("no look has found the leader in a minute")
		}
		time.Sleep(time.Second)
	}
}

// TestAWorkerCanFindLaterMasters would catch a worker of an application with high availability that finds no other
// master, and one that starts with a time that nobody can read.
func TestAWorkerCanFindLaterMasters(t *testing.T) {
	t.Chdir(t.TempDir()) // artifacts of an earlier worker are removed
	carried := func(properties map[string]string) []byte {
		conf, err := new(hadoopconf.Conf).With("test", properties).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return conf
	}
	logger, _ := logtest.NewNullLogger()
	for name, c := range map[string]struct {
		dir, expiry string
		fails       bool
	}{
		"without high availability": {"", "soon", false},
		"with it":                   {"hdfs://ns/user/a/.bobbin/application_1_1", "8000", false},
		"with a strange time":       {"hdfs://ns/user/a/.bobbin/application_1_1", "soon", true},
	} {
		env := environment{container: "container_1_0001_01_000002", launch: launch.TaskExecutor{
			Memory: memory.Worker{Slots: 1}, HighAvailability: c.dir,
			HadoopConf: carried(map[string]string{"yarn.nm.liveness-monitor.expiry-interval-ms": c.expiry}),
		}}
		_, err := newExecutor(env, nil, new(lister), new(dfs.Tokens), nil, logger)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}
