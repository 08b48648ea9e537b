package exchange_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

// hanging is a worker with two disks in a bubble, and a host that reads. Reads of disk 0 hang until the test closes answer. Partitions
// with an even subtask are there.
type hanging struct {
	worker
	reader *exchange.Exchange
	answer chan struct{}
}

const onEachDisk = 20 // partitions

func newHanging(t *testing.T) hanging {
	t.Helper()
	wires := exchange.NewBubble()
	answer := make(chan struct{})
	w := newWorker(t, exchange.FewFiles(100), exchange.Opens(func(path string) (*partition.File, error) {
		if strings.Contains(path, "disk0") {
			<-answer
		}
		return partition.Open(strings.Replace(path, "/disk0", "", 1))
	}), func(c *exchange.ServerConfig) { c.Listen = wires.Listen })
	reader := newExchange(t, "b", func(c *exchange.Config) { c.Dial, c.Listen = wires.Dial, exchange.NewBubble().Listen })
	for s := range 2 * onEachDisk {
		w.write(reader, s, 1, 30, hangingSize)
		if s%2 == 0 {
			w.Add("j", finished(s), 0, strings.Replace(w.path(s), w.dir, w.dir+"/disk0", 1))
		} else {
			w.Add("j", finished(s), 1, w.path(s))
		}
	}
	return hanging{w, reader, answer}
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

// TestADiskThatHangsStopsOnlyItsChannels would catch a connection that waits for one disk, also for the files of others; reads of a
// disk that hangs without a bound, each of which keeps a thread; and channels that stay behind when the disk answers.
func TestADiskThatHangsStopsOnlyItsChannels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHanging(t)
		stuck := h.gate(0)
		time.Sleep(time.Second)
		synctest.Wait()
		if slow, parked := h.Slow(0); slow != exchange.MaxSlow || parked != onEachDisk-exchange.MaxSlow {
			t.Errorf("%d reads hang, and %d channels wait for the disk, want %d", slow, parked, exchange.MaxSlow)
		}
		h.reads(h.gate(1))
		close(h.answer)
		h.reads(stuck)
		synctest.Wait()
		if slow, parked := h.Slow(0); slow != 0 || parked != 0 {
			t.Errorf("%d reads hang, and %d channels wait for the disk, which answers", slow, parked)
		}
	})
}

// TestAServerClosesWhileADiskHangs would catch a worker that cannot end because of a disk, channels that stay in the disk's queue after
// their consumers, and a file that the last read leaves open.
func TestAServerClosesWhileADiskHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHanging(t)
		released, lost := h.gate(0), h.gate(0)
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
		close(h.answer)
		synctest.Wait()
		if slow, _ := h.Slow(0); slow != 0 || h.OpenFiles() != 0 {
			t.Errorf("%d reads hang, and %d files are open, after the disk has answered", slow, h.OpenFiles())
		}
	})
}
