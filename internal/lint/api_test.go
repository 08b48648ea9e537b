package lint

import "testing"

func TestThePageAboutPublicAPI(t *testing.T) {
	page, ok := trackedFiles(t)["docs/api.md"]
	if !ok {
		t.Fatal("docs/api.md is not there")
	}
	report(t, API(page, listPackages(t)))
}

func TestAPIRules(t *testing.T) {
	packages := []Package{{Path: "."}, {Path: "a"}, {Path: "a/b"}, {Path: "internal/c"}, {Path: "a/internal/d"}}
	for page, complaints := range map[string]int{
		"| `.` | x |\n| `a` | x |\n| `a/b` | x |":             0,
		"| `.` | x |\n| `a/` | x |":                           0,
		"| `.`, package `x` | y |\n| `a/` | y |":              0,
		"| `.` | x |\n| `a` | x |":                            1, // the packages below are not named
		"| `.` | x |\n| `a/` | x |\n| `gone` | x |":           1,
		"| `.` | x |\n| `a/` | x |\n| `internal/c` | x |":     1,
		"the packages `.`, `a` and `a/b` are named in no row": 3,
	} {
		if got := API([]byte(page), packages); len(got) != complaints {
			t.Errorf("%q: complaints %q, want %d", page, got, complaints)
		}
	}
}
