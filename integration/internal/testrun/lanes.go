package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// run is one run of suites.
type run struct {
	dir     string // clusters.RunVariable
	logs    string // folder for the events of each package
	tests   binaries
	builder *builder
	events  string // the path of test2json
	env     []string
	timeout time.Duration // of a package, against tests that hang
	verbose io.Writer     // receives all output of tests at once; nil: nothing does
	out     io.Writer

	mu   sync.Mutex     // guards the fields below, out and verbose
	left []suite        // suites that have not begun
	need map[string]int // number of suites, begun or not, that need a kind of cluster
	done []*outcome
}

// all builds the programs, and runs the suites meanwhile. If a build fails, the run ends as after Ctrl-C.
func (r *run) all(ctx context.Context, list []suite, lanes int) ([]*outcome, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var building sync.WaitGroup
	building.Go(func() {
		if err := r.builder.all(ctx); err != nil {
			fail(err)
		}
	})
	done, err := r.suites(ctx, list, lanes)
	building.Wait()
	return done, errors.Join(err, context.Cause(ctx))
}

// suites runs the suites in the lanes, and returns their results. One lane begins with the unit tests, which keep the
// processors busy while the other lanes wait for YARN.
func (r *run) suites(ctx context.Context, list []suite, lanes int) ([]*outcome, error) {
	r.left, r.need = slices.Clone(list), make(map[string]int)
	for _, s := range list {
		for _, k := range s.clusters {
			r.need[string(k)]++
		}
	}
	errs := make([]error, lanes)
	var working sync.WaitGroup
	for lane := range lanes {
		working.Go(func() { errs[lane] = r.lane(ctx, lane == lanes-1) })
	}
	working.Wait()
	return r.done, errors.Join(errs...)
}

// lane runs suites until none is left: first the unit tests or first the others.
func (r *run) lane(ctx context.Context, unit bool) error {
	var errs []error
	for ctx.Err() == nil {
		s, ok := r.next(unit)
		if !ok {
			break
		}
		if r.builder.wait(ctx, s) != nil {
			break // all reports why
		}
		o := r.suite(ctx, s)
		r.mu.Lock()
		o.print(r.out)
		r.done = append(r.done, o)
		r.mu.Unlock()
		errs = append(errs, r.release(s))
	}
	return errors.Join(errs...)
}

// next takes the first suite that is left of the unit tests or of the others. If there is none, it takes any.
func (r *run) next(unit bool) (suite, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 {
		return suite{}, false
	}
	at := max(0, slices.IndexFunc(r.left, func(s suite) bool { return s.unit == unit }))
	s := r.left[at]
	r.left = slices.Delete(r.left, at, at+1)
	return s, true
}

// release ends the clusters that no suite needs any more.
func (r *run) release(s suite) error {
	var over []clusters.Kind
	r.mu.Lock()
	for _, k := range s.clusters {
		if r.need[string(k)]--; r.need[string(k)] == 0 {
			over = append(over, k)
		}
	}
	r.mu.Unlock()
	var errs []error
	for _, k := range over {
		errs = append(errs, clusters.End(r.dir, k))
	}
	return errors.Join(errs...)
}

// suite runs one suite to its end.
func (r *run) suite(ctx context.Context, s suite) *outcome {
	o := &outcome{suite: s}
	began := time.Now()
	o.results, o.err = r.test(ctx, s)
	o.took = time.Since(began)
	return o
}
