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

// all runs the suites in the lanes, and returns their results.
func (r *run) all(ctx context.Context, list []suite, lanes int) ([]*outcome, error) {
	r.left, r.need = slices.Clone(list), make(map[string]int)
	for _, s := range list {
		for _, k := range s.clusters {
			r.need[string(k)]++
		}
	}
	errs := make([]error, lanes)
	var working sync.WaitGroup
	for lane := range lanes {
		working.Go(func() { errs[lane] = r.lane(ctx) })
	}
	working.Wait()
	return r.done, errors.Join(errs...)
}

// lane runs suites until none is left.
func (r *run) lane(ctx context.Context) error {
	var errs []error
	for ctx.Err() == nil {
		s, ok := r.next()
		if !ok {
			break
		}
		o := r.suite(ctx, s)
		r.mu.Lock()
		o.print(r.out)
		r.done = append(r.done, o)
		r.mu.Unlock()
		errs = append(errs, r.release(s))
	}
	return errors.Join(append(errs, context.Cause(ctx))...)
}

func (r *run) next() (suite, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) == 0 {
		return suite{}, false
	}
	s := r.left[0]
	r.left = r.left[1:]
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
