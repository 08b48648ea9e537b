package records

import "fmt"

// Priority is the priority of an ask, an application or a reservation. YARN serves the
// ask with the lower number first, but the application with the higher.
type Priority int32

// Resource is an amount of memory, cores and other resource types. Two are equal by ==
// if all parts are equal.
type Resource struct {
	MemoryMB int64 // MiB
	VCores   int
	// Others are amounts of the resource types that administrators have added, such as
	// GPUs; see ResourceType.
	Others ResourceValues
}

// String returns Hadoop's form, <memory:1024, vCores:1, yarn.io/gpu: 2>.
func (r Resource) String() string {
	if r.Others.IsZero() {
		return fmt.Sprintf("<memory:%d, vCores:%d>", r.MemoryMB, r.VCores)
	}
	return fmt.Sprintf("<memory:%d, vCores:%d, %s>", r.MemoryMB, r.VCores, r.Others)
}

// With returns r with another amount of a resource type beyond memory and cores. Use
// the type's own units; YARN converts others.
func (r Resource) With(name string, amount ResourceAmount) Resource {
	r.Others = r.Others.with(name, amount)
	return r
}

// Fits reports whether r is at most whole in every type. Use it to compare an ask to a
// granted container, because YARN rounds asks up.
func (r Resource) Fits(whole Resource) bool {
	return r.MemoryMB <= whole.MemoryMB && r.VCores <= whole.VCores && r.Others.fits(whole.Others)
}

// Add returns the sum for each type, in the units of r.
func (r Resource) Add(other Resource) Resource {
	return Resource{MemoryMB: r.MemoryMB + other.MemoryMB, VCores: r.VCores + other.VCores, Others: r.Others.add(other.Others)}
}

// Sub returns the difference for each type, in the units of r. A part may be negative.
func (r Resource) Sub(other Resource) Resource { return r.Add(other.Times(-1)) }

// Times returns n times r.
func (r Resource) Times(n int) Resource {
	return Resource{MemoryMB: r.MemoryMB * int64(n), VCores: r.VCores * n, Others: r.Others.times(int64(n))}
}
