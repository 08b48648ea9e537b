package msg

import (
	"math"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// WorkerMetrics is what a worker uses. It comes with the SlotReport of each heartbeat.
type WorkerMetrics struct {
	Process ProcessMetrics // of the TaskExecutor, without its hosts. The budget is the container
	Hosts   []HostMetrics  // task hosts that are processes, one for each job at most
	// Port is where the worker itself shows its metrics (metrics.reporter.prom.port); 0: nowhere.
	Port int
	// HDFS is what the TaskExecutor has measured; nil: nothing.
	HDFS *HDFSMetrics `cbor:",omitempty"`
	// Partitions are the finished blocking partitions that the worker serves; nil: none, or it is of an earlier release.
	Partitions *ServedPartitions `cbor:",omitempty"`
}

// ServedPartitions counts finished blocking partitions that consumers still read.
type ServedPartitions struct {
	_      struct{} `cbor:",toarray"`
	Number int
	Bytes  config.Bytes // of their files
}

// MaxServedBytes is more than the disks of any worker have, in bytes.
const MaxServedBytes = mostResident

// Check refuses values that no honest worker sends: sums over workers are numbers still.
func (p ServedPartitions) Check() error {
	if p.Number < 0 || p.Number > math.MaxInt32 || p.Bytes < 0 || p.Bytes > MaxServedBytes {
		return errImplausibleMetrics
	}
	return nil
}

// Add adds the partitions of another worker.
func (p *ServedPartitions) Add(other ServedPartitions) {
	p.Number += other.Number
	p.Bytes += other.Bytes
}

// HostMetrics is what a task host uses, with its children.
type HostMetrics struct {
	Job      ids.JobID
	Resident config.Bytes // memory in RAM, as YARN's NodeManager counts it
	Share    config.Bytes // of the container's memory, that of the job's slots
	// HDFS is what the host has measured; nil: nothing, or the worker has more than MostMeasuredHosts hosts.
	HDFS *HDFSMetrics `cbor:",omitempty"`
	// Process is what the host itself uses, without its children; nil: as HDFS. It has no budget of its own.
	Process *ProcessMetrics `cbor:",omitempty"`
	// Pool are the buffers between the tasks of the host; nil: as HDFS.
	Pool *BufferPool `cbor:",omitempty"`
	// Managed is the memory of the operators in the host; nil: as HDFS.
	Managed *ManagedMemory `cbor:",omitempty"`
}

const (
	mostPort = 1<<16 - 1 // the highest port of TCP
	// mostResident is more memory than any process has, in bytes. The sums of all processes of a container are numbers still.
	mostResident = 1 << 48
)

// Check refuses values that no honest worker with so many slots sends.
func (m WorkerMetrics) Check(slots int) error {
	if len(m.Hosts) > slots || m.Port < 0 || m.Port > mostPort || m.Process.Resident > mostResident {
		return errImplausibleMetrics
	}
	if m.HDFS != nil {
		if err := m.HDFS.Check(); err != nil {
			return err
		}
	}
	if m.Partitions != nil {
		if err := m.Partitions.Check(); err != nil {
			return err
		}
	}
	seen := make(map[ids.JobID]bool, len(m.Hosts))
	measured := 0
	for _, h := range m.Hosts {
		if h.HDFS != nil || h.Process != nil || h.Pool != nil || h.Managed != nil {
			if measured++; measured > MostMeasuredHosts {
				return errImplausibleMetrics
			}
		}
		if h.HDFS != nil {
			if err := h.HDFS.Check(); err != nil {
				return err
			}
		}
		if h.Process != nil {
			if err := h.Process.Check(); err != nil {
				return err
			}
		}
		if h.Pool != nil {
			if err := h.Pool.Check(); err != nil {
				return err
			}
		}
		if h.Managed != nil {
			if err := h.Managed.Check(); err != nil {
				return err
			}
		}
		if h.Resident < 0 || h.Resident > mostResident || h.Share < 0 || h.Share > mostResident || seen[h.Job] {
			return errImplausibleMetrics
		}
		seen[h.Job] = true
	}
	return m.Process.Check()
}
