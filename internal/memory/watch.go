package memory

import (
	"cmp"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Usage is the memory that a host's process tree uses, and its share.
type Usage[ID cmp.Ordered] struct {
	ID       ID
	Resident config.Bytes // of its whole process tree
	Share    config.Bytes // Slot.Share
}

// criticalFraction is the part of the container's memory at which a host is ended. The NodeManager
// checks every 3 s and ends the container at 100 %.
const criticalFraction = 0.97

// Victim returns the host to end if the container is about to exceed its memory: the host that is
// furthest above its share. rest is the memory of all other processes in the container. It returns
// false if the container is within its limit, or no host is above its share.
func Victim[ID cmp.Ordered](container, rest config.Bytes, hosts []Usage[ID]) (Usage[ID], bool) {
	total := rest
	for _, h := range hosts {
		total += h.Resident
	}
	if len(hosts) == 0 || float64(total) < float64(container)*criticalFraction {
		return Usage[ID]{}, false
	}
	worst := slices.MaxFunc(hosts, func(a, b Usage[ID]) int {
		return cmp.Or(cmp.Compare(a.Resident-a.Share, b.Resident-b.Share), cmp.Compare(b.ID, a.ID))
	})
	return worst, worst.Resident > worst.Share
}
