package books

import (
	"maps"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Settings are the part of YARN's configuration that the model knows.
type Settings struct {
	// Minimum and Maximum bound a container; memory and cores are rounded up to a multiple of
	// Minimum (yarn.scheduler.minimum- and maximum-allocation-mb and -vcores). Maximum has the
	// cluster's resource types. Both must be set.
	Minimum, Maximum records.Resource
	// MaxAttempts bounds the starts of an ApplicationMaster
	// (yarn.resourcemanager.am.max-attempts). It must be 1 or more.
	MaxAttempts int
	// ClientTokens issues tokens for clients of the ApplicationMaster (ClientToAM), as secure
	// clusters do.
	ClientTokens bool
	// MasterExpiry is how long an attempt may be silent, and how long it may take from its launch
	// to its registration (yarn.am.liveness-monitor.expiry-interval-ms). Then it fails. An attempt
	// that has unregistered, but does not exit, is killed after the same time. 0: for ever.
	MasterExpiry time.Duration
	// NodeExpiry is how long a node may be silent
	// (yarn.nm.liveness-monitor.expiry-interval-ms). Then it is lost with its containers. 0: for
	// ever.
	NodeExpiry time.Duration
	// StoreDelay is how long the ResourceManager takes to record that an application has
	// finished. 0: the record is there before the answer.
	StoreDelay time.Duration
}

// asked returns an amount without the resource types that the cluster does not have. YARN ignores
// them, too.
func (s Settings) asked(r records.Resource) records.Resource {
	amounts, there := r.Others.Map(), s.Maximum.Others.Map()
	maps.DeleteFunc(amounts, func(name string, _ records.ResourceAmount) bool { return there[name].Value == 0 })
	r.Others = records.NewResourceValues(amounts)
	return r
}

// normal rounds memory and cores up to a multiple of the minimum, up to the maximum.
func (b *ResourceManager) normal(r records.Resource) records.Resource {
	up := func(x, step, most int64) int64 { return min(max(step, (x+step-1)/step*step), most) }
	least := b.settings.Minimum
	return records.Resource{
		MemoryMB: up(r.MemoryMB, least.MemoryMB, b.maximum.MemoryMB),
		VCores:   int(up(int64(r.VCores), int64(least.VCores), int64(b.maximum.VCores))),
		Others:   r.Others,
	}
}
