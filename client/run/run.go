// Package run runs a program and follows its jobs, on each target of `bobbin run`. It also
// starts sessions, stays with them and ends them.
//
// It parses no words and knows no flags: package cli does, which imports it. A Journal tells
// people what happens. Goroutines end with the call that starts them, but for one that reads
// the words of a person (Attach).
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Causes with which main ends the context. A terminal sends Ctrl-C to the programs
// that a command has started, too; other signals they must be told of.
var (
	ErrInterrupted = errors.New("interrupted") // Ctrl-C
	ErrTerminated  = fmt.Errorf("%w by a signal", ErrInterrupted)
)

// Printed is an error whose text the user has seen already.
type Printed struct{ Err error }

func (p Printed) Unwrap() error { return p.Err }
func (p Printed) Error() string { return p.Err.Error() }

// Request is a program to run, or a session to start.
type Request struct {
	Target     string // where it runs: one of config's
	Program    string // its file; with config.TargetApplication also the URI of one that the cluster has
	Arguments  []string
	Config     config.Config
	Executable string // path of this binary, which a new cluster runs, too
	*Journal
	Streams
	// Open connects to YARN. Find finds the session to run in; on is nil if the session's YARN is
	// not that of Open.
	Open func(ctx context.Context) (*client.Cluster, error)
	Find func(ctx context.Context, on *client.Cluster) (Site, error)
	limits
}

// limits has the options about following jobs, read once.
type limits struct {
	attached       bool          // the command follows jobs to their ends
	endsWithClient bool          // a followed job ends with the command
	beat           time.Duration // time between two heartbeats of the command
	beatLasts      time.Duration // the master cancels a job so long after the last heartbeat
	patience       time.Duration // how long a server may be silent while YARN says nothing of it
	patienceTold   string        // the option of patience, as the user set it
	slotWait       time.Duration // how long a job of a new cluster waits for a slot
}

func limitsOf(c config.Config) limits {
	return limits{
		attached: c.Bool(config.ExecutionAttached), endsWithClient: c.Bool(config.ShutdownOnAttachedExit),
		beat: c.Duration(config.ClientHeartbeatInterval), beatLasts: c.Duration(config.ClientHeartbeatTimeout),
		patience: c.Duration(config.ClientTimeout), patienceTold: c.Told(config.ClientTimeout),
		slotWait: c.Duration(config.SlotRequestTimeout),
	}
}

// Streams are those of the user, which a program that runs here gets.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// target is a cluster that takes a program with its jobs.
type target interface {
	// run returns when the program and its jobs have ended. Detached, it returns once they run.
	run(ctx context.Context) error
}

// Run runs a program on its target. When ErrInterrupted cancels ctx, Run kills an application that
// does not run yet. It leaves a running job, unless the options say that the job ends with its client.
func Run(ctx context.Context, r Request) error {
	r.limits = limitsOf(r.Config)
	var t target
	switch r.Target {
	case config.TargetLocal:
		t = local{r}
	case config.TargetApplication:
		t = application{r}
	case config.TargetPerJob:
		t = &perJob{Request: r, witness: witness{Journal: r.Journal}}
	case config.TargetRemote:
		t = remote{&session{Request: r}}
	default:
		t = &session{Request: r}
	}
	return t.run(ctx)
}

// withYARN opens YARN, calls do, and closes it.
func (r Request) withYARN(ctx context.Context, do func(on *client.Cluster) error) (err error) {
	on, err := r.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.Close()) }()
	return do(on)
}

// asksForHelp tells whether a program that executes nothing was meant to: Go's
// flags have three forms of the question.
func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" })
}
