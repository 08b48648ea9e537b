package msg

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TaskMetrics is what a host measures of each task. Its size does not depend on the job, because a JobMaster holds it for each
// task.
type TaskMetrics struct {
	_ struct{} `cbor:",toarray"`
	Traffic
	Activity
	Queues
}

// Changed reports whether a host must tell these metrics, when it told the others last. The times alone do not count: they go on
// by themselves, see After.
func (m TaskMetrics) Changed(told TaskMetrics) bool {
	return m.Traffic != told.Traffic || m.Now != told.Now || m.Queues != told.Queues
}

// After is the metrics some time later, if nothing has changed.
func (m TaskMetrics) After(d time.Duration) TaskMetrics {
	switch m.Now {
	case TaskIdle:
		m.Idle += d
	case TaskBackPressured:
		m.BackPressured += d
	case TaskBusy: // it is the rest of the time
	}
	return m
}

// Traffic counts the records, bytes and buffers that a task has read and written: from and to
// other tasks, and the bytes of files.
type Traffic struct {
	_                         struct{} `cbor:",toarray"`
	ReadRecords, WriteRecords int64
	ReadBytes, WriteBytes     int64
	ReadBuffers, WriteBuffers int64
}

// Add adds the traffic of another task.
func (t *Traffic) Add(other Traffic) {
	t.ReadRecords += other.ReadRecords
	t.WriteRecords += other.WriteRecords
	t.ReadBytes += other.ReadBytes
	t.WriteBytes += other.WriteBytes
	t.ReadBuffers += other.ReadBuffers
	t.WriteBuffers += other.WriteBuffers
}

// Activity says for how long a task has waited since its start, and what it does now. The rest of the time it was busy.
type Activity struct {
	_                   struct{} `cbor:",toarray"`
	Idle, BackPressured time.Duration
	Now                 TaskActivity
}

// TaskActivity is what a task does.
type TaskActivity uint8

// The activities of a task.
const (
	TaskBusy          TaskActivity = iota // its code runs
	TaskIdle                              // it waits for input
	TaskBackPressured                     // it waits for its consumers to take its output
)

// WholeUsage is the usage of a task that holds all buffers that it may hold.
const WholeUsage = 1000

// Queues are the full buffers that wait for a task, and those that wait for its consumers. The usages say which part of the buffers
// that the task may hold now for its inputs and for its outputs has data: 0 to WholeUsage.
type Queues struct {
	_                 struct{} `cbor:",toarray"`
	In, Out           int
	InUsage, OutUsage int
}

// BufferBytes is the memory of a buffer of the data plane.
const BufferBytes = 32 << 10

// BufferPool is how many buffers of the data plane a host uses, and for how many it has memory. More are in use than there is
// memory for while channels need them to go on.
type BufferPool struct {
	_           struct{} `cbor:",toarray"`
	Used, Total int
}

// Available is how many more buffers the host may use.
func (p BufferPool) Available() int { return max(p.Total-p.Used, 0) }

// Check refuses values that no honest host sends. It runs users' code, and sums of what hosts say must be numbers.
func (p BufferPool) Check() error {
	if p.Used < 0 || p.Used > mostBuffers || p.Total < 0 || p.Total > mostBuffers {
		return errImplausibleMetrics
	}
	return nil
}

// mostBuffers is more than any host has.
const mostBuffers = mostResident / BufferBytes

// ManagedMemory is what the operators in a host hold of the memory that they share, and all that they share, in bytes. They hold more
// if it is too little for each one's least, or if it has become less.
type ManagedMemory struct {
	_           struct{} `cbor:",toarray"`
	Used, Total config.Bytes
}

// Check refuses values that no honest host sends, as that of BufferPool does.
func (m ManagedMemory) Check() error {
	if m.Used < 0 || m.Used > mostResident || m.Total < 0 || m.Total > mostResident {
		return errImplausibleMetrics
	}
	return nil
}

// TaskSample is what a task does now.
type TaskSample struct {
	Now TaskMetrics
	// The rates are measured between Before and Until, over this time; 0: there are none.
	Before, Until TaskMetrics
	Over          time.Duration
}

// Rate is the growth of a count in a second.
func (s TaskSample) Rate(count func(TaskMetrics) int64) float64 {
	if s.Over <= 0 {
		return 0
	}
	return float64(count(s.Until)-count(s.Before)) / s.Over.Seconds()
}

// Shares are the shares of the time in which the task does what; false: it has ended, or was not measured yet.
func (s TaskSample) Shares() (shares TaskShares, is bool) {
	if s.Over <= 0 {
		return TaskShares{}, false
	}
	shares.Idle = s.Rate(func(m TaskMetrics) int64 { return int64(m.Idle) }) / float64(time.Second)
	shares.BackPressured = s.Rate(func(m TaskMetrics) int64 { return int64(m.BackPressured) }) / float64(time.Second)
	shares.Busy = max(1-shares.Idle-shares.BackPressured, 0)
	return shares, true
}

// TaskShares are shares of the time, from 0 to 1, in which a task does what.
type TaskShares struct{ Busy, Idle, BackPressured float64 }

// TaskTimes is for how long the tasks of a vertex have done what, all together.
type TaskTimes struct{ Busy, Idle, BackPressured time.Duration }

// Add adds the times of other tasks.
func (t *TaskTimes) Add(other TaskTimes) {
	t.Busy += other.Busy
	t.Idle += other.Idle
	t.BackPressured += other.BackPressured
}
