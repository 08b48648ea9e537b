package records

import (
	"testing"
	"unicode/utf8"
)

// FuzzResourceValues calculates with amounts in any names and units of a daemon. It would
// catch an amount that changes when it is stored, equal amounts that count as different and
// are asked for again, and a container that counts as too small although it is not.
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

// known returns a unit in its stored form.
func known(units string) string {
	if !utf8.ValidString(units) {
		return ""
	}
	return units
}
