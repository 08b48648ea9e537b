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
	"strings"
	"sync"
	"syscall"
	"time"
)

// grace is the time for the end of a package after its time limit or Ctrl-C, and for processes that still hold its
// output after its end.
const grace = time.Minute

// test runs the suite's packages, as many at a time as there are processors.
func (r *run) test(ctx context.Context, s suite) (results, error) {
	said, errs := make([]results, len(s.packages)), make([]error, len(s.packages))
	free := make(chan struct{}, runtime.GOMAXPROCS(0))
	var working sync.WaitGroup
	for i, p := range s.packages {
		working.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			if err := r.process(ctx, s, p, &said[i]); err != nil {
				errs[i] = fmt.Errorf("%s: %w", p.path, err)
			}
		})
	}
	working.Wait()
	var all results
	for _, one := range said {
		all.tests = append(all.tests, one.tests...)
		all.strange = append(all.strange, one.strange...)
	}
	return all, errors.Join(errs...)
}

// process runs the tests of a package in its folder, like `go test -json -count=1`. It passes the output through
// test2json. test2json does not start the tests, because they and their children would then ignore Ctrl-C like
// test2json does.
func (r *run) process(ctx context.Context, s suite, p pkg, into *results) error {
	log, err := os.Create(filepath.Join(r.logs, logName(s, p)))
	if err != nil {
		return err
	}
	defer log.Close()
	tool := exec.CommandContext(context.WithoutCancel(ctx), r.events, "-t", "-p", p.path) // it ends at the end of its input
	tool.Stderr = log
	output, err := tool.StdinPipe()
	if err != nil {
		return err
	}
	events, err := tool.StdoutPipe()
	if err != nil {
		return err
	}
	if err := tool.Start(); err != nil {
		return err
	}
	ran := make(chan error, 1)
	go func() {
		err := r.binary(ctx, s, p, output)
		ran <- errors.Join(err, output.Close())
	}()
	err = into.read(io.TeeReader(events, log), r.tell)
	return errors.Join(<-ran, err, tool.Wait())
}

// binary runs the program of a package's tests.
func (r *run) binary(ctx context.Context, s suite, p pkg, output io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout+grace) // the tests keep their limit themselves, unless they cannot
	defer cancel()
	args := []string{"-test.v=test2json", "-test.paniconexit0", "-test.timeout", r.timeout.String()}
	if s.parallel > 0 {
		args = append(args, "-test.parallel", fmt.Sprint(s.parallel))
	}
	args = append(append(args, p.filter()...), s.flags...)
	cmd := exec.CommandContext(ctx, r.tests.path(p, s.race), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, output, output
	cmd.Env = append(os.Environ(), r.env...)
	cmd.Env = append(append(cmd.Env, s.env...), "PWD="+p.dir,
		"GORACE="+strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=100")) // instead of 1 s, for which a hundred packages would wait
	// A group of its own, which testrun ends as with Ctrl-C, so that tests clean up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = grace
	return cmd.Run()
}

// logName returns the file for the events of a package. A package may run in several suites.
func logName(s suite, p pkg) string {
	name := s.name
	if len(s.packages) > 1 {
		name += strings.TrimPrefix(p.path, module)
	}
	return strings.NewReplacer("/", "-", " ", "-").Replace(name) + ".json"
}

// tell writes a line of events to verbose, if it is set.
func (r *run) tell(line string) {
	if r.verbose == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.verbose, line) // an error has no reader
}
