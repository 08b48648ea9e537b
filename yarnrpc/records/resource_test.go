package records

import (
	"math"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const gpu, disk = "yarn.io/gpu", "example.com/disk"

func gpus(n int64) ResourceAmount { return ResourceAmount{Value: n} }

// If equal asks count as different, an ask table sends them again and again.
func TestEqualAmountsAreEqualValues(t *testing.T) {
	t.Parallel()
	one := Resource{MemoryMB: 1, VCores: 2}.With(gpu, gpus(3)).With(disk, ResourceAmount{Value: 4, Units: "Gi"})
	other := Resource{MemoryMB: 1, VCores: 2}.With(disk, ResourceAmount{Value: 4, Units: "Gi"}).With(gpu, gpus(1)).With(gpu, gpus(3))
	if one != other {
		t.Errorf("%s and %s are not equal", one, other)
	}
	if got, want := one.String(), "<memory:1, vCores:2, example.com/disk: 4Gi, yarn.io/gpu: 3>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if diff := cmp.Diff(map[string]ResourceAmount{gpu: {3, ""}, disk: {4, "Gi"}}, one.Others.Map()); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
	if none := one.With(gpu, gpus(0)).With(disk, ResourceAmount{Units: "Gi"}); none != (Resource{MemoryMB: 1, VCores: 2}) {
		t.Errorf("nothing of anything is %s", none)
	}
	if a := one.Others.Amount("widgets"); a != (ResourceAmount{}) {
		t.Errorf("there are %s widgets", a)
	}
}

func TestResourcesFitTypeByType(t *testing.T) {
	t.Parallel()
	whole := Resource{MemoryMB: 8, VCores: 8}.With(gpu, gpus(2)).With(disk, ResourceAmount{Value: 1, Units: "Ti"})
	small := Resource{MemoryMB: 1, VCores: 1}
	for name, tc := range map[string]struct {
		part Resource
		fits bool
	}{
		"memory and cores alone":             {small, true},
		"all there is":                       {whole, true},
		"a type less":                        {small.With(gpu, gpus(2)), true},
		"more of a type":                     {small.With(gpu, gpus(3)), false},
		"a type that there is not":           {small.With("widgets", gpus(1)), false},
		"as much in smaller units":           {small.With(disk, ResourceAmount{Value: 1024, Units: "Gi"}), true},
		"more in smaller units":              {small.With(disk, ResourceAmount{Value: 1025, Units: "Gi"}), false},
		"1000 is less than 1024":             {small.With(disk, ResourceAmount{Value: 1, Units: "T"}), true},
		"more memory, less of the rest":      {Resource{MemoryMB: 9}, false},
		"thousandths":                        {small.With(gpu, ResourceAmount{Value: 2000, Units: "m"}), true},
		"a thousandth too much":              {small.With(gpu, ResourceAmount{Value: 2001, Units: "m"}), false},
		"a unit that nobody knows is none":   {small.With(gpu, ResourceAmount{Value: 2, Units: "dozen"}), true},
		"an amount that int64 cannot scale":  {small.With(disk, ResourceAmount{Value: math.MaxInt64, Units: "Pi"}), false},
		"less than nothing of another type":  {small.With("widgets", gpus(-1)), true},
		"and more than all, in smaller ones": {small.With(disk, ResourceAmount{Value: math.MaxInt64, Units: "n"}), true},
	} {
		if got := tc.part.Fits(whole); got != tc.fits {
			t.Errorf("%s: %s fits %s: %t", name, tc.part, whole, got)
		}
	}
}

func TestArithmeticOfResources(t *testing.T) {
	t.Parallel()
	base := Resource{MemoryMB: 4, VCores: 2}
	gi := func(n int64) Resource { return base.With(disk, ResourceAmount{Value: n, Units: "Gi"}) }
	for name, tc := range map[string]struct{ got, want Resource }{
		"sum":                            {gi(1).With(gpu, gpus(1)).Add(gi(2)), gi(3).With(gpu, gpus(1)).Add(base)},
		"sum with nothing":               {Resource{}.Add(gi(2)), gi(2)},
		"sum in the units of the first":  {gi(1).Add(Resource{}.With(disk, ResourceAmount{Value: 3072, Units: "Mi"})), gi(4)},
		"difference":                     {gi(3).Sub(gi(1)), Resource{}.With(disk, ResourceAmount{Value: 2, Units: "Gi"})},
		"difference to nothing":          {gi(3).Sub(gi(3)), Resource{}},
		"difference below nothing":       {Resource{}.Sub(base.With(gpu, gpus(2))), Resource{MemoryMB: -4, VCores: -2}.With(gpu, gpus(-2))},
		"multiple":                       {gi(2).Times(3), Resource{MemoryMB: 12, VCores: 6}.With(disk, ResourceAmount{Value: 6, Units: "Gi"})},
		"none":                           {gi(2).Times(0), Resource{}},
		"a part too small for the units": {base.With(gpu, gpus(1)).Add(Resource{}.With(gpu, ResourceAmount{Value: 1, Units: "m"})), base.With(gpu, gpus(1))},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %s, want %s", name, tc.got, tc.want)
		}
	}
	if n := (ResourceAmount{Value: math.MaxInt64, Units: "Pi"}).in(""); n != math.MaxInt64 {
		t.Errorf("what does not fit is %d", n)
	}
	if n := (ResourceAmount{Value: math.MinInt64, Units: "Pi"}).in("n"); n != math.MinInt64 {
		t.Errorf("what does not fit below is %d", n)
	}
}

// The naive model has every unit spelled out.
func TestAmountsCompareAsTheirNumbersDo(t *testing.T) {
	t.Parallel()
	scales := map[string]string{
		"p": "1e-12", "n": "1e-9", "u": "1e-6", "m": "1e-3", "": "1", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "P": "1e15",
		"Ki": "1024", "Mi": "1048576", "Gi": "1073741824", "Ti": "1099511627776", "Pi": "1125899906842624",
	}
	var units []string
	for u := range scales {
		units = append(units, u)
	}
	draw := rapid.Custom(func(t *rapid.T) ResourceAmount {
		return ResourceAmount{Value: rapid.Int64().Draw(t, "value"), Units: rapid.SampledFrom(units).Draw(t, "units")}
	})
	number := func(a ResourceAmount) *big.Rat {
		scale, _ := new(big.Rat).SetString(scales[a.Units])
		return scale.Mul(scale, new(big.Rat).SetInt64(a.Value))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if got, want := a.compare(b), number(a).Cmp(number(b)); got != want {
			t.Fatalf("%s to %s is %d, want %d", a, b, got, want)
		}
		if got := (ResourceAmount{Value: a.in(b.Units), Units: b.Units}); new(big.Rat).Abs(number(got)).Cmp(new(big.Rat).Abs(number(a))) > 0 {
			t.Fatalf("%s is %s, which is more", a, got)
		}
	})
}
