package main

import (
	"context"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// builder builds a run's programs in the order of need. The first suites run while it builds the others' programs. One
// goroutine calls all; any number call wait.
type builder struct {
	tests binaries
	bin   string // folder of the programs that tests start on clusters; "": no suite has clusters
	parts []part
}

// part is some suites, whose programs one go command builds. A command for each suite would look at all sources again.
type part struct {
	suites []suite
	built  chan struct{} // closed when the programs exist
}

// newBuilder divides the suites into those that the lanes begin with, the other ones on daemons, and the unit tests.
func newBuilder(tests binaries, bin string, list []suite, lanes int) *builder {
	b := &builder{tests: tests}
	var first, later, units []suite
	for _, s := range list {
		if len(s.clusters) > 0 {
			b.bin = bin
		}
		switch {
		case s.unit:
			units = append(units, s)
		case len(first) < lanes:
			first = append(first, s)
		default:
			later = append(later, s)
		}
	}
	for _, suites := range [][]suite{first, later, units} {
		if len(suites) > 0 {
			b.parts = append(b.parts, part{suites, make(chan struct{})})
		}
	}
	return b
}

// all builds everything, or stops at the first error.
func (b *builder) all(ctx context.Context) error {
	if b.bin != "" {
		if err := bobbintest.Build(ctx, b.bin); err != nil {
			return err
		}
	}
	for _, p := range b.parts {
		if err := b.tests.build(ctx, p.suites); err != nil {
			return err
		}
		close(p.built)
	}
	return nil
}

// wait returns when the programs of a suite exist, at once for a suite of no part. After an error of all, the caller of
// all must end ctx.
func (b *builder) wait(ctx context.Context, s suite) error {
	for _, p := range b.parts {
		for _, of := range p.suites {
			if of.name != s.name {
				continue
			}
			select {
			case <-p.built:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}
