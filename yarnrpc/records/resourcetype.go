package records

import (
	"math"
	"math/big"
	"slices"
	"strconv"
)

// Names of the resource types that every cluster has.
const (
	ResourceMemory = "memory-mb"
	ResourceVCores = "vcores"
)

// ResourceType is a type of resource that the cluster allocates (ResourceTypeInfo).
type ResourceType struct {
	Name  string // ResourceMemory, ResourceVCores, or further ones such as yarn.io/gpu
	Units string // of amounts, "Mi" for memory; empty: a plain number
}

// ResourceProfile is a container size with a name, defined by the administrator. Asks
// cannot hold the name; send Resource instead.
type ResourceProfile struct {
	Name     string
	Resource Resource
}

// ResourceAmount is a number with its unit: p, n, u, m, k, M, G, T, P, Ki, Mi, Gi, Ti, Pi
// or none (ResourceInformation, UnitsConversionUtil). Any other unit counts as none.
type ResourceAmount struct {
	Value int64
	Units string
}

// String returns number and unit, such as 5Gi.
func (a ResourceAmount) String() string { return strconv.FormatInt(a.Value, 10) + a.Units }

// compare returns a negative number if a is less than b, 0 if they are equal, and
// otherwise a positive number.
func (a ResourceAmount) compare(b ResourceAmount) int { return a.exact().Cmp(b.exact()) }

// in converts a to other units, without fractions. A number out of range becomes the
// nearest one in range.
func (a ResourceAmount) in(units string) int64 {
	if a.Units == units {
		return a.Value
	}
	q := a.exact()
	q.Quo(q, scale(units))
	whole := new(big.Int).Quo(q.Num(), q.Denom())
	switch {
	case whole.IsInt64():
		return whole.Int64()
	case whole.Sign() < 0:
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}

func (a ResourceAmount) exact() *big.Rat {
	r := new(big.Rat).SetInt64(a.Value)
	return r.Mul(r, scale(a.Units))
}

// scale returns the size of one unit.
func scale(units string) *big.Rat {
	power := func(base int64, exponent int) *big.Rat {
		p := new(big.Int).Exp(big.NewInt(base), big.NewInt(int64(max(exponent, -exponent))), nil)
		r := new(big.Rat).SetInt(p)
		if exponent < 0 {
			r.Inv(r)
		}
		return r
	}
	if i := slices.Index([]string{"p", "n", "u", "m", "", "k", "M", "G", "T", "P"}, units); i >= 0 {
		return power(1000, i-4)
	}
	return power(1024, slices.Index([]string{"Ki", "Mi", "Gi", "Ti", "Pi"}, units)+1) // 1 if it is none of them
}
