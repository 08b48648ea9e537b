package records

import (
	"testing"
	"unicode/utf8"
)

// FuzzResourceValues does arithmetic with amounts as a daemon may name them. It would catch an
// amount that is another once it is held, two equal ones that are asked for again and again
// as if they differed, and a container that is taken for too small though it is all there is.
func FuzzResourceValues(f *testing.F) {
	f.Add("yarn.io/gpu", int64(3), "", "disk", int64(4), "Gi", int64(2))
	f.Add("a", int64(-9223372036854775808), "Pi", "a", int64(9223372036854775807), "p", int64(-1))
	f.Add("a", int64(1), "\xff", "a", int64(1), "\xfe", int64(1))
	f.Add("\xff", int64(1), "k", "\xfe", int64(1), "k", int64(0))
	f.Add("", int64(0), "dozen", "<&\u2028>", int64(1), "\x00", int64(3))
	f.Fuzz(func(t *testing.T, firstName string, first int64, firstUnits, secondName string, second int64, secondUnits string, n int64) {
		one := NewResourceValues(map[string]ResourceAmount{firstName: {first, firstUnits}})
		both := one.with(secondName, ResourceAmount{second, secondUnits})
		for _, v := range []ResourceValues{one, both, both.add(one), one.add(both), both.times(n)} {
			held := v.Map()
			if v.IsZero() != (len(held) == 0) || NewResourceValues(held) != v {
				t.Errorf("%s is made of %v, of which %s is made", v, held, NewResourceValues(held))
			}
			for name, a := range held {
				if a.Value == 0 || v.Amount(name) != a {
					t.Errorf("%s has %s of %q", v, a, name)
				}
			}
			if !v.fits(v) {
				t.Errorf("%s does not fit itself", v)
			}
		}
		if want := (ResourceAmount{first, known(firstUnits)}); utf8.ValidString(firstName) && first != 0 && one.Amount(firstName) != want {
			t.Errorf("%q is held as %q", want, one.Amount(firstName))
		}
		if got := NewResourceValues(both.Map()); got != both {
			t.Errorf("%s and %s are made of the same", got, both)
		}
		if sum := (ResourceValues{}).add(both); sum != both {
			t.Errorf("%s and nothing is %s", both, sum)
		}
	})
}

// known is a unit as it is held.
func known(units string) string {
	if !utf8.ValidString(units) {
		return ""
	}
	return units
}
