package exchange_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// hanging is a worker with two disks in a bubble, and a host that reads. Partitions with an even subtask are on disk 0.
type hanging struct {
	worker
	reader *exchange.Exchange
}

const onEachDisk = 20 // partitions

// newHanging makes reads of a subtask's partition hang until its channel is closed. nil: they do not hang.
func newHanging(t *testing.T, until func(subtask int) <-chan struct{}) hanging {
	t.Helper()
	wires := exchange.NewBubble()
	waits := make(map[string]<-chan struct{})
	w := newWorker(t, exchange.FewFiles(100), exchange.Opens(func(path string) (*partition.File, error) {
		if wait := waits[path]; wait != nil {
			<-wait
		}
		return partition.Open(path)
	}), func(c *exchange.ServerConfig) { c.Listen = wires.Listen })
	reader := newExchange(t, "b", func(c *exchange.Config) { c.Dial, c.Listen = wires.Dial, exchange.NewBubble().Listen })
	for s := range 2 * onEachDisk {
		waits[w.path(s)] = until(s)
		w.write(reader, s, 1, 30, hangingSize)
		w.Add("j", finished(s), s%2, w.path(s))
	}
	return hanging{w, reader}
}

// disk0 makes all reads of a disk hang.
func disk0(answer <-chan struct{}) func(int) <-chan struct{} {
	return func(subtask int) <-chan struct{} {
		if subtask%2 == 0 {
			return answer
		}
		return nil
	}
}

func hangingSize(int) int { return 5000 }

// gate reads all partitions of a disk.
func (h hanging) gate(disk int) *exchange.InputGate {
	var of []exchange.Producer
	for s, p := range h.producers(2 * onEachDisk) {
		if s%2 == disk {
			of = append(of, p)
		}
	}
	return h.reader.Gate(h.Context(), of)
}

// reads checks that a gate gives all records of its disk.
func (h hanging) reads(g *exchange.InputGate) {
	h.Helper()
	got, err := readAll(h.Context(), g, hangingSize)
	if err != nil || len(got) != onEachDisk {
		h.Errorf("records of %d partitions arrive, want %d: %v", len(got), onEachDisk, err)
	}
	for s, n := range got {
		if n != 30 {
			h.Errorf("%d records of partition %d arrive, want 30", n, s)
		}
	}
	g.Close()
}

// readsMeanwhile is reads in a goroutine; it gives a function that waits for it.
func (h hanging) readsMeanwhile(g *exchange.InputGate) (wait func()) {
	var running sync.WaitGroup
	running.Go(func() { h.reads(g) })
	return running.Wait
}

// TestADiskThatHangsStopsOnlyItsChannels would catch a connection that waits for one disk, also for the files of others; reads of a
// disk that hangs without a bound, each of which keeps a thread; and channels that stay behind when the disk answers.
func TestADiskThatHangsStopsOnlyItsChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		h := newHanging(t, disk0(answer))
		stuck := h.readsMeanwhile(h.gate(0))
		time.Sleep(time.Second)
		synctest.Wait()
		if slow, parked := h.Slow(0); slow != exchange.MaxSlow || parked != onEachDisk-exchange.MaxSlow {
			t.Errorf("%d reads hang, and %d channels wait for the disk, want %d", slow, parked, exchange.MaxSlow)
		}
		h.reads(h.gate(1))
		close(answer)
		stuck()
		synctest.Wait()
		if slow, parked := h.Slow(0); slow != 0 || parked != 0 {
			t.Errorf("%d reads hang, and %d channels wait for the disk, which answers", slow, parked)
		}
	})
}

// TestADiskThatHangsInPartsIsReadOn would catch channels that wait for ever for a disk that answers others, because some of its reads
// have hung.
func TestADiskThatHangsInPartsIsReadOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, rest := make(chan struct{}), make(chan struct{})
		h := newHanging(t, func(subtask int) <-chan struct{} {
			switch {
			case subtask == 0:
				return first
			case subtask%2 == 0 && subtask < 2*exchange.MaxSlow:
				return rest
			}
			return nil
		})
		read := h.readsMeanwhile(h.gate(0))
		time.Sleep(time.Second)
		close(first)
		time.Sleep(time.Second)
		synctest.Wait()
		if slow, parked := h.Slow(0); slow != exchange.MaxSlow-1 || parked != 0 {
			t.Errorf("%d reads hang, and %d channels wait for the disk", slow, parked)
		}
		close(rest)
		read()
	})
}

// TestAServerClosesWhileADiskHangs would catch a worker that cannot end because of a disk, channels that stay in the disk's queue after
// their consumers, and a file that the last read leaves open.
func TestAServerClosesWhileADiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan struct{})
		h := newHanging(t, disk0(answer))
		released, lost := h.gate(0), h.gate(0)
		for _, g := range []*exchange.InputGate{released, lost} {
			if item, _, err := g.Poll(); item != operator.Nothing || err != nil {
				t.Errorf("a disk that hangs gives %v, %v", item, err)
			}
		}
		time.Sleep(time.Second)
		released.Close()
		synctest.Wait()
		if _, parked := h.Slow(0); parked > onEachDisk {
			t.Errorf("%d channels wait for the disk, after half of %d were released", parked, 2*onEachDisk)
		}
		h.Close()
		_, err := lost.Next(t.Context())
		wantLost(t, err, server)
		lost.Close()
		if slow, parked := h.Slow(0); slow != exchange.MaxSlow || parked != 0 {
			t.Errorf("%d reads hang, and %d channels wait for the disk of a closed server", slow, parked)
		}
		close(answer)
		synctest.Wait()
		if slow, _ := h.Slow(0); slow != 0 || h.OpenFiles() != 0 {
			t.Errorf("%d reads hang, and %d files are open, after the disk has answered", slow, h.OpenFiles())
		}
	})
}
