// Package status reads what this process uses, and makes samples of it: Flink's Status scope, for Go
// instead of a JVM.
//
// It reads Go's runtime and /proc, and starts no goroutine.
package status

import (
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/procmem"
)

// loadSpan is the least time over which the load of the processor is measured. Readers that come more
// often get the last value.
const loadSpan = 5 * time.Second

// Reader reads the metrics of this process. New makes one. It may be used from any goroutine.
type Reader struct {
	budget config.Bytes

	mu   sync.Mutex // guards the rest
	at   time.Time  // when the load was measured last
	used time.Duration
	load float64
}

// New makes a Reader of a process that may have so much memory; 0: not known.
func New(budget config.Bytes) *Reader { return &Reader{budget: budget} }

// Read reads the metrics.
func (r *Reader) Read(now time.Time) msg.ProcessMetrics {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/sched/goroutines:goroutines"},
		{Name: "/sched/threads/total:threads"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
	}
	metrics.Read(samples)
	whole := func(i int) int64 { return wholeOf(samples[i].Value) }
	m := msg.ProcessMetrics{
		Resident:       procmem.OfProcess(os.Getpid()),
		Budget:         r.budget,
		HeapUsed:       config.Bytes(whole(0)),
		HeapCommitted:  config.Bytes(whole(0) + whole(1) + whole(2)),
		Runtime:        config.Bytes(whole(3) - whole(4)),
		Goroutines:     int(whole(6)),
		Threads:        int(whole(7)),
		Collections:    whole(8),
		CollectionTime: secondsOf(samples[9].Value),
		CPUTime:        cpuTime(),
	}
	if limit := whole(5); limit != math.MaxInt64 {
		m.HeapMax = config.Bytes(limit)
	}
	m.CPULoad = r.loadAt(now, m.CPUTime)
	return m
}

// loadAt returns the share of the machine's cores that the process has used.
func (r *Reader) loadAt(now time.Time, used time.Duration) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	span := now.Sub(r.at)
	switch {
	case r.at.IsZero():
		r.at, r.used = now, used
	case span >= loadSpan:
		r.load = min(max(float64(used-r.used)/float64(span)/float64(runtime.NumCPU()), 0), 1)
		r.at, r.used = now, used
	}
	return r.load
}

// wholeOf returns a whole number; 0 if this Go does not know the metric.
func wholeOf(v metrics.Value) int64 {
	if v.Kind() != metrics.KindUint64 {
		return 0
	}
	return int64(min(v.Uint64(), math.MaxInt64))
}

func secondsOf(v metrics.Value) time.Duration {
	if v.Kind() != metrics.KindFloat64 {
		return 0
	}
	return time.Duration(v.Float64() * float64(time.Second))
}
