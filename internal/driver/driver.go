// Package driver runs a user's program as a driver. The program plans jobs and passes JobGraphs
// over a control socket; stdin, stdout and stderr stay the user's. The client runs drivers. The
// ApplicationMaster of an application or a session runs them too.
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
	// ErrNoJob says that the driver ended without a job.
	ErrNoJob = errors.New("no job was executed: the program's driver must call env.Execute")
	// ErrProtocolVersion says that the program speaks another protocol version.
	ErrProtocolVersion = errors.New("program and bobbin speak different protocol versions")
	// ErrExit says that the program ended with an exit code other than 0.
	ErrExit = errors.New("program failed")
)

// stopGrace is the time in which a driver must end after its socket is closed.
const stopGrace = 5 * time.Second

// outputGrace is how long processes that a driver has left behind may keep its output open, before they
// are killed. Nothing counts their memory until then, and the NodeManager checks it every 3 s.
const outputGrace = time.Second

// Options configure a driver.
type Options struct {
	Config   map[string]string // options of the command line and conf/bobbin.yaml
	Detached bool              // Execute returns once the job runs
	Reach    *msg.Reach        // how it reaches files; nil: as its environment says
	Accepted int               // number of jobs of an earlier run that the cluster has accepted; see msg.DriverStart
	Env      []string          // its environment; nil: this process's
	Stdin    io.Reader         // nil: nothing
	Stdout   io.Writer
	Stderr   io.Writer
	// Begun receives the Driver before the process has sent anything. It may call only methods that
	// any goroutine may call. nil: not called.
	Begun func(*Driver)
	// Listing receives the number of files found so far, each second while the driver lists the
	// input of a job. nil: not called.
	Listing func(files int)
	// MaxJob bounds an encoded job, in bytes. 0: the bound of a message, 64 MiB.
	MaxJob int
	// Hold waits for room for a job of this many bytes before the job is read. leave gives the room
	// back. nil: there is always room.
	Hold func(ctx context.Context, bytes int) (leave func(), err error)
	// LeftBehind is set if processes that the driver leaves behind must be killed: at its end, and by
	// Kill. It receives their number after the driver's end, if there are any. nil: they go on, as they
	// should on the user's own machine.
	LeftBehind func(processes int)
}

// PlanError says why planning failed, for users. The program has not printed it.
type PlanError struct {
	Message string
	Stack   string // of the user's code, after a panic; or ""
}

func (e *PlanError) Error() string { return e.Message }

// Driver is a running driver. Only one goroutine may use it, but any goroutine may call Tell, HangUp,
// PID and Kill.
type Driver struct {
	program  string
	cmd      *exec.Cmd
	conn     *control.Conn
	executed bool
	again    bool                                                           // an earlier run has executed jobs, so that some may come unprepared
	hold     func(ctx context.Context, bytes int) (leave func(), err error) // nil: there is always room
	listing  func(files int)
	mark     string              // marks the processes that the driver starts; "": they are left alone
	left     func(processes int) // Options.LeftBehind
}

// Start starts the program with its arguments and exchanges hellos with it. The caller ends the
// driver with Close.
func Start(ctx context.Context, program string, args []string, o Options) (*Driver, error) {
	conn, child, err := control.Pair()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	// The process is not bound to ctx: Close first lets it end by itself.
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
		cmd.Env = orphans.Mark(cmd.Env, mark)
		cmd.WaitDelay = outputGrace
	}
	err = cmd.Start()
	if err = errors.Join(err, child.Close()); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, errors.Join(err, conn.Close()))
	}
	d := &Driver{program: program, cmd: cmd, conn: control.New(conn, msg.DriverToStarter), hold: o.Hold, listing: o.Listing, again: o.Accepted > 0, mark: mark, left: o.LeftBehind}
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
	err = d.conn.Send(msg.DriverStart{Config: o.Config, Detached: o.Detached, Reach: o.Reach, Accepted: o.Accepted})
	if cause := context.Cause(ctx); err != nil && cause != nil { // the end of ctx has closed the connection
		return cause
	}
	return err
}

// Next waits until the driver executes a job. The error is io.EOF if the driver ended successfully
// after a job, ErrNoJob if it ended without a job, ErrExit if it failed, a *PlanError if it could
// not plan a job, and msg.ErrJobTooLarge if a job is larger than Options.MaxJob. A job is unprepared
// only if Options.Accepted is above 0. leave gives back the room of this job only, and is never nil.
// The caller calls it once, from any goroutine, when it no longer needs the room. After an error it
// may omit the call.
func (d *Driver) Next(ctx context.Context) (job msg.ExecuteJob, leave func(), err error) {
	m, left, err := d.word(ctx)
	if err == nil {
		job, err = d.job(m)
	}
	switch {
	case err == nil:
		return job, left, nil
	case errors.Is(err, io.EOF):
		err = d.ended(ctx)
	case errors.Is(err, control.ErrTooLong):
		err = fmt.Errorf("job of %s: %w: %w", d.program, msg.ErrJobTooLarge, err)
	}
	left()
	return msg.ExecuteJob{}, func() {}, err
}

// job returns the job of a message from the driver.
func (d *Driver) job(m msg.Message) (msg.ExecuteJob, error) {
	switch m := m.(type) {
	case msg.ExecuteJob:
		if err := m.Graph.Validate(); err != nil {
			return msg.ExecuteJob{}, fmt.Errorf("job of %s: %w", d.program, err)
		}
		if m.Unprepared && !d.again {
			return msg.ExecuteJob{}, fmt.Errorf("job of %s: %w", d.program, msg.ErrNotPrepared)
		}
		d.executed = true
		return m, nil
	case msg.DriverFailed:
		return msg.ExecuteJob{}, &PlanError{Message: m.Message, Stack: m.Stack}
	default:
		return msg.ExecuteJob{}, fmt.Errorf("job of %s: %w", d.program, unexpected(m))
	}
}

// Tell sends the driver an answer to its job: PrepareJob, JobAccepted, CollectedRecords or JobEnded. Any
// goroutine may call it. It blocks while the driver reads nothing.
func (d *Driver) Tell(m msg.Message) error { return d.conn.Send(m) }

// HangUp closes the connection. Next and Tell then return, and the driver ends when it notices. Any
// goroutine may call HangUp, more than once.
func (d *Driver) HangUp() error { return d.conn.Close() }

// PID returns the process id.
func (d *Driver) PID() int { return d.cmd.Process.Pid }

// Kill kills the process; Next then returns. Any goroutine may call it, also after the process has
// ended.
func (d *Driver) Kill() {
	_ = d.cmd.Process.Kill() // no harm if it has ended
	if d.mark != "" {
		orphans.End(d.mark) // its memory is not counted any more
	}
}

// Close ends the connection and waits for the process. It kills a process that runs for 5 s more.
// It may be called more than once.
func (d *Driver) Close() error {
	err := d.HangUp()
	d.wait()
	return err
}

// wait waits for the process after one end of its connection was closed, and kills it if it takes
// too long. cmd.ProcessState then has its outcome.
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

// ended returns the error for a driver that closed its socket itself. Ctrl-C reaches the program
// too: a program that has just started may die of it before ctx ends.
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

// word receives the driver's next message about jobs. Until then it passes on the progress of listings.
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

// receive waits for a message. The end of ctx closes the connection. leave gives back the room that
// is held for the message.
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
