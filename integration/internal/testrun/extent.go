package main

import (
	"fmt"
	"slices"
	"strings"
)

// extent is the part of the tests that a run has.
type extent string

const (
	whole extent = "" // everything but the long tests
	// short is what tells most in ten minutes: all packages but the thorough suites, with the tests in Go's short mode.
	short extent = "short"
	// rest is what a short run leaves out or shortens: the thorough suites, and of the other packages the tests of
	// pkg.shortened. A short run and a run of the rest have run everything.
	rest extent = "rest"
	long extent = "long" // everything, with the long tests (cluster.Long)
)

// of returns this part of the suites.
func (e extent) of(list []suite) []suite {
	var part []suite
	for _, s := range list {
		switch {
		case e == short && s.thorough, e == rest && slices.Contains(s.flags, "-test.run"): // a second run of some tests
			continue
		case e == short:
			s.flags = append(slices.Clone(s.flags), "-test.short")
		case e == rest && !s.thorough:
			s = s.shortened()
			if len(s.packages) == 0 {
				continue
			}
		}
		part = append(part, s)
	}
	return part
}

// shortened returns the suite with only those tests that a short run leaves out or shortens.
func (s suite) shortened() suite {
	var some []pkg
	for _, p := range s.packages {
		if len(p.shortened) > 0 {
			p.only = p.shortened
			some = append(some, p)
		}
	}
	s.packages = some
	return s
}

// filter returns the flags of a test binary that chooses the package's tests.
func (p pkg) filter() []string {
	if p.only == nil {
		return nil
	}
	return []string{"-test.run", "^(" + strings.Join(p.only, "|") + ")$"}
}

// leaves reports whether a short run may leave a test of the suite out, because a run of the rest has it.
func (s suite) leaves(t *test) bool {
	name, _, _ := strings.Cut(t.name, "/")
	return slices.ContainsFunc(s.packages, func(p pkg) bool { return p.path == t.pkg && slices.Contains(p.shortened, name) })
}

// set is for package flag.
func (e *extent) set(name string) error {
	if got := extent(name); got != short && got != rest && got != long {
		return fmt.Errorf("want %s, %s or %s", short, rest, long)
	}
	*e = extent(name)
	return nil
}
