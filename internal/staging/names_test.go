package staging_test

import (
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// TestNamesInTheCache would catch names that the cache takes for those of incomplete files, that a session refuses,
// or that change the command of a container.
func TestNamesInTheCache(t *testing.T) {
	t.Parallel()
	const most = staging.MaxName
	for name, want := range map[string]string{
		"cities.csv": "cities.csv", "..hidden": "hidden", "..": "file", "Zürich: $x\n": "Zürich_ _x_",
		strings.Repeat("a", most+1):                      strings.Repeat("a", most),
		"x." + strings.Repeat("a", most-1):               strings.Repeat("a", most-1),
		"x.." + strings.Repeat("a", most-2):              strings.Repeat("a", most-2),
		"aü" + strings.Repeat("a", most-1):               strings.Repeat("a", most-1),
		"\xff" + strings.Repeat("a", most-1):             strings.Repeat("a", most-1),
		strings.Repeat(".", most+1):                      "file",
		"long" + strings.Repeat("a", most-7) + ".tar.gz": strings.Repeat("a", most-7) + ".tar.gz",
	} {
		if got := staging.PlainName(name); got != want {
			t.Errorf("%q is in the cache as %q, want %q", name, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.RuneFrom([]rune("a.ü$\n \u2028"))).Draw(t, "name")
		got := staging.PlainName(name)
		switch {
		case got == "", len(got) > most, strings.HasPrefix(got, "."), got != path.Base(got), !utf8.ValidString(got), strings.ContainsFunc(got, unicode.IsControl):
			t.Errorf("%q is in the cache as %q", name, got)
		case staging.PlainName(got) != got:
			t.Errorf("%q is in the cache as %q or as %q", name, got, staging.PlainName(got))
		}
	})
}
