package userdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Log is the name of an application's program logs, without suffix. The name of a session's program follows
// it.
const Log = "driver"

// suffixStderr is the suffix of the log of a program's standard error.
const suffixStderr = ".stderr"

// Program is a program to start.
type Program struct {
	File      string
	SHA256    string // of the file, lower-case hex
	Arguments []string
	Options   config.Config
	Detached  bool      // Execute returns when the job runs
	Job       ids.JobID // id of its first job; "": any
	Accepted  int       // number of jobs of an earlier run of the program that the cluster has accepted
	Log       string    // name of its logs, without suffix
	// submitted is called for each job, with an error if the cluster has refused the job. It may be nil.
	submitted func(ids.JobID, error)
}

// Process is a running program. Close ends it.
type Process struct {
	drivers *Drivers
	program Program
	child   Child                  // nil before its process runs
	tokens  msg.Secret             // the newest; nil: those with which it was started
	renewed chan struct{}          // has room for one element: tokens are new
	tail    logging.Tail           // the end of what it has printed on stderr
	killed  atomic.Pointer[string] // why this process has killed it, or nil
	logs    []io.Closer
	after   []func() error // called in reverse order when it has ended
}

// Start starts a program.
func (d *Drivers) Start(ctx context.Context, program Program) (_ *Process, err error) {
	p := &Process{drivers: d, program: program, renewed: make(chan struct{}, 1)}
	d.add(p) // before Reach is called, so that the program misses no tokens
	defer func() {
		if err != nil {
			d.remove(p)
			err = errors.Join(p.Explain(err), p.closeLogs())
		}
	}()
	p.after = []func() error{func() error { d.remove(p); return nil }}
	var streams []io.Writer
	for _, suffix := range []string{".stdout", suffixStderr} {
		file, err := d.config.Machine.OpenLog(program.Log + suffix)
		if err != nil {
			return nil, err
		}
		p.logs = append(p.logs, file)
		streams = append(streams, file)
	}
	limits := d.config.Limits
	err = d.config.Machine.Start(ctx, program.File, program.Arguments, driver.Options{
		Config: program.Options.Set(), Detached: program.Detached, Reach: d.config.Reach(), Env: environment(d.config.Environment, limits.Each),
		Accepted: program.Accepted,
		MaxJob:   limits.Job, Hold: limits.Hold,
		Stdout: streams[0], Stderr: io.MultiWriter(p.tail.Source(), streams[1]),
		LeftBehind: func(processes int) {
			d.logger.WithFields(logrus.Fields{"program": program.Log, "processes": processes}).Warn("program left children behind, which are killed")
		},
	}, func(child Child) { d.begun(p, child) })
	if err != nil {
		return nil, err
	}
	return p, nil
}

// environment is a program's environment: that of this process without its own variables, and with the
// limit of the program's memory.
func environment(own []string, limit config.Bytes) []string {
	return append(launch.ChildEnvironment(own), "GOMEMLIMIT="+memory.GoLimit(limit))
}

// Explain adds the end of what a program has printed to an error that says only that the program has
// failed.
func (p *Process) Explain(err error) error {
	text := p.tail.String()
	if errors.Is(err, driver.ErrExit) && text != "" && p.killed.Load() == nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return p.Reason(err)
}

// Reason adds to an error what the program has sent over its connection, and why this process killed the
// program. It adds nothing that the program has printed.
func (p *Process) Reason(err error) error {
	var plan *driver.PlanError
	if errors.As(err, &plan) && plan.Stack != "" {
		return fmt.Errorf("%w\n%s", err, plan.Stack)
	}
	if errors.Is(err, msg.ErrJobTooLarge) {
		return fmt.Errorf("%w: a program that runs in its container may submit jobs of at most %.1f MiB encoded: raise %s, or divide the job",
			msg.ErrJobTooLarge, float64(p.drivers.config.Limits.Job)/(1<<20), p.drivers.config.Limits.Raise)
	}
	if why := p.killed.Load(); why != nil && errors.Is(err, driver.ErrExit) {
		return fmt.Errorf("%w: %s", err, *why)
	}
	return err
}

// Close ends the program, if it has not ended, and waits for its end.
func (p *Process) Close() error {
	return errors.Join(p.child.Close(), p.closeLogs(), runAll(p.after))
}

func (p *Process) closeLogs() error {
	var faults []error
	for _, log := range p.logs {
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
