package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
)

// run is one run of suites.
type run struct {
	dir     string // clusters.RunVariable
	logs    string // folder for the events of each package
	tests   binaries
	events  string // the path of test2json
	env     []string
	timeout time.Duration // of a suite, for what hangs
	verbose io.Writer     // all that tests say, as they say it; nil: nobody wants it
	out     io.Writer

	mu   sync.Mutex     // guards what follows, and out
	left []suite        // that nobody has begun
	need map[string]int // suites, begun or not, that need a kind of cluster
	done []*outcome
}

// all runs the suites in so many lanes, and gives what became of each.
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
	o.err = r.test(ctx, s, &o.results)
	o.took = time.Since(began)
	return o
}

// test runs the suite's packages, as many at a time as there are processors.
func (r *run) test(ctx context.Context, s suite, into *results) error {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	said := make([]results, len(s.packages))
	for i, p := range s.packages {
		group.Go(func() error {
			if err := r.pkg(ctx, s, p, &said[i]); err != nil {
				return fmt.Errorf("%s: %w", p.path, err)
			}
			return nil
		})
	}
	err := group.Wait()
	for _, one := range said {
		into.tests = append(into.tests, one.tests...)
		into.strange = append(into.strange, one.strange...)
	}
	return err
}

// pkg runs the tests of a package in its folder, as `go test -json -count=1` does.
func (r *run) pkg(ctx context.Context, s suite, p pkg, into *results) error {
	args := []string{"-t", "-p", p.path, r.tests.path(p, s.race), "-test.v=test2json", "-test.paniconexit0", "-test.timeout", r.timeout.String()}
	if s.parallel > 0 {
		args = append(args, "-test.parallel", fmt.Sprint(s.parallel))
	}
	cmd := exec.CommandContext(ctx, r.events, append(args, s.flags...)...)
	cmd.Dir = p.dir
	cmd.Env = slices.Concat(os.Environ(), r.env, s.env, []string{
		"PWD=" + p.dir,
		"GORACE=atexit_sleep_ms=100", // and not 1 s, which a hundred packages would wait for
	})
	// In a group of its own, which ends as Ctrl-C would end it: tests clean up after themselves.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout // what the tool says of itself
	name := strings.TrimPrefix(p.path, module)
	if s.env != nil || len(s.packages) == 1 {
		name = s.name // the package may run in another suite, too
	}
	log, err := os.Create(filepath.Join(r.logs, strings.NewReplacer("/", "-", " ", "-").Replace(strings.Trim(name, "/"))+".json"))
	if err != nil {
		return err
	}
	defer log.Close()
	if err := cmd.Start(); err != nil {
		return err
	}
	heard := io.TeeReader(pipe, log)
	if r.verbose != nil {
		heard = io.TeeReader(heard, r.verbose)
	}
	err = into.read(heard)
	return errors.Join(err, cmd.Wait())
}
