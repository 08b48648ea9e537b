// Package driver runs a user's program as a driver: it plans and hands JobGraphs
// over a control socket, while stdin, stdout and stderr stay the user's. The client
// does so, and in its place the ApplicationMaster of an application or of a session.
//
// The package starts no goroutines of its own.
package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/orphans"
)

// Errors that callers test with errors.Is.
var (
	// ErrNoJob says that the driver ended without executing a job.
	ErrNoJob = errors.New("no job was executed: the program's driver must call env.Execute")
	// ErrProtocolVersion says that the program speaks another protocol version.
	ErrProtocolVersion = errors.New("program and bobbin speak different protocol versions")
	// ErrExit says that the program ended with an exit code other than 0.
	ErrExit = errors.New("program failed")
)

// stopGrace is how long a driver may take to end once its socket is closed.
const stopGrace = 5 * time.Second

// outputGrace is how long the output of an ended driver may be held open by what it has left behind,
// where that is killed then: until then nobody counts its memory, at which the NodeManager looks every 3 s.
const outputGrace = time.Second

// Options say how a driver runs.
type Options struct {
	Config   map[string]string // options of the command line and conf/bobbin.yaml
	Detached bool              // Execute returns once the job runs
	Reach    *msg.Reach        // how it reaches files; nil: by what its environment names
	Env      []string          // its environment; nil: that of this process
	Stdin    io.Reader         // nil: nothing
	Stdout   io.Writer
	Stderr   io.Writer
	// Begun is given the process before it has said anything, for what may be called from
	// any goroutine; nil: nobody wants it.
	Begun func(*Driver)
	// Listing hears each second, while Next waits for a job whose input is listed, how many
	// files were found; nil: nobody does.
	Listing func(files int)
	// MaxJob bounds a job that the driver executes, in bytes as it is encoded; 0: what a
	// message may have, 64 MiB.
	MaxJob int
	// Hold waits for room for a job of so many bytes before it is read; leave gives it back.
	// nil: there is room.
	Hold func(ctx context.Context, bytes int) (leave func(), err error)
	// LeftBehind hears, when the process has ended, how many processes it has left behind, which are
	// killed; 0 is not told. Kill ends them, too. nil: they go on, as on a machine that is the user's.
	LeftBehind func(processes int)
}

// PlanError is what went wrong while planning, in words for people; the program
// has printed nothing of it.
type PlanError struct {
	Message string
	Stack   string // of the user's code, after a panic; or ""
}

func (e *PlanError) Error() string { return e.Message }

// Driver is a running driver. It is used by one goroutine, but for Tell, HangUp, PID
// and Kill.
type Driver struct {
	program  string
	cmd      *exec.Cmd
	conn     *control.Conn
	executed bool
	hold     func(ctx context.Context, bytes int) (leave func(), err error) // nil: there is room
	listing  func(files int)
	mark     string              // of what the process starts; "": that is left alone
	left     func(processes int) // hears of what it has left behind, where there is a mark
}

// Start starts the program with its arguments and exchanges hellos. The caller
// ends it with Close.
func Start(ctx context.Context, program string, args []string, o Options) (*Driver, error) {
	conn, child, err := control.Pair()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	// Not bound to ctx: Close ends the process, and lets it end by itself first.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
	if o.Env == nil {
		o.Env = os.Environ()
	}
	cmd.Env = append(slices.Clone(o.Env), control.Variable+"="+control.Value(control.RoleDriver, control.ChildFD))
	cmd.ExtraFiles = []*os.File{child}
	cmd.WaitDelay = stopGrace
	mark := ""
	if o.LeftBehind != nil {
		mark = ids.Random()
		cmd.Env = append(cmd.Env, orphans.Mark(mark))
		cmd.WaitDelay = outputGrace
	}
	err = cmd.Start()
	if err = errors.Join(err, child.Close()); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, errors.Join(err, conn.Close()))
	}
	d := &Driver{program: program, cmd: cmd, conn: control.New(conn, msg.DriverToStarter), hold: o.Hold, listing: o.Listing, mark: mark, left: o.LeftBehind}
	d.conn.Bound(o.MaxJob)
	if o.Begun != nil {
		o.Begun(d)
	}
	if err := d.hello(ctx, o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Driver) hello(ctx context.Context, o Options) error {
	m, leave, err := d.receive(ctx)
	leave()
	if errors.Is(err, io.EOF) {
		return d.ended(ctx)
	}
	if err != nil {
		return err
	}
	hello, ok := m.(msg.DriverHello)
	if !ok {
		return fmt.Errorf("start %s: %w", d.program, unexpected(m))
	}
	if hello.ProtocolVersion != jobgraph.ProtocolVersion {
		return fmt.Errorf("start %s: %w: %d and %d; build both from the same release",
			d.program, ErrProtocolVersion, hello.ProtocolVersion, jobgraph.ProtocolVersion)
	}
	err = d.conn.Send(msg.DriverStart{Config: o.Config, Detached: o.Detached, Reach: o.Reach})
	if cause := context.Cause(ctx); err != nil && cause != nil { // it has closed the connection
		return cause
	}
	return err
}

// Next waits until the driver executes a job. It gives io.EOF when the driver
// has ended well after executing one, ErrNoJob when it ended without, ErrExit
// when it failed, a *PlanError when a job could not be planned, and msg.ErrJobTooLarge when
// one has more than Options.MaxJob. leave gives back the room of that job alone, and is never
// nil: the caller calls it once, from any goroutine, when it holds the job otherwise, or not at all.
// After an error it need not.
func (d *Driver) Next(ctx context.Context) (graph jobgraph.JobGraph, leave func(), err error) {
	m, left, err := d.word(ctx)
	if err == nil {
		graph, err = d.job(m)
	}
	switch {
	case err == nil:
		return graph, left, nil
	case errors.Is(err, io.EOF):
		err = d.ended(ctx)
	case errors.Is(err, control.ErrTooLong):
		err = fmt.Errorf("job of %s: %w: %w", d.program, msg.ErrJobTooLarge, err)
	}
	left()
	return jobgraph.JobGraph{}, func() {}, err
}

// job is the job that a driver executes with its message.
func (d *Driver) job(m msg.Message) (jobgraph.JobGraph, error) {
	switch m := m.(type) {
	case msg.ExecuteJob:
		if err := m.Graph.Validate(); err != nil {
			return jobgraph.JobGraph{}, fmt.Errorf("job of %s: %w", d.program, err)
		}
		d.executed = true
		return m.Graph, nil
	case msg.DriverFailed:
		return jobgraph.JobGraph{}, &PlanError{Message: m.Message, Stack: m.Stack}
	default:
		return jobgraph.JobGraph{}, fmt.Errorf("job of %s: %w", d.program, unexpected(m))
	}
}

// Tell sends the driver an answer to its job: JobAccepted, CollectedRecords,
// JobEnded. It may be called from any goroutine, and blocks while the driver reads
// nothing.
func (d *Driver) Tell(m msg.Message) error { return d.conn.Send(m) }

// HangUp closes the connection: Next and Tell end, and so does the driver when it
// finds out. It may be called from any goroutine, and again.
func (d *Driver) HangUp() error { return d.conn.Close() }

// PID is the process' id.
func (d *Driver) PID() int { return d.cmd.Process.Pid }

// Kill ends the process at once, for Next to find out. It may be called from any
// goroutine, and when the process has ended.
func (d *Driver) Kill() {
	_ = d.cmd.Process.Kill() // gone already: no harm
	if d.mark != "" {
		orphans.End(d.mark) // what it has started, and nobody counts from here on
	}
}

// Close ends the connection and waits for the process, which is killed when it
// goes on for more than 5 s. It may be called again.
func (d *Driver) Close() error {
	err := d.HangUp()
	d.wait()
	return err
}

// wait waits for the process, whose connection is closed at one of its ends, and
// kills it when it goes on for too long. Its outcome is in cmd.ProcessState then.
func (d *Driver) wait() {
	if d.cmd.ProcessState != nil {
		return
	}
	kill := time.AfterFunc(stopGrace, d.Kill)
	defer kill.Stop()
	_ = d.cmd.Wait()
	if d.mark != "" {
		if n := orphans.End(d.mark); n > 0 {
			d.left(n)
		}
	}
}

// ended tells how a driver ended that closed its socket by itself. Ctrl-C reaches the program,
// too: one that has just begun may die of it before ctx ends.
func (d *Driver) ended(ctx context.Context) error {
	d.wait()
	cause := context.Cause(ctx)
	switch state := d.cmd.ProcessState; {
	case !state.Success() && cause != nil:
		return cause
	case !state.Success():
		return fmt.Errorf("%w: %s: %v", ErrExit, d.program, state)
	case !d.executed:
		return fmt.Errorf("%s: %w", d.program, ErrNoJob)
	default:
		return io.EOF
	}
}

// word receives what a driver says of its jobs, and passes on how far it is until then.
func (d *Driver) word(ctx context.Context) (m msg.Message, leave func(), err error) {
	for {
		m, leave, err = d.receive(ctx)
		listing, is := m.(msg.ListingInput)
		if err != nil || !is {
			return m, leave, err
		}
		leave()
		if d.listing != nil {
			d.listing(listing.Files)
		}
	}
}

// receive waits for a message; the end of ctx closes the connection. leave gives back the
// room that is held for the message.
func (d *Driver) receive(ctx context.Context) (_ msg.Message, leave func(), err error) {
	stop := context.AfterFunc(ctx, func() { _ = d.conn.Close() }) // Receive reports it
	defer stop()
	leave = func() {}
	var hold func(int) error
	if d.hold != nil {
		hold = func(bytes int) error {
			left, err := d.hold(ctx, bytes)
			if err == nil {
				leave = left
			}
			return err
		}
	}
	m, err := d.conn.ReceiveHeld(hold)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return m, leave, err
}

func unexpected(m msg.Message) error {
	return fmt.Errorf("unexpected %s from the driver", msg.Kind(m))
}
