package msg

import (
	"math"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// HDFSMetrics is what a process has measured of HDFS.
type HDFSMetrics struct {
	_           struct{}    `cbor:",toarray"`
	NameNode    CallMetrics // calls
	Read, Write CallMetrics // blocks from and to DataNodes
}

// CallMetrics is what a process has measured of the calls of one kind.
type CallMetrics struct {
	_               struct{} `cbor:",toarray"`
	Calls, Failures int64
	Latency         *metrics.Summary // of calls that succeeded, in ms; nobody changes it. nil: there are none
}

// MostMeasuredHosts bounds the task hosts of a worker of which SlotReport has HDFSMetrics, ProcessMetrics and a BufferPool:
// MaxWorkerMessage has room for no more.
const MostMeasuredHosts = 512

// Check refuses values that no honest process sends. A task host runs users' code.
func (m *HDFSMetrics) Check() error {
	for _, one := range [...]CallMetrics{m.NameNode, m.Read, m.Write} {
		if one.Calls < 0 || one.Failures < 0 {
			return errImplausibleMetrics
		}
		if one.Latency == nil {
			continue
		}
		l := one.Latency
		for _, v := range [...]float64{l.Sum, l.Min, l.Max, l.Mean, l.StdDev, l.P50, l.P75, l.P90, l.P95, l.P98, l.P99, l.P999} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				return errImplausibleMetrics
			}
		}
		if l.Count < 0 {
			return errImplausibleMetrics
		}
	}
	return nil
}
