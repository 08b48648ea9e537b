package metrics

import (
	"sync"
	"sync/atomic"
	"time"
)

// The rate of a meter covers RateSpan, and changes each RateInterval; as Flink's MeterView.
const (
	RateSpan     = 60 * time.Second
	RateInterval = 5 * time.Second
)

const rateSteps = int64(RateSpan / RateInterval)

// Rate is the rate of a growing count. It is plain data for one owner, for example a core; Meter is
// for several goroutines. Its zero value has seen nothing.
//
// Time is divided into steps of RateInterval that begin with the first Update. A count that changes
// within a step shows in the rate when the step is over. In the first minute the rate is the count
// divided by a whole minute, as Flink's.
type Rate struct {
	Start  time.Time            // of step 0
	Step   int64                // the present one
	Count  int64                // the last one
	Bounds [rateSteps + 1]int64 // the counts at the begin of the last steps; that of step i is at i modulo the length
}

// Update says what the count is now. A time before an earlier one's counts as that one.
func (r *Rate) Update(now time.Time, count int64) {
	if r.Start.IsZero() {
		r.Start = now
	}
	r.advance(now)
	r.Count = count
}

// PerSecond returns the events per second in the last RateSpan.
func (r *Rate) PerSecond(now time.Time) float64 {
	if r.Start.IsZero() {
		return 0
	}
	r.advance(now)
	n := int64(len(r.Bounds))
	newest, oldest := r.Bounds[r.Step%n], r.Bounds[(r.Step+1)%n]
	return float64(newest-oldest) / RateSpan.Seconds()
}

// advance ends the steps before now. Their count is the present one, as it has not changed since.
func (r *Rate) advance(now time.Time) {
	step := int64(now.Sub(r.Start) / RateInterval)
	n := int64(len(r.Bounds))
	for i := max(r.Step+1, step-n+1); i <= step; i++ {
		r.Bounds[i%n] = r.Count
	}
	r.Step = max(r.Step, step)
}

// Meter counts events and knows their rate. NewMeter makes one.
type Meter struct {
	start time.Time
	count atomic.Int64
	step  atomic.Int64 // rate's, so that most calls of Mark need no lock

	mu   sync.Mutex
	rate Rate // guarded by mu
}

// NewMeter makes a meter that has counted nothing yet.
func NewMeter(now time.Time) *Meter { return &Meter{start: now, rate: Rate{Start: now}} }

// Mark counts n events.
func (m *Meter) Mark(now time.Time, n int64) {
	if int64(now.Sub(m.start)/RateInterval) > m.step.Load() {
		m.perSecond(now)
	}
	m.count.Add(n)
}

// Count returns all events so far.
func (m *Meter) Count() int64 { return m.count.Load() }

// PerSecond returns the events per second in the last RateSpan.
func (m *Meter) PerSecond(now time.Time) float64 { return m.perSecond(now) }

func (m *Meter) perSecond(now time.Time) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	// The count until now belongs to the steps that are over.
	m.rate.Count = m.count.Load()
	perSecond := m.rate.PerSecond(now)
	m.step.Store(m.rate.Step)
	return perSecond
}
