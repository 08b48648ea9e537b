// Package userdriver runs users' programs that plan, beside the ApplicationMaster: an
// application's, and those that a session is asked to run.
//
// Each program is a child of this process, with a control connection (package driver), an
// environment without what is the master's own, and two logs. It plans jobs, which the package
// gives to its Cluster, and tells the program what becomes of them. All programs share the
// master's container: the package ends the one that takes too much of it.
//
// A program has one goroutine that listens to it and one that follows its job, for as long as
// Serve runs; Programs owns one for each program that goes on after its first job. The package
// imports no role, and must never.
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
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Cluster is where the jobs of programs run, the Dispatcher's side. Its methods are called from
// any goroutine.
type Cluster interface {
	// Submit takes a job of a program in.
	Submit(ctx context.Context, p Program, job ids.JobID, graph *jobgraph.JobGraph) error
	// Follow waits for the end of a job, and hands over what it collects, one call at a time. How
	// the job ends is no error. Follow gives an error of collected as it is.
	Follow(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph, collected func(name string, epoch int, records []byte) error) (msg.JobEnded, error)
}

// Config describes how programs run.
type Config struct {
	Application string        // its id, which programs are told
	Options     config.Config // those that they plan under
	Environment []string      // of this process; programs have it without what is this process' own
	LogDir      string        // for what they print
	Limits      Limits
	// Reach says how programs reach files from now on. It may be called from any goroutine.
	Reach func() *msg.Reach
}

// Limits bound what programs take of the master's container.
type Limits struct {
	ContainerMB int // all of it
	EachMB      int // Go's soft limit of a program's memory (GOMEMLIMIT)
	Job         int // bytes of a job, as it is encoded; 0: what a message may have
	// Hold waits for room for a job of so many bytes before it is read; nil: there is room.
	Hold func(ctx context.Context, bytes int) (leave func(), err error)
}

// Drivers starts programs, and keeps those that run, for what all of them must hear. Make it with
// New; its methods may be called from any goroutine.
type Drivers struct {
	config  Config
	cluster Cluster
	logger  logrus.FieldLogger

	mu      sync.Mutex // guards running, and that each has its driver
	running map[*Process]struct{}
}

// New makes Drivers without programs.
func New(c Config, cluster Cluster, logger logrus.FieldLogger) *Drivers {
	return &Drivers{config: c, cluster: cluster, logger: logger, running: make(map[*Process]struct{})}
}

// UpdateTokens leaves new tokens for each program, in place of those that it has not been told
// yet. It does not wait.
func (d *Drivers) UpdateTokens(tokens msg.Secret) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for p := range d.running {
		select {
		case <-p.tokens:
		default:
		}
		p.tokens <- tokens
	}
}

// Note appends to the standard error of a program, whose logs have that name, why it failed, or
// what may be wrong with a job of it: people look there, and the program has told its master
// alone.
func (d *Drivers) Note(log, what string) {
	file, err := logging.OpenFile(d.config.LogDir, log+suffixStderr)
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

// begun takes in that a program's process runs.
func (d *Drivers) begun(p *Process, begun *driver.Driver) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p.driver = begun
}
