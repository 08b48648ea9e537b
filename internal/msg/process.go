package msg

import (
	"errors"
	"math"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// ProcessMetrics is what a process of Bobbin uses. 0 means that the system does not tell.
type ProcessMetrics struct {
	_ struct{} `cbor:",toarray"`

	Resident config.Bytes // memory in RAM, as YARN's NodeManager counts it
	Budget   config.Bytes // of the container; 0: not known

	HeapUsed      config.Bytes // live objects, and dead ones that are not collected yet
	HeapCommitted config.Bytes // that the heap has of the system
	HeapMax       config.Bytes // at which Go collects more often; 0: no limit
	Runtime       config.Bytes // all memory that Go has of the system, with the heap

	CPUTime    time.Duration // of all threads since the start
	CPULoad    float64       // of the machine's cores in the last seconds, 0 to 1
	Goroutines int
	Threads    int // of the operating system

	Collections    int64         // garbage collections since the start
	CollectionTime time.Duration // of the processor, in collections, since the start
}

// errImplausibleMetrics says that a process cannot have such metrics.
var errImplausibleMetrics = errors.New("the metrics cannot be true")

// Check refuses values that no honest process sends.
func (m ProcessMetrics) Check() error {
	for _, v := range [...]int64{
		int64(m.Resident), int64(m.Budget), int64(m.HeapUsed), int64(m.HeapCommitted), int64(m.HeapMax), int64(m.Runtime),
		int64(m.CPUTime), int64(m.Goroutines), int64(m.Threads), m.Collections, int64(m.CollectionTime),
	} {
		if v < 0 {
			return errImplausibleMetrics
		}
	}
	if math.IsNaN(m.CPULoad) || m.CPULoad < 0 || m.CPULoad > 1 {
		return errImplausibleMetrics
	}
	return nil
}
