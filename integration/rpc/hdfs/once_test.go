package hdfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// The test would catch a move that replaces a file created between the check of the target and the
// move, as when two submissions stage one file, or two attempts write one part.
func TestOneOfManyRenamesToAPlaceSucceeds(t *testing.T) {
	t.Parallel()
	const movers = 16
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t)})
	dir := rpctest.Scratch(t, f)
	for i := range movers {
		create(t, f, fmt.Sprintf("%s/from%d", dir, i), []byte{byte(i)})
	}
	errs := make([]error, movers)
	var moving sync.WaitGroup
	for i := range movers {
		moving.Go(func() { errs[i] = f.Rename(t.Context(), fmt.Sprintf("%s/from%d", dir, i), dir+"/to") })
	}
	moving.Wait()
	winner := slices.Index(errs, nil)
	if winner < 0 {
		t.Fatalf("nobody has moved: %v", errs)
	}
	for i, err := range errs {
		if i != winner && !errors.Is(err, fs.ErrExist) {
			t.Errorf("mover %d, after %d: %v", i, winner, err)
		}
	}
	if content, err := f.ReadFile(t.Context(), dir+"/to", 10); err != nil || !bytes.Equal(content, []byte{byte(winner)}) {
		t.Errorf("the file of mover %d is %v, %v", winner, content, err)
	}
}

// forgetful loses the answer to the first call of a method.
type forgetful struct {
	method string
	lost   atomic.Int64
}

func (d *forgetful) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &forgetfulConn{Conn: conn, dialer: d}, err
}

type forgetfulConn struct {
	net.Conn
	dialer *forgetful
	lose   atomic.Bool
}

func (c *forgetfulConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.dialer.method)) && c.dialer.lost.Load() == 0 {
		c.lose.Store(true)
	}
	return c.Conn.Write(b)
}

// Read waits for the answer, so the server has executed the call.
func (c *forgetfulConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.lose.Load() {
		c.dialer.lost.Add(1)
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return n, err
}

// The test would catch a repeated call that the NameNode does not recognize. Then the file exists
// already, the source of a rename is missing, or a file has one block too many.
func TestACallWhoseAnswerIsLostIsDoneOnce(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"mkdirs", "create", "addBlock", "updateBlockForPipeline", "complete", "rename2", "delete"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			d := &forgetful{method: method}
			f := rpctest.FS(t, dfs.Options{Conf: smallBlocks(t, clusters.Use(t, clusters.Features)), User: rpctest.Me(t), Dial: d.dial})
			dir, content := rpctest.Scratch(t, f)+"/made", rpctest.Noise(blockSize+1) // no file name contains a method's name
			if err := f.Mkdir(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if err := f.WriteFile(t.Context(), dir+"/from", content, 0o600); err != nil {
				t.Error(err)
			}
			if err := f.Rename(t.Context(), dir+"/from", dir+"/to"); err != nil {
				t.Error(err)
			}
			if got, err := f.ReadFile(t.Context(), dir+"/to", int64(len(content))); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes are not the %d written: %v", len(got), len(content), err)
			}
			if err := f.RemoveAll(t.Context(), dir); err != nil {
				t.Error(err)
			}
			if _, err := f.Stat(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what was removed: %v", err)
			}
			if lost := d.lost.Load(); lost != 1 {
				t.Errorf("%d answers were lost, want 1", lost)
			}
		})
	}
}
