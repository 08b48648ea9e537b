package dfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// waits runs a test with an FS that has some patience.
func waits(t *testing.T, c hdfsfake.Config, patience time.Duration, test func(t *testing.T, f *FS, fake *hdfsfake.Fake)) {
	t.Helper()
	onHDFS(t, c, func(t *testing.T, _ *FS, fake *hdfsfake.Fake) {
		f := New(Options{Conf: fake.Conf(), User: "alice", Dial: fake.Dial, Patience: patience})
		defer f.Close()
		test(t, f, fake)
	})
}

// A NameNode that starts is in safe mode for minutes, and has no DataNodes for seconds if those
// start later. Three restarts used to be gone in two. The test would catch any call that fails
// because of it.
func TestAClusterThatStartsIsWaitedFor(t *testing.T) {
	t.Parallel()
	write := func(ctx context.Context, f *FS) error { return f.WriteFile(ctx, "/new", pattern(1000), 0o600) }
	read := func(ctx context.Context, f *FS) error {
		file, err := f.Open(ctx, "/file")
		if err != nil {
			return err
		}
		defer file.Close()
		got, err := io.ReadAll(file)
		if err == nil && !bytes.Equal(got, pattern(1000)) {
			return errors.New("other bytes are read")
		}
		return err
	}
	load := func(ctx context.Context, f *FS) error {
		_, err := f.ReadFile(ctx, "/file", 1000)
		return err
	}
	starting := map[string]struct{ begin, end func(*hdfsfake.Fake) }{
		"safe mode":                {func(f *hdfsfake.Fake) { f.SafeMode(true) }, func(f *hdfsfake.Fake) { f.SafeMode(false) }},
		"no DataNode is known":     {func(f *hdfsfake.Fake) { f.ForgetDataNode(0) }, func(f *hdfsfake.Fake) { f.StartDataNode(0) }},
		"no DataNode is listening": {func(f *hdfsfake.Fake) { f.StopDataNode(0) }, func(f *hdfsfake.Fake) { f.StartDataNode(0) }},
	}
	for name, c := range map[string]struct {
		state    string
		lasts    time.Duration // below a second for calls through the library: see testPatience
		patience time.Duration
		call     func(context.Context, *FS) error
	}{
		"rename in safe mode":         {"safe mode", 2 * time.Minute, clusterPatience, func(ctx context.Context, f *FS) error { return f.Rename(ctx, "/file", "/moved") }},
		"remove in safe mode":         {"safe mode", 2 * time.Minute, clusterPatience, func(ctx context.Context, f *FS) error { return f.Remove(ctx, "/file") }},
		"mkdirs in safe mode":         {"safe mode", 300 * time.Millisecond, testPatience, func(ctx context.Context, f *FS) error { return f.MkdirAll(ctx, "/dir") }},
		"write in safe mode":          {"safe mode", 300 * time.Millisecond, testPatience, write},
		"write without DataNodes":     {"no DataNode is known", 300 * time.Millisecond, testPatience, write},
		"read without DataNodes":      {"no DataNode is known", 2 * time.Minute, clusterPatience, read},
		"load without DataNodes":      {"no DataNode is known", 2 * time.Minute, clusterPatience, load},
		"read from one that is away":  {"no DataNode is listening", 2 * time.Minute, clusterPatience, read},
		"load from one that is away":  {"no DataNode is listening", 2 * time.Minute, clusterPatience, load},
		"read in safe mode, as usual": {"safe mode", 2 * time.Minute, clusterPatience, read},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			waits(t, hdfsfake.Config{}, c.patience, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				fake.WriteFile("/file", pattern(1000))
				starting[c.state].begin(fake)
				time.AfterFunc(c.lasts, func() { starting[c.state].end(fake) })
				if err := c.call(t.Context(), f); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// It would catch a task that waits forever for a state that only an administrator can end, and an
// error that does not name that state.
func TestAClusterThatDoesNotStartIsGivenUp(t *testing.T) {
	t.Parallel()
	waits(t, hdfsfake.Config{}, clusterPatience, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
		fake.WriteFile("/file", pattern(10))
		fake.SafeMode(true)
		for what, c := range map[string]struct {
			call func() error
			want error
		}{
			"a rename": {func() error { return f.Rename(t.Context(), "/file", "/moved") }, yarnrpc.ErrSafeMode},
			"a read": {func() error {
				fake.StopDataNode(0)
				_, err := f.ReadFile(t.Context(), "/file", 10)
				return err
			}, hdfs.ErrUnreachable},
		} {
			began := time.Now()
			err := c.call()
			if waited := time.Since(began); !errors.Is(err, c.want) || waited < clusterPatience/2 || waited > clusterPatience+time.Minute {
				t.Errorf("%s: %v after %v", what, err, waited)
			}
			if errors.Is(operator.OfFiles(err), operator.ErrPermanent) {
				t.Errorf("%s: %v is taken for the last word", what, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := f.Remove(ctx, "/file"); err == nil {
			t.Error("a file was removed in safe mode")
		}
	})
}

// A firewall may keep this machine's user from a node for a while. The test would catch a job that
// fails at once for that, and a user who reads that he may not read his file.
func TestAConnectThatIsForbiddenIsNoWordOfHDFS(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]string{"to a DataNode": "node", "to the NameNode": "127."} {
		for _, lasts := range []time.Duration{2 * time.Minute, time.Hour} {
			onHDFS(t, hdfsfake.Config{}, func(t *testing.T, _ *FS, fake *hdfsfake.Fake) {
				fake.WriteFile("/file", pattern(1000))
				until := time.Now().Add(lasts)
				f := New(Options{Conf: fake.Conf(), User: "alice", Patience: clusterPatience, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
					if strings.HasPrefix(address, host) && time.Now().Before(until) {
						return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.EPERM)}
					}
					return fake.Dial(ctx, network, address)
				}})
				defer f.Close()
				got, err := f.ReadFile(t.Context(), "/file", 1000)
				switch {
				case lasts < clusterPatience && (err != nil || !bytes.Equal(got, pattern(1000))):
					t.Errorf("%s, for %s: %d bytes, %v", name, lasts, len(got), err)
				case lasts > clusterPatience && !errors.Is(err, syscall.EPERM), errors.Is(err, fs.ErrPermission), errors.Is(operator.OfFiles(err), operator.ErrPermanent):
					t.Errorf("%s, for %s: error %v", name, lasts, err)
				}
			})
		}
	}
}

// A retry would exceed the quota again. The test would catch a job that exceeds it four times, and
// an error that does not name the directory.
func TestAQuotaIsTheLastWord(t *testing.T) {
	t.Parallel()
	const (
		names = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException"
		space = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"
		ssds  = "org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException"
	)
	write := func(ctx context.Context, f *FS) error {
		w, err := f.Create(ctx, "/dir/new", filesystem.MakeParents)
		if err != nil {
			return err
		}
		_, err = w.Write(pattern(1000))
		return errors.Join(err, w.Close())
	}
	for name, c := range map[string]struct {
		method, class string
		call          func(context.Context, *FS) error
	}{
		"names, of a directory": {"mkdirs", names, write},
		"names, of a file":      {"create", names, write},
		"space":                 {"addBlock", space, write},
		"space on SSDs":         {"addBlock", ssds, write},
		"a rename into it":      {"rename2", names, func(ctx context.Context, f *FS) error { return f.Rename(ctx, "/file", "/moved") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onHDFS(t, hdfsfake.Config{}, func(t *testing.T, f *FS, fake *hdfsfake.Fake) {
				fake.WriteFile("/file", pattern(10))
				fake.Refuse(c.method, hdfsfake.Before, c.class, "The DiskSpace quota of /dir is exceeded")
				err := operator.OfFiles(c.call(t.Context(), f))
				if !errors.Is(err, filesystem.ErrQuota) || !errors.Is(err, operator.ErrPermanent) || !strings.Contains(err.Error(), "quota of /dir is exceeded") {
					t.Errorf("error %v", err)
				}
				if n := len(fake.Calls(c.method)); n != 1 {
					t.Errorf("it was tried %d times", n)
				}
			})
		})
	}
}
