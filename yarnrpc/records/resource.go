package records

import "fmt"

// Priority orders things: of asks, the lower number goes first; of applications,
// the higher.
type Priority int32

// Resource is an amount of the two resource types that every cluster has. Further
// types (GPUs) are not carried.
type Resource struct {
	MemoryMB int64 // MiB
	VCores   int
}

// String gives Hadoop's form, <memory:1024, vCores:1>.
func (r Resource) String() string {
	return fmt.Sprintf("<memory:%d, vCores:%d>", r.MemoryMB, r.VCores)
}

// Fits reports whether r is not more than whole in either type. A granted
// container is compared with its ask this way: YARN rounds asks up.
func (r Resource) Fits(whole Resource) bool {
	return r.MemoryMB <= whole.MemoryMB && r.VCores <= whole.VCores
}

// Add is the sum, type by type.
func (r Resource) Add(other Resource) Resource {
	return Resource{MemoryMB: r.MemoryMB + other.MemoryMB, VCores: r.VCores + other.VCores}
}

// Sub is the difference, type by type; a part may come out negative.
func (r Resource) Sub(other Resource) Resource {
	return Resource{MemoryMB: r.MemoryMB - other.MemoryMB, VCores: r.VCores - other.VCores}
}

// Times is n times r.
func (r Resource) Times(n int) Resource {
	return Resource{MemoryMB: r.MemoryMB * int64(n), VCores: r.VCores * n}
}
