// Package run runs a program and follows its jobs, on each target of `bobbin run`. It also starts, attends and
// stops sessions.
//
// It parses no command line and knows no flags: package cli does, and imports this package. A Journal tells
// people what happens. Goroutines end with the call that starts them, except the reader of the user's words
// (Attach, StartSession).
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

// Causes with which main cancels the context. A terminal also sends Ctrl-C to the programs that a command has
// started. The command must pass other signals on to them.
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
	Program    string // its file, or with config.TargetApplication the URI of a file on the cluster
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

// limits are the options about following jobs, read once.
type limits struct {
	attached       bool          // the command follows jobs to their ends
	endsWithClient bool          // a followed job ends with the command
	beat           time.Duration // time between two heartbeats of the command
	beatLasts      time.Duration // the master cancels a job this long after the last heartbeat
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

// Streams are the user's streams. A program that runs here uses them.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// target runs a program with its jobs.
type target interface {
	// run returns when the program and its jobs have ended. Detached, it returns once they run.
	run(ctx context.Context) error
}

// Run runs a program on its target. When ErrInterrupted cancels ctx, Run kills an application that
// does not run yet. A running job continues, unless the options say that the job ends with its client.
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

// asksForHelp tells whether the arguments of a program ask for its help, in one of the three forms of Go's
// flags.
func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" })
}
