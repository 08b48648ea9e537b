package randomjobs_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/connector"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest/clustertest"
	"github.com/bobbin-yarn/bobbin/internal/testing/heaptest"
	"github.com/bobbin-yarn/bobbin/internal/testing/longtest"
)

// peak is the most memory in use while a job runs.
type peak struct {
	bytes int64 // of the measuring goroutine, until it has ended
	// pause stops the functions of the job while the memory is measured: what they make and drop meanwhile would count.
	pause sync.RWMutex
}

var peaks sync.Map // by the name of the test

// measurementInterval is the time between two measurements. An input takes some hundred milliseconds at least.
const measurementInterval = 5 * time.Millisecond

// during measures while f runs. The functions of a job cannot do that instead: a sort calls none while its memory becomes full.
func (p *peak) during(f func()) {
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(measurementInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				p.measure()
			}
		}
	})
	defer watching.Wait()
	defer close(ended)
	f()
}

// measure measures twice, and the smaller figure counts. An operator that drops its tables while one collection runs, and makes readers of
// its files then, would seem to hold both.
func (p *peak) measure() {
	p.pause.Lock()
	defer p.pause.Unlock()
	p.bytes = max(p.bytes, min(heaptest.InUse(), heaptest.InUse()))
}

// step is called for each element by the functions of the job.
func (p *peak) step() {
	p.pause.RLock()
	defer p.pause.RUnlock()
}

// made is a source of records that are made up, so that the input takes no memory.
type made struct{ Records int64 }

const madeSplits = 8

// Enumerate implements connector.Source.
func (s made) Enumerate(context.Context, connector.Planning) (all []connector.Split, err error) {
	for i := range uint64(madeSplits) {
		all = append(all, connector.Split{Data: binary.BigEndian.AppendUint64(nil, i+1)})
	}
	return all, nil
}

// NewReader implements connector.Source.
func (s made) NewReader(context.Context, connector.Environment) (connector.Reader[[]byte], error) {
	return &maker{each: s.Records / madeSplits, record: make([]byte, 100)}, nil
}

// maker implements connector.Reader.
type maker struct {
	each   int64 // records of a split
	done   int64
	state  uint64 // of a linear congruential generator
	record []byte
}

// Open implements connector.Reader. No test reads a part of a split.
func (m *maker) Open(_ context.Context, split connector.Split, _ []byte) error {
	m.state, m.done = binary.BigEndian.Uint64(split.Data), 0
	return nil
}

// Poll implements connector.Reader.
func (m *maker) Poll() ([]byte, bool, error) {
	if m.done == m.each {
		return nil, false, io.EOF
	}
	m.done++
	for at := 0; at+8 <= len(m.record); at += 8 {
		m.state = m.state*6364136223846793005 + 1442695040888963407
		binary.BigEndian.PutUint64(m.record[at:], m.state)
	}
	return m.record, true, nil
}

// Position implements connector.Reader.
func (m *maker) Position(dst []byte) []byte { return dst }

// At implements connector.Reader.
func (m *maker) At() string { return "" }

// Close implements connector.Reader.
func (m *maker) Close() error { return nil }

type largeArgs struct {
	Test, Operator string
	Records        int64
}

// large sends records through one operator and counts what comes out.
var large = dataflow.Job("large", func(p *dataflow.Plan, a largeArgs) error {
	found, _ := peaks.Load(a.Test)
	step := found.(*peak).step
	read := func() dataflow.Stream[[]byte] {
		return dataflow.Filter(dataflow.Read(p, made{a.Records}), func([]byte) bool { step(); return true })
	}
	byKey := func(s dataflow.Stream[[]byte]) dataflow.Keyed[uint64, []byte] {
		return dataflow.KeyBy(s, func(v []byte) uint64 { return binary.BigEndian.Uint64(v) })
	}
	one := func([]byte) int64 { step(); return 1 }
	var out dataflow.Stream[int64]
	switch a.Operator {
	case "sort":
		out = dataflow.Map(dataflow.Sort(read(), func(v []byte) uint64 { return binary.BigEndian.Uint64(v) }), one)
	case "count":
		out = dataflow.Map(dataflow.Count(byKey(read())), func(c dataflow.KV[uint64, int64]) int64 { step(); return c.Value })
	case "group":
		few := dataflow.KeyBy(read(), func(v []byte) byte { return v[0] & 3 }) // of which each exceeds memory
		out = dataflow.GroupByKey(few, func(_ context.Context, _ byte, all iter.Seq[[]byte], emit func(int64)) error {
			n := int64(0)
			for v := range all {
				n += one(v)
			}
			emit(n)
			return nil
		})
	default: // a hint of a join
		var hint dataflow.JoinHint
		if _, err := fmt.Sscan(a.Operator, &hint); err != nil {
			return err
		}
		out = dataflow.Join(byKey(read()), byKey(read()), func(l, _ []byte, emit func(int64)) { emit(one(l)) }, dataflow.Hint(hint))
	}
	all := dataflow.KeyBy(out, func(int64) bool { return true })
	dataflow.Collect(dataflow.Map(dataflow.Sum(all, dataflow.Identity[int64]), func(n dataflow.KV[bool, int64]) string { return fmt.Sprint(n.Value) }), tallies)
	return nil
})

// TestMemoryIsConstant would catch an operator or an exchange that holds something for each record, or for each buffer that it has
// written: four times the input, and a hundred times in a long run, must need no more memory. The small input exceeds the operators'
// memory, too. This memory is most of what is in use: the limit of a tenth more is less than the memory of one operator.
func TestMemoryIsConstant(t *testing.T) { //nolint:paralleltest // measures the whole process
	if testing.Short() {
		t.Skip("sorts, groups and joins 160 MB")
	}
	const small = 400_000
	config := leastMemory()
	config["taskmanager.memory.managed.size"] = "8m"
	times := int64(4)
	if longtest.Is() {
		times = 100
	}
	for _, operator := range []string{"sort", "count", "group", fmt.Sprint(int(dataflow.HashRight)), fmt.Sprint(int(dataflow.SortMerge))} {
		t.Run(operator, func(t *testing.T) {
			used := func(records int64) int64 {
				p := new(peak)
				peaks.Store(t.Name(), p)
				var result *dataflow.Result
				p.during(func() {
					result = clustertest.Run(t, large, largeArgs{t.Name(), operator, records}, clustertest.Options{Parallelism: 2, Config: config})
				})
				got, err := dataflow.Collected(result, tallies)
				if err != nil || len(got) != 1 || got[0] != fmt.Sprint(records) {
					t.Errorf("%q, %v: want %d", got, err, records)
				}
				if result.Counters["spilledBytes"] == 0 {
					t.Errorf("%d records do not exceed the memory of the operators", records)
				}
				return p.bytes
			}
			used(small) // what is made once
			one, all := used(small), used(times*small)
			t.Logf("%.1f MB in use, %.1f MB with %d times the input", float64(one)/1e6, float64(all)/1e6, times)
			if all > one+one/10 {
				t.Errorf("%d bytes were in use, and %d with %d times the input", one, all, times)
			}
		})
	}
}
