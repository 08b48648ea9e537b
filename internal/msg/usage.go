package msg

import (
	"math"
	"time"
)

// Usage is what processes together have used. Its numbers only grow.
type Usage struct {
	CPUTime               time.Duration // of all threads
	Collections           int64         // of garbage
	CollectionTime        time.Duration // of the processor, in collections
	NameNode, Read, Write CallCounts    // as in HDFSMetrics
}

// CallCounts counts calls of one kind.
type CallCounts struct{ Calls, Failures int64 }

// UsageOf is what one process has used since its start. A process says nothing of what is nil: that is as in last.
func UsageOf(p *ProcessMetrics, h *HDFSMetrics, last Usage) Usage {
	if p != nil {
		last.CPUTime, last.Collections, last.CollectionTime = p.CPUTime, p.Collections, p.CollectionTime
	}
	if h != nil {
		last.NameNode, last.Read, last.Write = h.NameNode.counts(), h.Read.counts(), h.Write.counts()
	}
	return last
}

func (m CallMetrics) counts() CallCounts { return CallCounts{m.Calls, m.Failures} }

// Grow adds what one process has used between last and now. A number that has fallen since is that of another process, which has
// taken the place of the first one, and has begun with 0.
func (u *Usage) Grow(last, now Usage) {
	before, after := last.numbers(), now.numbers()
	for i, sum := range u.numbers() {
		more := *after[i]
		if more >= *before[i] {
			more -= *before[i]
		}
		addTo(sum, more)
	}
}

func (u *Usage) numbers() [9]*int64 {
	return [...]*int64{
		(*int64)(&u.CPUTime), &u.Collections, (*int64)(&u.CollectionTime),
		&u.NameNode.Calls, &u.NameNode.Failures, &u.Read.Calls, &u.Read.Failures, &u.Write.Calls, &u.Write.Failures,
	}
}

// Add adds what another process holds. Numbers that only grow are not added: see Usage.
func (m *ProcessMetrics) Add(other ProcessMetrics) {
	addTo(&m.Resident, other.Resident)
	addTo(&m.Budget, other.Budget)
	addTo(&m.HeapUsed, other.HeapUsed)
	addTo(&m.HeapCommitted, other.HeapCommitted)
	addTo(&m.HeapMax, other.HeapMax)
	addTo(&m.Runtime, other.Runtime)
	addTo(&m.Goroutines, other.Goroutines)
	addTo(&m.Threads, other.Threads)
}

// addTo adds up to the largest number: a task host may say anything. more is not negative.
func addTo[N ~int | ~int64](sum *N, more N) { *sum += min(more, math.MaxInt-*sum) }
