// Package userdriver runs users' programs that plan jobs, beside the ApplicationMaster: an application's
// program, and those that a session's users run.
//
// A Machine starts each program as a child process, with a control connection (package driver), an
// environment without the ApplicationMaster's own variables, and two logs. The program plans jobs. The
// package submits them to its Cluster, and tells the program what becomes of them. All programs share the
// ApplicationMaster's container: if the container is about to exceed its memory, the package ends the
// program furthest above its share.
//
// A program has one goroutine that receives from it and one that follows its job, for as long as Serve
// runs. Programs owns one goroutine for each program that continues after its first job. The simulation
// runs everything here except Programs. The package must never import a role.
package userdriver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Cluster is the cluster on which the programs' jobs run. Its methods are called from any goroutine.
type Cluster interface {
	// Submit submits a job of a program. If the job is unprepared, Submit only looks for it among the accepted jobs, and the
	// error is msg.ErrNotPrepared if it is another job, or none.
	Submit(ctx context.Context, p Program, job ids.JobID, x *msg.ExecuteJob) error
	// Initialized waits until a job is set up, and returns its state: FAILED with the reason if that was not
	// possible.
	Initialized(ctx context.Context, job ids.JobID) (msg.JobEnded, error)
	// Follow waits for the end of a job. It calls collected with what the job collects, one call at a time.
	// A failed job is not an error. Follow returns an error of collected unchanged.
	Follow(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph, collected func(name string, epoch int, records []byte) error) (msg.JobEnded, error)
}

// Config describes how programs run.
type Config struct {
	Application string        // its id, which programs get
	Options     config.Config // of the cluster; programs plan with them
	Environment []string      // of this process; programs get it without the process' own variables
	Machine     Machine
	Limits      Limits
	// Reach returns how programs reach files from now on. It may be called from any goroutine.
	Reach func() *msg.Reach
	// JobID makes the id of the n-th job of a program that the cluster accepts, from 0. A program that runs again, because
	// the ApplicationMaster has been replaced, so finds its jobs. nil: the ids are random.
	JobID func(n int) ids.JobID
	// Entropy makes random ids of jobs.
	Entropy ids.Source
}

// newJob makes the id of the n-th accepted job of a program.
func (c Config) newJob(n int) ids.JobID {
	if c.JobID != nil {
		return c.JobID(n)
	}
	return ids.JobID(c.Entropy.Random())
}

// Limits bound what programs take of the ApplicationMaster's container.
type Limits struct {
	Container config.Bytes     // the whole container
	Raise     config.MemoryKey // the option that decides the container's size
	Each      config.Bytes     // Go's soft limit of a program's memory (GOMEMLIMIT)
	Job       int              // largest encoded job, in bytes; 0: the largest message
	// Hold waits for room for a job of the given number of bytes before the job is read; nil: there is
	// always room.
	Hold func(ctx context.Context, bytes int) (leave func(), err error)
}

// Drivers starts programs, and keeps the running ones, so that all of them get new tokens. Make it with
// New. Its methods may be called from any goroutine.
type Drivers struct {
	config  Config
	cluster Cluster
	logger  logrus.FieldLogger

	mu      sync.Mutex // guards running, and the fields child and tokens of each Process in it
	running map[*Process]struct{}
}

// New makes Drivers without programs.
func New(c Config, cluster Cluster, logger logrus.FieldLogger) *Drivers {
	return &Drivers{config: c, cluster: cluster, logger: logger, running: make(map[*Process]struct{})}
}

// UpdateTokens leaves new tokens for each program, in place of tokens that the program has not received
// yet. It does not wait.
func (d *Drivers) UpdateTokens(tokens msg.Secret) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.running {
		p.tokens = tokens
		select {
		case p.renewed <- struct{}{}:
		default:
		}
	}
}

// tokensOf returns the newest tokens for a program.
func (d *Drivers) tokensOf(p *Process) msg.Secret {
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.tokens
}

// Note appends a line to the standard error log with the given name: why its program failed, or what may be
// wrong with a job. The program has reported this only to the ApplicationMaster, and users look in the log.
func (d *Drivers) Note(log, what string) {
	file, err := d.config.Machine.OpenLog(log + suffixStderr)
	if err == nil {
		_, err = fmt.Fprintf(file, "bobbin: %s\n", strings.TrimRight(what, "\n"))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		d.logger.WithError(err).Warn("cannot write a line to the program's log")
	}
}

func (d *Drivers) add(p *Process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[p] = struct{}{}
}

func (d *Drivers) remove(p *Process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.running, p)
}

// begun notes that a program's process runs.
func (d *Drivers) begun(p *Process, child Child) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.child = child
}
