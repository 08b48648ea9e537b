package records

// Names of the resource types that every cluster has.
const (
	ResourceMemory = "memory-mb"
	ResourceVCores = "vcores"
)

// ResourceType is a kind of resource that the cluster hands out (ResourceTypeInfo).
type ResourceType struct {
	Name  string // ResourceMemory, ResourceVCores, or further ones such as yarn.io/gpu
	Units string // of amounts, "Mi" for memory; empty: a plain number
}

// ResourceProfile is a named size of container, which the administrator has defined.
type ResourceProfile struct {
	Name string
	// Amounts has every resource type of the cluster by name. Resource is what Amounts says of memory and
	// vcores.
	Resource Resource
	Amounts  map[string]ResourceAmount
}

// ResourceAmount is a number with its unit, one of p, n, u, m, k, M, G, T, P, Ki, Mi, Gi, Ti and Pi, or none.
type ResourceAmount struct {
	Value int64
	Units string
}
