package exchange

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// TestOnlyLostFilesAreWrittenAgain would catch producers that run again, on all workers, because this worker has too many open files;
// a channel that tries for ever; and a disk whose one fault loses a partition.
func TestOnlyLostFilesAreWrittenAgain(t *testing.T) {
	for _, test := range []struct {
		err   error
		last  frameKind
		tries int
	}{
		{errNotServed, frameLost, 1},
		{fs.ErrNotExist, frameLost, 1},
		{partition.ErrCorrupt, frameLost, 1},
		{syscall.EIO, frameLost, 2},
		{syscall.EMFILE, frameFail, maxFaults},
		{syscall.ENFILE, frameFail, maxFaults},
		{syscall.ENOMEM, frameFail, maxFaults},
		{fs.ErrPermission, frameFail, maxFaults},
	} {
		err := fmt.Errorf("read: %w", test.err)
		tries := 1
		for {
			last, again := verdict(err, tries)
			if last != test.last {
				t.Errorf("%v ends with frame %d, want %d", test.err, last, test.last)
			}
			if !again {
				break
			}
			tries++
		}
		if tries != test.tries {
			t.Errorf("%v: %d tries, want %d", test.err, tries, test.tries)
		}
	}
}

// TestAChannelReadsAgainAfterAFault would catch a channel that hangs after a fault, or that a credit wakes up before the pause is over.
func TestAChannelReadsAgainAfterAFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p")
	w, err := partition.Create(partition.Config{Path: path, Subpartitions: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		l := newServedTest(t)
		l.server.Add("j", PartitionID{}, 0, strings.Repeat("x", 1000)) // ENAMETOOLONG
		_ = l.read(open(0, 0))
		var sent bytes.Buffer
		to := &frameWriter{Writer: bufio.NewWriter(&sent)}
		r := &relief{replace: func() {}}
		turn := func() bool {
			c, some := l.turns.next()
			if some {
				c.prepare(r)
				if _, err := c.produce(to); err != nil || to.Flush() != nil {
					t.Fatal(err)
				}
			}
			return some
		}
		turn()
		_ = l.read(frame(frameCredit, 0, 1))
		if !turn() || sent.Len() > 0 || turn() {
			t.Errorf("before the pause is over it sends % x", sent.Bytes())
		}
		l.server.Add("j", PartitionID{}, 0, path)
		time.Sleep(faultPause)
		synctest.Wait()
		if !turn() || !bytes.Equal(sent.Bytes(), header{kind: frameEnd}.append(nil)) {
			t.Errorf("after the pause it sends % x", sent.Bytes())
		}
		l.server.shelf.clear()
	})
}
