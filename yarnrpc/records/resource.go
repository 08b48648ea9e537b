package records

import "fmt"

// Priority orders things: of asks, the lower number goes first; of applications,
// the higher.
type Priority int32

// Resource is an amount of what containers are made of. Two are equal, by ==, where
// all their parts are.
type Resource struct {
	MemoryMB int64 // MiB
	VCores   int
	// Others are of the resource types that a cluster's administrators have added,
	// such as GPUs; see ResourceType.
	Others ResourceValues
}

// String gives Hadoop's form, <memory:1024, vCores:1, yarn.io/gpu: 2>.
func (r Resource) String() string {
	if r.Others.IsZero() {
		return fmt.Sprintf("<memory:%d, vCores:%d>", r.MemoryMB, r.VCores)
	}
	return fmt.Sprintf("<memory:%d, vCores:%d, %s>", r.MemoryMB, r.VCores, r.Others)
}

// With gives r with another amount of a resource type beyond memory and cores. Units
// are best the type's own; YARN converts others.
func (r Resource) With(name string, amount ResourceAmount) Resource {
	r.Others = r.Others.with(name, amount)
	return r
}

// Fits reports whether r is not more than whole in any type. A granted container is
// compared with its ask this way: YARN rounds asks up.
func (r Resource) Fits(whole Resource) bool {
	return r.MemoryMB <= whole.MemoryMB && r.VCores <= whole.VCores && r.Others.fits(whole.Others)
}

// Add is the sum, type by type, in the units of r.
func (r Resource) Add(other Resource) Resource {
	return Resource{MemoryMB: r.MemoryMB + other.MemoryMB, VCores: r.VCores + other.VCores, Others: r.Others.add(other.Others)}
}

// Sub is the difference, type by type, in the units of r; a part may come out negative.
func (r Resource) Sub(other Resource) Resource { return r.Add(other.Times(-1)) }

// Times is n times r.
func (r Resource) Times(n int) Resource {
	return Resource{MemoryMB: r.MemoryMB * int64(n), VCores: r.VCores * n, Others: r.Others.times(int64(n))}
}
