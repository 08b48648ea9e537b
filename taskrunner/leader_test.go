package taskrunner

import (
	"context"
	"errors"
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
		_, err := newExecutor(env, nil, new(lister), new(dfs.Tokens), logger)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}
