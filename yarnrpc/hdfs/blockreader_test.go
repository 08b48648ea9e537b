package hdfs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfsfake"
)

// dials records the dialled addresses, except the NameNode's.
type dials struct {
	fake *hdfsfake.Fake
	mu   sync.Mutex // guards to
	to   []string
}

func (d *dials) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if host, _, _ := strings.Cut(address, "."); strings.HasPrefix(host, "node") {
		d.mu.Lock()
		d.to = append(d.to, host)
		d.mu.Unlock()
	}
	return d.fake.Dial(ctx, network, address)
}

// take returns the addresses that were dialled since the last call.
func (d *dials) take() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer func() { d.to = nil }()
	return strings.Join(d.to, " ")
}

// onDataNodes runs a test in its own bubble, with the file /file.
func onDataNodes(t *testing.T, c hdfsfake.Config, content []byte, test func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, dialled *dials)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fake := hdfsfake.Start(c)
		defer fake.Stop()
		fake.WriteFile("/file", content)
		o, err := hdfs.FromConf(fake.Conf(), fake.Authority(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		dialled := &dials{fake: fake}
		o.RPC.Dial = dialled.dial
		d := hdfs.NewDialer(o)
		defer d.Close()
		test(t, d, fake, dialled)
	})
}

// blockOf locates the first block of /file.
func blockOf(t *testing.T, d *hdfs.Dialer) hdfs.Block {
	t.Helper()
	layout, err := d.NameNode().Locate(t.Context(), "/file", 0, 1)
	if err != nil || len(layout.Blocks) != 1 {
		t.Fatalf("blocks %+v, %v", layout.Blocks, err)
	}
	return layout.Blocks[0]
}

// readBlock reads a block from an offset to its end.
func readBlock(t *testing.T, d *hdfs.Dialer, offset int64) ([]byte, error) {
	t.Helper()
	r := d.ReadBlock(t.Context(), blockOf(t, d), offset)
	defer r.Close()
	return io.ReadAll(r)
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // it has no errors
	return b
}

// Packets begin at a checksum chunk. It would catch returned bytes before the offset, and missing
// bytes at the end.
func TestABlockIsReadFromAnyOffset(t *testing.T) {
	t.Parallel()
	content := noise(200_003)
	onDataNodes(t, hdfsfake.Config{BlockSize: 400 << 10}, content, func(t *testing.T, d *hdfs.Dialer, _ *hdfsfake.Fake, _ *dials) {
		for _, offset := range []int64{0, 1, 511, 512, 513, 64 << 10, 64<<10 + 100, 200_000, 200_002, 200_003} {
			if got, err := readBlock(t, d, offset); err != nil || !bytes.Equal(got, content[offset:]) {
				t.Errorf("from %d: %d bytes, %v", offset, len(got), err)
			}
		}
	})
}

// A new connection costs a DataNode a thread and, in secure clusters, a login: most of the work for a
// small file.
func TestBlocksThatAreReadOneAfterTheOtherShareAConnection(t *testing.T) {
	t.Parallel()
	onDataNodes(t, hdfsfake.Config{}, noise(23), func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, _ *dials) {
		for range 20 {
			if got, err := readBlock(t, d, 0); err != nil || len(got) != 23 {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			time.Sleep(time.Second)
		}
		if n := fake.Dialled(); n != 1 {
			t.Errorf("20 blocks took %d connections", n)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if n := fake.Connected(); n != 0 {
			t.Errorf("%d connections are kept for nobody", n)
		}
	})
}

// It would catch a half-read block whose rest is returned as the next block.
func TestAConnectionWithBytesOnItsWayIsNotShared(t *testing.T) {
	t.Parallel()
	content := noise(100_000)
	onDataNodes(t, hdfsfake.Config{}, content, func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, _ *dials) {
		for range 3 {
			r := d.ReadBlock(t.Context(), blockOf(t, d), 0)
			if _, err := io.ReadFull(r, make([]byte, 10)); err != nil {
				t.Fatal(err)
			}
			r.Close()
			if got, err := readBlock(t, d, 0); err != nil || !bytes.Equal(got, content) {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
		if n := fake.Dialled(); n != 4 { // the first complete one was kept for the next reads
			t.Errorf("%d connections", n)
		}
	})
}

// A restarted DataNode, or one that has waited too long, has closed the kept connection. It would
// catch a reader that fails because of that, and one that counts it as a failure of the DataNode.
func TestAKeptConnectionThatHasEndedIsNoFailure(t *testing.T) {
	t.Parallel()
	onDataNodes(t, hdfsfake.Config{DataNodes: 2, KeepAlive: time.Second}, noise(23), func(t *testing.T, d *hdfs.Dialer, _ *hdfsfake.Fake, dialled *dials) {
		for range 3 {
			if got, err := readBlock(t, d, 0); err != nil || len(got) != 23 {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			time.Sleep(2 * time.Second)
		}
		if got := dialled.take(); got != "node1 node1 node1" {
			t.Errorf("dialled were %s", got)
		}
	})
}

// It would catch a DataNode that is asked again after a refusal, or waited for twice when it is
// frozen; one that is not asked last afterwards; and one that is treated as unreachable.
func TestWhatADataNodeDoesOnAKeptConnectionCounts(t *testing.T) {
	t.Parallel()
	const silence = time.Minute // dfs.client.socket-timeout
	for name, c := range map[string]struct {
		fault func(*hdfsfake.Fake)
		takes time.Duration
		want  error
	}{
		"it refuses":   {(*hdfsfake.Fake).RefuseRead, 0, hdfs.ErrRefused},
		"it is frozen": {func(f *hdfsfake.Fake) { f.StallRead(-1) }, silence, os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onDataNodes(t, hdfsfake.Config{DataNodes: 2}, noise(23), func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, dialled *dials) {
				read := func(want string, takes time.Duration) {
					t.Helper()
					began := time.Now()
					got, err := readBlock(t, d, 0)
					if took := time.Since(began); err != nil || len(got) != 23 || took != takes {
						t.Errorf("%d bytes, %v, after %s", len(got), err, took)
					}
					if got := dialled.take(); got != want {
						t.Errorf("dialled were %q, want %q", got, want)
					}
				}
				read("node1", 0)
				c.fault(fake)
				read("node2", c.takes)
				time.Sleep(10 * time.Second) // longer than connections are kept
				read("node2", 0)
			})
			onDataNodes(t, hdfsfake.Config{}, noise(23), func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, dialled *dials) {
				if _, err := readBlock(t, d, 0); err != nil {
					t.Fatal(err)
				}
				c.fault(fake)
				if _, err := readBlock(t, d, 0); !errors.Is(err, c.want) || errors.Is(err, hdfs.ErrUnreachable) {
					t.Errorf("of the only DataNode: error %v, want %v", err, c.want)
				}
				if got := dialled.take(); got != "node1" {
					t.Errorf("dialled were %q", got)
				}
			})
		})
	}
}

// Ten thousand files must not wait one by one for the same dead DataNode. A DataNode that is back
// must be asked again, or all reads would stay remote.
func TestADataNodeThatHasFailedIsAskedLast(t *testing.T) {
	t.Parallel()
	onDataNodes(t, hdfsfake.Config{DataNodes: 2}, noise(23), func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, dialled *dials) {
		read := func(want string) {
			t.Helper()
			time.Sleep(10 * time.Second) // longer than connections are kept
			if got, err := readBlock(t, d, 0); err != nil || len(got) != 23 {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
			if got := dialled.take(); got != want {
				t.Errorf("dialled were %q, want %q", got, want)
			}
		}
		fake.StopDataNode(0)
		read("node1 node2")
		read("node2")
		time.Sleep(5 * time.Minute)
		read("node1 node2")
		fake.StartDataNode(0)
		time.Sleep(5 * time.Minute)
		read("node1")
		fake.StopDataNode(0)
		fake.StopDataNode(1)
		time.Sleep(10 * time.Second)
		if _, err := readBlock(t, d, 0); !errors.Is(err, hdfs.ErrUnreachable) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v", err)
		}
		fake.StartDataNode(0) // no other reader may learn that both are gone
		dialled.take()
		read("node1")
	})
}

// A reader waits for a fault that may pass, but not after a DataNode's answer about a block. It would
// catch one that is treated as the other.
func TestABlockThatLiesNowhereIsUnreachable(t *testing.T) {
	t.Parallel()
	onDataNodes(t, hdfsfake.Config{}, noise(23), func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, _ *dials) {
		fake.RefuseRead()
		if _, err := readBlock(t, d, 0); !errors.Is(err, hdfs.ErrRefused) || errors.Is(err, hdfs.ErrUnreachable) || !strings.Contains(err.Error(), "replica is not there") {
			t.Errorf("a refusal is %v", err)
		}
		fake.ForgetDataNode(0)
		if _, err := readBlock(t, d, 0); !errors.Is(err, hdfs.ErrUnreachable) {
			t.Errorf("a block without DataNodes is %v", err)
		}
	})
}

// It would catch a task that cannot be cancelled while a DataNode is silent.
func TestTheEndOfItsContextEndsAReader(t *testing.T) {
	t.Parallel()
	onDataNodes(t, hdfsfake.Config{}, noise(100), func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, _ *dials) {
		fake.StallRead(50)
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(enough) })
		r := d.ReadBlock(ctx, blockOf(t, d), 0)
		defer r.Close()
		if _, err := io.ReadAll(r); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
		if got, err := readBlock(t, d, 0); err != nil || len(got) != 100 {
			t.Errorf("then %d bytes, %v", len(got), err)
		}
	})
}

// The library asks first whether all transfer is encrypted. Without the library, the Dialer must ask:
// otherwise DataNodes close the connection, because they take the operation for a login.
func TestWhetherTransferIsEncryptedIsAskedOnce(t *testing.T) {
	t.Parallel()
	onDataNodes(t, hdfsfake.Config{}, noise(23), func(t *testing.T, d *hdfs.Dialer, fake *hdfsfake.Fake, _ *dials) {
		for range 5 {
			if _, err := readBlock(t, d, 0); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(fake.Calls("getServerDefaults")); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
	})
}
