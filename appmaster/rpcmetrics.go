package appmaster

import (
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// rpcCounts are the metrics of the calls to Hadoop's servers, by protocol. They may be used from any goroutine.
type rpcCounts struct {
	registry *metrics.Registry
	scope    metrics.Scope

	mu        sync.Mutex // guards protocols
	protocols map[string]protocolCounts
}

type protocolCounts struct {
	latency         *metrics.Histogram // ms
	calls, failures *metrics.Counter
}

func newRPCCounts(registry *metrics.Registry, scope metrics.Scope) *rpcCounts {
	return &rpcCounts{registry: registry, scope: scope, protocols: map[string]protocolCounts{}}
}

// observe counts a try of a call. The latency is that of tries that were answered, so that an outage does not
// look like a slow server.
func (r *rpcCounts) observe(try yarnrpc.Try) {
	p := r.of(try.Protocol)
	p.calls.Inc()
	if try.Err != nil {
		p.failures.Inc()
		return
	}
	p.latency.Update(float64(try.Took) / float64(time.Millisecond))
}

// of returns the counts of a protocol, of which this process speaks a few.
func (r *rpcCounts) of(protocol string) protocolCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, known := r.protocols[protocol]
	if !known {
		name := protocol[strings.LastIndexByte(protocol, '.')+1:]
		group := metrics.Label{Name: "protocol", Value: strings.TrimSuffix(name, "PB")}
		p = protocolCounts{
			latency:  r.registry.Histogram(r.scope, "Rpc.latency", group),
			calls:    r.registry.Counter(r.scope, "Rpc.calls", group),
			failures: r.registry.Counter(r.scope, "Rpc.failures", group),
		}
		r.protocols[protocol] = p
	}
	return p
}
