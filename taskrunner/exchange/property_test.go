package exchange

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// topology is a random job of two vertices: the host of each task, and the records of each
// producer.
type topology struct {
	hosts     int
	memory    int
	producers []int    // host of each
	consumers []int    // host of each
	emits     [][]emit // by producer
	quitters  []bool   // consumers that stop after one record
	shared    bool     // consumers read Sources, one for each host
}

type emit struct{ channel, size int }

func drawTopology(t *rapid.T) topology {
	j := topology{hosts: rapid.IntRange(1, 3).Draw(t, "hosts")}
	j.shared = rapid.Bool().Draw(t, "shared")
	j.memory = rapid.SampledFrom([]int{1, 20 * bufferSize, defaultMemory}).Draw(t, "memory")
	host := rapid.IntRange(0, j.hosts-1)
	j.producers = rapid.SliceOfN(host, 1, 4).Draw(t, "producers")
	j.consumers = rapid.SliceOfN(host, 1, 4).Draw(t, "consumers")
	size := rapid.OneOf(rapid.IntRange(0, 200), rapid.IntRange(maxPayload-10, maxPayload+10), rapid.IntRange(0, 4*bufferSize))
	one := rapid.Custom(func(t *rapid.T) emit {
		return emit{rapid.IntRange(0, len(j.consumers)-1).Draw(t, "channel"), size.Draw(t, "size")}
	})
	for range j.producers {
		j.emits = append(j.emits, rapid.SliceOfN(one, 0, 60).Draw(t, "emits"))
	}
	for range j.consumers {
		j.quitters = append(j.quitters, rapid.IntRange(0, 9).Draw(t, "quits") == 0)
	}
	return j
}

// record n of a producer: the producer, n, and bytes that depend on both.
func (j topology) record(producer, n int) []byte {
	record := binary.BigEndian.AppendUint32(nil, uint32(producer)<<16|uint32(n))
	for len(record) < 4+j.emits[producer][n].size {
		record = append(record, byte(len(record)*(n+3)))
	}
	return record
}

// want is the naive model: the record numbers of each producer for each consumer, in order.
func (j topology) want() map[[2]int][]int {
	want := make(map[[2]int][]int)
	for p, emits := range j.emits {
		for n, e := range emits {
			if !j.quitters[e.channel] {
				key := [2]int{e.channel, p}
				want[key] = append(want[key], n)
			}
		}
	}
	return want
}

// read runs a consumer, and gives the records from each producer.
func (j topology) read(ctx context.Context, g *InputGate, consumer int) (map[[2]int][]int, error) {
	got := make(map[[2]int][]int)
	for {
		record, err := g.Next(ctx)
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return nil, fmt.Errorf("consumer %d: %w", consumer, err)
		}
		if j.quitters[consumer] {
			return nil, nil
		}
		id := binary.BigEndian.Uint32(record)
		producer, n := int(id>>16), int(id&0xffff)
		if producer >= len(j.emits) || n >= len(j.emits[producer]) || string(j.record(producer, n)) != string(record) {
			return nil, fmt.Errorf("consumer %d: a record of %d bytes that none emitted", consumer, len(record))
		}
		key := [2]int{consumer, producer}
		got[key] = append(got[key], n)
	}
}

// TestEveryRecordArrivesOnceAndInOrder would catch any schedule of producers and consumers, on
// hosts with any memory, that loses or repeats a record, deadlocks, or leaks a buffer or a
// guarantee.
func TestEveryRecordArrivesOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := drawTopology(t)
		ctx := t.Context()
		log := logrus.New()
		log.SetOutput(io.Discard)
		hosts := make([]*Exchange, j.hosts)
		for i := range hosts {
			var err error
			hosts[i], err = New(ctx, Config{
				Job: "j", Host: ids.HostID(fmt.Sprint(i)), ListenHost: "127.0.0.1", Memory: j.memory,
				BufferTimeout: time.Millisecond, Logger: log,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer hosts[i].Close()
		}
		got, errs := j.run(ctx, hosts)
		for _, err := range errs {
			t.Error(err)
		}
		if diff := cmp.Diff(j.want(), got); diff != "" {
			t.Errorf("records by {consumer, producer} differ (-want +got):\n%s", diff)
		}
		for i, host := range hosts {
			host.Close()
			p := host.pool
			if p.reserved != 0 || p.floating != 0 || len(p.free) != p.made {
				t.Errorf("pool of host %d ends with %d reserved, %d floating, %d of %d buffers free", i, p.reserved, p.floating, len(p.free), p.made)
			}
			if n := len(host.registry.partitions) + len(host.registry.waiting) + len(host.registry.edges); n != 0 {
				t.Errorf("host %d still knows %d partitions, who waits for them or who reads them", i, n)
			}
		}
	})
}

func (j topology) run(ctx context.Context, hosts []*Exchange) (map[[2]int][]int, []error) {
	var (
		tasks sync.WaitGroup
		mu    sync.Mutex
		all   = make(map[[2]int][]int)
		errs  []error
	)
	report := func(got map[[2]int][]int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs = append(errs, err)
		}
		for key, numbers := range got {
			all[key] = append(all[key], numbers...)
		}
	}
	id := func(p int) ids.ExecutionAttemptID { return ids.ExecutionAttemptID{Subtask: p} }
	for p, host := range j.producers {
		tasks.Go(func() {
			partition, err := hosts[host].Partition(id(p), 0, len(j.consumers))
			for n, e := range j.emits[p] {
				if err == nil {
					err = partition.Emit(ctx, e.channel, j.record(p, n))
				}
			}
			if err == nil {
				err = partition.Finish(ctx)
			}
			report(nil, err)
		})
	}
	producers := func(channel int) (all []Producer) {
		for p, at := range j.producers {
			all = append(all, Producer{Partition: PartitionID{Execution: id(p)}, Channel: channel, Host: hosts[at].config.Host, Address: hosts[at].Address()})
		}
		return all
	}
	sources := make([]*Sources, len(hosts))
	for i := range sources {
		sources[i] = NewSources(hosts[i].config.Host, producers(-1))
	}
	for c, host := range j.consumers {
		tasks.Go(func() {
			var g *InputGate
			if j.shared {
				g = hosts[host].GateOf(ctx, sources[host], c)
			} else {
				g = hosts[host].Gate(ctx, producers(c))
			}
			defer g.Close()
			report(j.read(ctx, g, c))
		})
	}
	tasks.Wait()
	return all, errs
}

// TestPoolKeepsItsRule would catch broken guarantees, floating buffers beyond the capacity, and a pool whose size does
// not follow that of its host: one that keeps the memory of a slot that now belongs to another job, or one that does
// not use the memory of a second slot.
func TestPoolKeepsItsRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &pool{capacity: rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(13, 100)).Draw(t, "capacity")}
		quotas := make([]quota, rapid.IntRange(1, 6).Draw(t, "channels"))
		for i := range quotas {
			quotas[i].pool = p
		}
		grown := p.reserve(len(quotas))
		if grown != (len(quotas) > p.capacity) {
			t.Fatalf("%d channels in a pool of %d: grown = %v", len(quotas), p.capacity, grown)
		}
		held, lent, idle := make([]int, len(quotas)), 0, 0 // idle channels hold nothing
		var used []*buffer                                 // by all channels; there are sum(held) of them
		get := func(n int) {
			for range n {
				used = append(used, p.get())
			}
		}
		put := func(n int) {
			for range n {
				p.put(used[len(used)-1])
				used = used[:len(used)-1]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				i := rapid.IntRange(0, len(quotas)-1).Draw(t, "channel")
				floating := 0
				for _, n := range held {
					floating += max(n-1, 0)
				}
				bound, spare := fewPerChannel, p.capacity-len(quotas)-idle-lent-floating
				if spare > p.capacity/2 {
					bound = maxPerChannel
				}
				want := held[i] == 0 || held[i] < bound && spare > 0
				if got := quotas[i].take(); got != want {
					t.Fatalf("channel %d of %v takes: %v, want %v", i, held, got, want)
				}
				if want {
					held[i]++
					get(1)
				}
			},
			"give": func(t *rapid.T) {
				i := rapid.IntRange(0, len(quotas)-1).Draw(t, "channel")
				n := rapid.IntRange(0, held[i]).Draw(t, "buffers")
				put(n)
				quotas[i].give(n)
				held[i] -= n
			},
			"lend": func(t *rapid.T) {
				n := rapid.IntRange(-lent, 30).Draw(t, "buffers")
				before := len(quotas) + idle + lent
				lent += n
				if grown := p.lend(n); grown != (before <= p.capacity && before+n > p.capacity) {
					t.Fatalf("%d of %d buffers are guaranteed, and %d more: grown = %v", before, p.capacity, n, grown)
				}
			},
			"reserve": func(t *rapid.T) {
				n := rapid.IntRange(-idle, 30).Draw(t, "idle channels")
				idle += n
				p.reserve(n)
			},
			"resize": func(t *rapid.T) {
				buffers := rapid.OneOf(rapid.IntRange(1, 12), rapid.IntRange(13, 100)).Draw(t, "capacity")
				p.resize(buffers * bufferSize)
				if p.capacity != buffers {
					t.Fatalf("%d buffers after a change to %d", p.capacity, buffers)
				}
			},
			"": func(t *rapid.T) {
				most := max(p.capacity, len(quotas)+idle+lent, len(used)+lent)
				if p.made+lent > most || p.made != len(used)+len(p.free) {
					t.Fatalf("%d buffers are allocated, %d in use, %d free and %d lent; there is memory for %d", p.made, len(used), len(p.free), lent, p.capacity)
				}
				if n, _ := p.usage(); n != len(used)+lent {
					t.Fatalf("%d buffers count as used, want %d and %d lent", n, len(used), lent)
				}
			},
		})
		for i := range quotas {
			quotas[i].give(held[i])
			put(held[i])
		}
		p.lend(-lent)
		p.reserve(-idle)
		if p.floating != 0 {
			t.Fatalf("%d buffers float when none is held", p.floating)
		}
	})
}
