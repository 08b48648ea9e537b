package appmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// drivers starts users' programs as drivers, which are children of this process.
type drivers struct {
	application string
	config      config.Config // what they plan under
	environment []string
	jobs        jobLimits
	dir         string            // for programs
	logDir      string            // for what they print
	reach       func() *msg.Reach // how they reach files
	running     *children
	logger      logrus.FieldLogger
}

// children are the drivers that run, for what all of them must hear. Its methods may be
// called from any goroutine.
type children struct {
	mu  sync.Mutex // guards all, and that each has its Driver
	all map[*child]struct{}
}

func newChildren() *children { return &children{all: make(map[*child]struct{})} }

func (r *children) add(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all[c] = struct{}{}
}

func (r *children) remove(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, c)
}

// begun takes in that a child's process runs.
func (r *children) begun(c *child, d *driver.Driver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Driver = d
}

// updateTokens leaves new tokens for each driver, in place of those that it has not been
// told yet. It does not wait.
func (r *children) updateTokens(tokens msg.Secret) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.all {
		select {
		case <-c.tokens:
		default:
		}
		c.tokens <- tokens
	}
}

// suffixStderr ends the name of the log of a program's standard error.
const suffixStderr = ".stderr"

// driving is a program to start.
type driving struct {
	program   string // file
	arguments []string
	options   config.Config
	detached  bool
	log       string // name of its logs, without what ends it
}

// with lays options over those of the cluster. The error wraps config.ErrInvalid.
func (d drivers) with(options map[string]string) (config.Config, error) {
	c, err := d.config.With(config.Layer{Source: "request", Values: options})
	if err == nil {
		err = config.Validate(c)
	}
	return c, err
}

// child is a driver that runs. Close ends it.
type child struct {
	*driver.Driver
	tokens chan msg.Secret // that it is to be told; the last ones alone, so it has room for one
	tail   logging.Tail    // what it has printed last
	jobs   jobLimits
	killed atomic.Pointer[string] // why this process has killed it; nil
	log    string                 // name of its logs, without what ends it
	logs   []io.Closer
	after  []func() error // what is to be done when it has ended, in reverse order
}

// start starts a program.
func (d drivers) start(ctx context.Context, what driving) (_ *child, err error) {
	c := &child{jobs: d.jobs, log: what.log, tokens: make(chan msg.Secret, 1)}
	d.running.add(c) // before it is told how it reaches files, so that it misses no tokens
	defer func() {
		if err != nil {
			d.running.remove(c)
			err = errors.Join(c.explain(err), c.closeLogs())
		}
	}()
	c.after = []func() error{func() error { d.running.remove(c); return nil }}
	var streams []io.Writer
	for _, suffix := range []string{".stdout", suffixStderr} {
		file, err := logging.OpenFile(d.logDir, what.log+suffix)
		if err != nil {
			return nil, err
		}
		c.logs = append(c.logs, file)
		streams = append(streams, file)
	}
	_, err = driver.Start(ctx, what.program, what.arguments, driver.Options{
		Config: what.options.Set(), Detached: what.detached, Reach: d.reach(), Env: d.environment,
		MaxJob: d.jobs.most, MaxGrowth: d.jobs.growth, Hold: d.jobs.hold,
		Stdout: streams[0], Stderr: io.MultiWriter(c.tail.Source(), streams[1]),
		Begun: func(begun *driver.Driver) { d.running.begun(c, begun) },
	})
	return c, err
}

// explain puts the end of what a driver has printed behind an error that says nothing
// but that it has failed.
func (c *child) explain(err error) error {
	text := c.tail.String()
	if errors.Is(err, driver.ErrExit) && text != "" && c.killed.Load() == nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return c.reason(err)
}

// reason adds to an error what the driver has told this process alone, and what this process
// has done to it: nothing that the driver has printed.
func (c *child) reason(err error) error {
	var plan *driver.PlanError
	if errors.As(err, &plan) && plan.Stack != "" {
		return fmt.Errorf("%w\n%s", err, plan.Stack)
	}
	if errors.Is(err, msg.ErrJobTooLarge) {
		return fmt.Errorf("%w: a program beside it brings jobs of %.1f MiB at most, encoded, which do not say next to nothing: raise %s, or divide the job",
			msg.ErrJobTooLarge, float64(c.jobs.most)/(1<<20), config.JobManagerProcessSize)
	}
	if why := c.killed.Load(); why != nil && errors.Is(err, driver.ErrExit) {
		return fmt.Errorf("%w: %s", err, *why)
	}
	return err
}

// note appends to the standard error of a program, whose logs have that name, why it failed, or
// what may be wrong with a job of it: people look there, and the program has told its master
// alone.
func (d drivers) note(log, what string) {
	file, err := logging.OpenFile(d.logDir, log+suffixStderr)
	if err == nil {
		_, err = fmt.Fprintf(file, "bobbin: %s\n", strings.TrimRight(what, "\n"))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		d.logger.WithError(err).Warn("a line is missing in the log of the program")
	}
}

// Close ends the driver, if it has not ended, and waits for it.
func (c *child) Close() error {
	return errors.Join(c.Driver.Close(), c.closeLogs(), runAll(c.after))
}

func (c *child) closeLogs() error {
	var faults []error
	for _, log := range c.logs {
		faults = append(faults, log.Close())
	}
	return errors.Join(faults...)
}

// runAll runs functions in reverse order.
func runAll(functions []func() error) error {
	var faults []error
	for _, f := range slices.Backward(functions) {
		faults = append(faults, f())
	}
	return errors.Join(faults...)
}
