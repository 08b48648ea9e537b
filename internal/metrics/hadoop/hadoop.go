// Package hadoop counts the calls of a process to Hadoop's servers: RPCs by protocol, and blocks of HDFS.
//
// Counts may be used from any goroutine, have a fixed size for each protocol, and start no goroutine. The package must never
// import a role.
package hadoop

import (
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Counts are the metrics of a process's calls. Make them with New.
type Counts struct {
	registry *metrics.Registry
	scope    metrics.Scope

	mu          sync.Mutex // guards what follows; the calls guard themselves
	protocols   map[string]*calls
	read, write *calls
}

// New makes counts that a registry shows in a scope. It may be nil, for a process whose counts another one shows: see HDFS.
func New(registry *metrics.Registry, scope metrics.Scope) *Counts {
	c := &Counts{registry: registry, scope: scope, protocols: make(map[string]*calls)}
	c.read, c.write = c.newCalls(readGroup), c.newCalls(writeGroup)
	return c
}

// Observe counts a try of a call, as yarnrpc.Options.Observe.
func (c *Counts) Observe(try yarnrpc.Try) { c.of(try.Protocol).add(try.Took, try.Err) }

// ObserveData counts a transfer of a block, as hdfs.DialerOptions.Observe. The failures of writes are those of files: if the
// DataNodes refuse a block, the failure of its file follows.
func (c *Counts) ObserveData(t hdfs.Transfer) {
	of := c.read
	if t.Write {
		of = c.write
	}
	switch {
	case t.Later:
		of.failures.Inc()
	case t.Write && t.Err != nil:
		of.calls.Inc()
	default:
		of.add(t.Took, t.Err)
	}
}

// HDFS is what was counted of HDFS.
func (c *Counts) HDFS() *msg.HDFSMetrics {
	return &msg.HDFSMetrics{NameNode: c.of(yarnrpc.HDFSClientProtocol).read(), Read: c.read.read(), Write: c.write.read()}
}

// of returns the counts of a protocol, of which a process speaks a few.
func (c *Counts) of(protocol string) *calls {
	c.mu.Lock()
	defer c.mu.Unlock()
	of, known := c.protocols[protocol]
	if !known {
		of = c.newCalls(groupOf(protocol))
		c.protocols[protocol] = of
	}
	return of
}

// calls are the counts of calls of one kind.
type calls struct {
	latency         *metrics.Histogram // ms
	calls, failures *metrics.Counter

	mu   sync.Mutex       // guards last
	last *metrics.Summary // of latency, or nil: a summary sorts the values, and is only made if there are others
}

func (c *Counts) newCalls(g group) *calls {
	return &calls{
		latency:  c.registry.Histogram(c.scope, g.metric+".latency", g.label),
		calls:    c.registry.Counter(c.scope, g.metric+".calls", g.label),
		failures: c.registry.Counter(c.scope, g.metric+".failures", g.label),
	}
}

// add counts a call. The latency is that of calls that succeed, so that an outage does not look like a slow server.
func (c *calls) add(took time.Duration, err error) {
	c.calls.Inc()
	if err != nil {
		c.failures.Inc()
		return
	}
	c.latency.Update(float64(took) / float64(time.Millisecond))
}

func (c *calls) read() msg.CallMetrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	if count := c.latency.Count(); count > 0 && (c.last == nil || c.last.Count != count) {
		summary := c.latency.Summary()
		c.last = &summary
	}
	return msg.CallMetrics{Calls: c.calls.Count(), Failures: c.failures.Count(), Latency: c.last}
}

// group is the name of the metrics of calls of one kind, and the label that tells them apart.
type group struct {
	metric string
	label  metrics.Label
}

var (
	readGroup  = group{"Hdfs", metrics.Label{Name: "operation", Value: "read"}}  //nolint:gochecknoglobals // a constant
	writeGroup = group{"Hdfs", metrics.Label{Name: "operation", Value: "write"}} //nolint:gochecknoglobals // a constant
)

// groupOf is the group of a protocol, which the last part of its class names.
func groupOf(protocol string) group {
	name := protocol[strings.LastIndexByte(protocol, '.')+1:]
	return group{"Rpc", metrics.Label{Name: "protocol", Value: strings.TrimSuffix(name, "PB")}}
}

// Samples are the samples of what a process has sent of HDFS, in its scope. m may be nil.
func Samples(scope metrics.Scope, m *msg.HDFSMetrics) []metrics.Sample {
	if m == nil {
		m = &msg.HDFSMetrics{}
	}
	var samples []metrics.Sample
	add := func(g group, c msg.CallMetrics) {
		latency := c.Latency
		if latency == nil {
			latency = &metrics.Summary{}
		}
		samples = append(samples,
			metrics.Sample{Scope: scope, Name: g.metric + ".latency", Kind: metrics.KindHistogram, Group: g.label, Summary: latency},
			metrics.Sample{Scope: scope, Name: g.metric + ".calls", Kind: metrics.KindCounter, Group: g.label, Value: float64(c.Calls)},
			metrics.Sample{Scope: scope, Name: g.metric + ".failures", Kind: metrics.KindCounter, Group: g.label, Value: float64(c.Failures)})
	}
	add(groupOf(yarnrpc.HDFSClientProtocol), m.NameNode)
	add(readGroup, m.Read)
	add(writeGroup, m.Write)
	return samples
}
