package exchange_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

const server = ids.HostID("c1-partitions")

// worker is a worker's directory with the partitions of job j, and its server.
type worker struct {
	testing.TB
	*exchange.Server
	dir string
}

func newWorker(t testing.TB, change ...func(*exchange.ServerConfig)) worker {
	t.Helper()
	config := exchange.ServerConfig{Host: server, ListenHost: "127.0.0.1", Logger: quiet()}
	for _, c := range change {
		c(&config)
	}
	s, err := exchange.NewServer(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return worker{t, s, t.TempDir()}
}

// write writes a partition of numbered records, the same number for each channel, and adds it to the server.
func (w worker) write(e *exchange.Exchange, subtask, channels, each int, size func(int) int) msg.WrittenPartition {
	w.Helper()
	p, err := e.BlockingPartition(execution(0, subtask), 0, channels, []string{w.dir})
	if err != nil {
		w.Fatal(err)
	}
	for n := range each {
		for c := range channels {
			if err := p.Emit(w.Context(), c, numbered(subtask, n, size(n))); err != nil {
				w.Fatal(err)
			}
		}
	}
	if err := p.Finish(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.Add("j", finished(subtask), 0, w.path(subtask))
	return p.Written()
}

func (w worker) path(subtask int) string { return filepath.Join(w.dir, finished(subtask).String()) }

func finished(subtask int) exchange.PartitionID {
	return exchange.PartitionID{Execution: execution(0, subtask)}
}

// producers are those of so many subtasks, whose partitions the worker has.
func (w worker) producers(n int) []exchange.Producer {
	producers := make([]exchange.Producer, n)
	for s := range producers {
		producers[s] = exchange.Producer{Partition: finished(s), Host: server, Address: w.Address(), Finished: true}
	}
	return producers
}

// TestFinishedPartitionsAreReadFromTheirServer would catch records that are lost, repeated, mixed up or cut between a file and a gate.
func TestFinishedPartitionsAreReadFromTheirServer(t *testing.T) {
	ca := newAuthority(t)
	for name, security := range map[string]bool{"plain": false, "TLS": true} {
		for size, sizes := range map[string]func(int) int{
			"small records": func(n int) int { return 8 + n%40 },
			"large records": func(n int) int { return 8 + n*n*97%70_000 },
		} {
			t.Run(name+", "+size, func(t *testing.T) {
				ctx := t.Context()
				var ofHost []func(*exchange.Config)
				var ofWorker []func(*exchange.ServerConfig)
				if security {
					ofHost, ofWorker = append(ofHost, ca.host("c2", "j")), append(ofWorker, ca.worker("c1"))
				}
				w := newWorker(t, ofWorker...)
				const producers, channels, each = 3, 4, 500
				writer := newExchange(t, "a", append(ofHost, func(c *exchange.Config) { c.SortBuffers, c.Compress = 16, true })...)
				for s := range producers {
					if got := w.write(writer, s, channels, each, sizes); got.Records != channels*each || got.Bytes == 0 || got.Dir != 0 {
						t.Errorf("wrote %+v", got)
					}
				}
				writer.Close() // the host may end
				reader := newExchange(t, "b", ofHost...)
				sources := exchange.NewSources("b", w.producers(producers))
				var tasks sync.WaitGroup
				for c := range channels {
					tasks.Go(func() {
						g := reader.GateOf(ctx, sources, c)
						defer g.Close()
						got, err := readAll(ctx, g, sizes)
						if err != nil {
							t.Error(err)
						}
						for s := range producers {
							if got[s] != each {
								t.Errorf("channel %d: %d records of producer %d arrive, want %d", c, got[s], s, each)
							}
						}
					})
				}
				tasks.Wait()
				if n := reader.Reserved(); n != 0 {
					t.Errorf("%d buffers are reserved at the end", n)
				}
			})
		}
	}
}

// TestManyFinishedPartitionsTakeBoundedMemory would catch a gate that opens a channel, or a server that opens a file, for each producer,
// memory of a worker or a host that grows with the channels of a job, and buffers that stay in memory when nothing counts them any more.
// A long run has 4 million channels, of 2,000 consumers that run eight at a time.
//
// The limit is the buffers, and 1 KiB for each partition: the server's entry for its file, the list of producers, and the test's own
// counts. It is for all that this process holds from the writing on: a worker's server, and the exchanges of the hosts that write and
// read. Operators, TaskExecutor and JobMaster are not here, and no container of 1 GB is.
func TestManyFinishedPartitionsTakeBoundedMemory(t *testing.T) {
	ctx := t.Context()
	producers, consumers := 2000, 4
	switch {
	case longtest.Is():
		consumers = 2000
	case testing.Short():
		producers = 300
	}
	const slots, files = 8, 10
	var pause sync.RWMutex // while memory is measured, no consumer reads on: what it makes and drops meanwhile would count
	size := func(int) int {
		pause.RLock()
		defer pause.RUnlock()
		return 100
	}
	before := heaptest.InUse()
	w := newWorker(t, exchange.FewFiles(files))
	writer := newExchange(t, "a", func(c *exchange.Config) { c.SortBuffers = 16 })
	for s := range producers {
		w.write(writer, s, consumers, 2, size)
	}
	written := heaptest.InUse() - before
	reader := newExchange(t, "b", func(c *exchange.Config) { c.Memory = 32 * msg.BufferBytes })
	sources := exchange.NewSources("b", w.producers(producers))
	buffers, most := 0, written
	measure := func() {
		pause.Lock()
		defer pause.Unlock()
		buffers = max(buffers, reader.Made()) // gates that are opened or closed meanwhile change it
		most = max(most, heaptest.InUse()-before)
		buffers = max(buffers, reader.Made())
	}
	tasks := make(chan int)
	var running sync.WaitGroup
	for range slots {
		running.Go(func() {
			for c := range tasks {
				g := reader.GateOf(ctx, sources, c)
				got, err := readAll(ctx, g, size)
				if err != nil || len(got) != producers {
					t.Errorf("records of %d producers arrive, want %d: %v", len(got), producers, err)
				}
				for s, n := range got {
					if n != 2 {
						t.Errorf("%d records of producer %d arrive, want 2", n, s)
					}
				}
				measure()
				g.Close()
			}
		})
	}
	for c := range consumers {
		tasks <- c
	}
	close(tasks)
	running.Wait()
	if buffers > slots*exchange.MaxOpen {
		t.Errorf("%d consumers at a time of %d producers used %d buffers", slots, producers, buffers)
	}
	if open := w.OpenFiles(); open > files {
		t.Errorf("%d files are open", open)
	}
	t.Logf("%d × %d channels: %d KiB in use when all are written, later at most %d KiB with %d buffers", producers, consumers, written>>10, most>>10, buffers)
	if limit := int64(buffers*msg.BufferBytes + producers<<10 + 256<<10); most > limit {
		t.Errorf("%d KiB were in use, want at most %d KiB", most>>10, limit>>10)
	}
}

// TestAReaderTakesLittleMemory would catch connections that take more memory than a server counts for each, so that a thousand hosts
// fill its process. It measures the heap of both ends, with the buffer that each reader keeps.
func TestAReaderTakesLittleMemory(t *testing.T) {
	const n, stacks = 32, 12 << 10
	ca := newAuthority(t)
	w := newWorker(t, ca.worker("w"))
	size := func(int) int { return 100 }
	w.write(newExchange(t, "a", ca.host("w", "j")), 0, 1, 2, size)
	var hosts []*exchange.Exchange
	for i := range n {
		id := fmt.Sprint("host", i)
		hosts = append(hosts, newExchange(t, ids.HostID(id), ca.host(ids.ResourceID(id), "j")))
	}
	before := heaptest.InUse()
	for _, h := range hosts {
		g := h.GateOf(t.Context(), exchange.NewSources("b", w.producers(1)), 0)
		if _, err := readAll(t.Context(), g, size); err != nil {
			t.Fatal(err)
		}
		g.Close()
	}
	if each := (heaptest.InUse() - before) / n; each > 2*(exchange.IdleBytes-stacks)+msg.BufferBytes {
		t.Errorf("a connection takes %d bytes at both ends", each)
	}
}

// TestLostPartitionsAreNamed would catch a task that takes a lost partition for the end of its input or for a lost host, because only
// the name of the partition says which task must run again.
func TestLostPartitionsAreNamed(t *testing.T) {
	size := func(int) int { return 1000 }
	for name, test := range map[string]struct {
		spoil func(t *testing.T, w worker)
		want  string
	}{
		"released":          {func(_ *testing.T, w worker) { w.Remove("j", finished(1)) }, "does not have the partition"},
		"its job has ended": {func(_ *testing.T, w worker) { w.Remove("j", finished(0), finished(1), finished(2)) }, "does not have the partition"},
		"its file is gone": {func(t *testing.T, w worker) {
			if err := os.Remove(w.path(1)); err != nil {
				t.Fatal(err)
			}
		}, "no such file"},
		"its file is damaged": {func(t *testing.T, w worker) {
			file, err := os.OpenFile(w.path(1), os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if _, err := file.WriteAt(make([]byte, 8), 25_000); err != nil {
				t.Fatal(err)
			}
		}, "damaged: at offset 2"},
		"it has fewer channels": {func(_ *testing.T, w worker) { w.Add("j", finished(1), 0, w.path(2)) }, "which has 1"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			w := newWorker(t)
			e := newExchange(t, "b")
			w.write(e, 0, 2, 20, size)
			w.write(e, 1, 2, 20, size)
			w.write(e, 2, 1, 20, size)
			test.spoil(t, w)
			g := e.GateOf(ctx, exchange.NewSources("b", w.producers(2)), 1)
			defer g.Close()
			_, err := readAll(ctx, g, size)
			lost, is := errors.AsType[*exchange.PartitionLostError](err)
			if !is || errors.Is(err, exchange.ErrPeerLost) || errors.Is(err, io.EOF) {
				t.Fatalf("read gives %v, want PartitionLostError", err)
			}
			if lost.Partition.Execution.Subtask > 1 || lost.Host != server || !strings.Contains(err.Error(), test.want) {
				t.Errorf("read gives %v, want %q", err, test.want)
			}
		})
	}
}

// TestPartitionsMayBeRemovedWhileTheyAreRead would catch a reader that goes on with a file which the worker has removed, and a file that
// stays open.
func TestPartitionsMayBeRemovedWhileTheyAreRead(t *testing.T) {
	ctx := t.Context()
	w := newWorker(t)
	e := newExchange(t, "b")
	size := func(int) int { return 10_000 }
	w.write(e, 0, 1, 500, size) // more than the buffers of both ends
	g := e.Gate(ctx, w.producers(1))
	defer g.Close()
	if _, err := g.Next(ctx); err != nil {
		t.Fatal(err)
	}
	w.Remove("j", finished(0))
	for {
		if _, err := g.Next(ctx); err != nil {
			if _, is := errors.AsType[*exchange.PartitionLostError](err); !is {
				t.Errorf("read gives %v, want PartitionLostError", err)
			}
			break
		}
	}
	if open := w.OpenFiles(); open != 0 {
		t.Errorf("%d files are open", open)
	}
}

// TestLostServerIsALostHost would catch a worker that is lost with its partitions and not reported as such.
func TestLostServerIsALostHost(t *testing.T) {
	ctx := t.Context()
	w := newWorker(t)
	e := newExchange(t, "b")
	size := func(int) int { return 10_000 }
	w.write(e, 0, 1, 500, size)
	g := e.Gate(ctx, w.producers(1))
	defer g.Close()
	if _, err := g.Next(ctx); err != nil {
		t.Fatal(err)
	}
	w.Close()
	_, err := readAll(ctx, g, size)
	for err == nil || strings.Contains(err.Error(), "others than were emitted") { // readAll expects the first record
		_, err = g.Next(ctx)
	}
	wantLost(t, err, server)
	late := e.Gate(ctx, w.producers(1))
	defer late.Close()
	_, err = late.Next(ctx)
	wantLost(t, err, server)
}

// TestSlowReaderDelaysNoOther would catch a server that sends without credit, or waits for one reader.
func TestSlowReaderDelaysNoOther(t *testing.T) {
	ctx := t.Context()
	w := newWorker(t)
	e := newExchange(t, "b")
	size := func(int) int { return 10_000 }
	w.write(e, 0, 2, 500, size)
	sources := exchange.NewSources("b", w.producers(1))
	slow := e.GateOf(ctx, sources, 0)
	defer slow.Close()
	quick := e.GateOf(ctx, sources, 1)
	defer quick.Close()
	if got, err := readAll(ctx, quick, size); err != nil || got[0] != 500 {
		t.Errorf("%d records arrive, want 500: %v", got[0], err)
	}
	if u := slow.Usage(); u.Queued > exchange.MaxPerChannel {
		t.Errorf("the slow reader has %d buffers", u.Queued)
	}
	slow.Close() // the server ends the channel
	again := e.GateOf(ctx, sources, 0)
	defer again.Close()
	if got, err := readAll(ctx, again, size); err != nil || got[0] != 500 {
		t.Errorf("read again: %d records arrive, want 500: %v", got[0], err)
	}
}

// TestServerServesOnlyHostsOfTheJob would catch a partition that hosts of another job can read, and a server that is no worker's.
func TestServerServesOnlyHostsOfTheJob(t *testing.T) {
	ctx := t.Context()
	ca, other := newAuthority(t), newAuthority(t)
	for name, test := range map[string]struct {
		server func(*exchange.ServerConfig)
		reader func(*exchange.Config)
	}{
		"a host of another job":           {ca.worker("c1"), ca.host("c2", "k")},
		"another job's under a false id":  {ca.worker("c1"), func(c *exchange.Config) { ca.host("c2", "k")(c); c.Job = "j" }},
		"a host of another application":   {ca.worker("c1"), other.host("c2", "j")},
		"a worker of another application": {other.worker("c1"), ca.host("c2", "j")},
		"a worker with another id":        {func(c *exchange.ServerConfig) { ca.worker("c1")(c); c.Host = "c3-partitions" }, ca.host("c2", "j")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorker(t, test.server)
			e := newExchange(t, "b", test.reader)
			w.write(e, 0, 1, 10, func(int) int { return 100 })
			g := e.Gate(ctx, w.producers(1))
			defer g.Close()
			_, err := g.Next(ctx)
			if _, lost := errors.AsType[*exchange.PartitionLostError](err); err == nil || !lost && !errors.Is(err, exchange.ErrPeerLost) {
				t.Errorf("next gives %v, want an error", err)
			}
		})
	}
}

// TestServerEndsHostileConnections would catch a peer that can crash the server, or hold a connection open with nonsense.
func TestServerEndsHostileConnections(t *testing.T) {
	w := newWorker(t)
	for name, hostile := range map[string][]byte{
		"another protocol": []byte("GET / HTTP/1.1\r\n\r\n"),
		"another job":      binary.BigEndian.AppendUint16([]byte("BOBX"), 1<<15),
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", w.Address())
		if err != nil {
			t.Fatal(err)
		}
		conn.Write(hostile)
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") { // hangs if the server does not end it
			t.Errorf("%s: %v", name, err)
		}
		conn.Close()
	}
}

// TestOutputsUseTheDisksInTurn would catch a bad disk that fails each attempt, and a file that a failed task leaves.
func TestOutputsUseTheDisksInTurn(t *testing.T) {
	e := newExchange(t, "a")
	good, bad := t.TempDir(), filepath.Join(t.TempDir(), "gone", "partitions", "host")
	for attempt := range 3 {
		id := ids.ExecutionAttemptID{Epoch: 1, Attempt: attempt}
		p, err := e.BlockingPartition(id, 0, 2, []string{bad, good})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Finish(t.Context()); err != nil || p.Written().Dir != 1 {
			t.Errorf("attempt %d: wrote %+v: %v", attempt, p.Written(), err)
		}
		p.Fail(errors.New("another output has failed"))
		p.Fail(errors.New("again"))
	}
	if left, err := os.ReadDir(good); err != nil || len(left) > 0 {
		t.Errorf("failed tasks leave %v: %v", left, err)
	}
	if _, err := e.BlockingPartition(execution(0, 0), 0, 2, []string{bad}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a good disk: %v", err)
	}
	if _, err := e.BlockingPartition(execution(0, 0), 0, 2, nil); err == nil || e.Reserved() != 0 {
		t.Errorf("without a disk: %v; %d buffers are reserved", err, e.Reserved())
	}
	p, err := e.BlockingPartition(execution(0, 0), 0, 2, []string{good})
	if err != nil {
		t.Fatal(err)
	}
	if e.Reserved() < 512 { // 16 MiB of 64 MiB
		t.Errorf("an output that sorts charges %d buffers to the host", e.Reserved())
	}
	defer func() {
		if p.Fail(nil); e.Reserved() != 0 {
			t.Errorf("%d buffers are reserved at the end", e.Reserved())
		}
	}()
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("cancelled"))
	for range 100 {
		if err = p.Emit(ended, 1, make([]byte, 1000)); err != nil {
			return
		}
	}
	t.Error("a cancelled task writes on")
}
