package bobbin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/hadoopenv"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/codec"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// Errors of a driver under the client.
var (
	// errClientGone says that the client has ended, usually by Ctrl-C.
	errClientGone = errors.New("the client has ended")
	// errDetachedCollect refuses a detached job that collects a result: no process would fetch the result.
	errDetachedCollect = errors.New("a job that collects its result cannot run detached: leave out -d, or write to a file")
	// errJobFailed is a job that did not finish. The client prints the reason.
	errJobFailed = errors.New("job did not finish")
	// errJobLeft refuses a job if an earlier Execute returned before the end of its job, usually because its
	// context ended. Execute cannot always tell which of the two jobs a message is about.
	errJobLeft = errors.New("an earlier Execute returned before the end of its job: wait for each job, or run detached")
)

// runDriver runs the driver for the client at the other end of the socket.
func runDriver(driver Driver, conn *control.Conn) int {
	// Ctrl-C reaches the whole foreground group. The client decides what it means, and the end of the socket
	// tells that the client has ended. The driver reads no signals. It does not ignore them, because programs
	// that it starts would inherit that.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, os.Interrupt, syscall.SIGTERM)
	start, err := greet(conn)
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) { // Ctrl-C ended the client early
		return exitInterrupted
	}
	if err != nil {
		return fail(err)
	}
	options, err := config.New(config.Layer{Source: "client", Values: config.Known(start.Config)})
	if err != nil {
		return report(conn, err)
	}
	var tokens dfs.Tokens
	files, err := filesOf(start, options, &tokens)
	if err != nil {
		return report(conn, err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	context.AfterFunc(ctx, func() { signal.Stop(unread) }) // without the client, signals end the process
	executor := newRemote(conn, start.Detached)
	go executor.receive(ctx, &tokens, cancel)

	env := dataflow.NewEnv(dataflow.EnvOptions{
		Args: os.Args[1:], Config: start.Config, FileSystem: files, Executor: executor, Accepted: start.Accepted,
		Listing: func(files int) { _ = conn.Send(msg.ListingInput{Files: files}) }, // receive notices if the client has gone
	})
	code := make(chan int, 1)
	go func() { // ends with the process, at the latest
		code <- outcome(conn, errors.Join(call(ctx, driver, env), files.Close()))
	}()
	select {
	case c := <-code:
		return c
	case <-ctx.Done():
	}
	late := time.NewTimer(leaveTime)
	defer late.Stop()
	select {
	case c := <-code:
		return c
	case <-late.C: // for example, the driver is in a plan function, which gets no context
		return exitInterrupted
	}
}

// leaveTime is how long a driver may take to end after its client has gone.
const leaveTime = 2 * time.Second

// outcome is the exit code for the error that the driver returned, or for nil. It reports the error to the
// client, unless the client knows it already.
func outcome(conn *control.Conn, err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errClientGone):
		return exitInterrupted
	case errors.Is(err, errJobFailed):
		return exitFailed
	default:
		return report(conn, err)
	}
}

func greet(conn *control.Conn) (msg.DriverStart, error) {
	if err := conn.Send(msg.DriverHello{ProtocolVersion: jobgraph.ProtocolVersion}); err != nil {
		return msg.DriverStart{}, err
	}
	m, err := conn.Receive()
	if err != nil {
		return msg.DriverStart{}, err
	}
	start, ok := m.(msg.DriverStart)
	if !ok {
		return msg.DriverStart{}, fmt.Errorf("unexpected %s from the client", msg.Kind(m))
	}
	return start, nil
}

// report tells the client why the driver fails. If that is not possible, it prints the error for the user.
func report(conn *control.Conn, err error) int {
	failed := msg.DriverFailed{Message: err.Error()}
	if panicked, ok := errors.AsType[*dataflow.PlanPanic](err); ok {
		failed.Stack = panicked.Stack
	}
	if conn.Send(failed) != nil {
		return fail(err)
	}
	return exitFailed
}

// filesOf opens the cluster's files for a driver. In the cluster it uses the Hadoop configuration and the user
// that the ApplicationMaster sent, and always the newest tokens. Elsewhere it calls openFiles.
func filesOf(start msg.DriverStart, options config.Config, tokens *dfs.Tokens) (*dfs.FS, error) {
	if start.Reach == nil {
		return openFiles(options)
	}
	if err := tokens.Update(start.Reach.Tokens); err != nil {
		return nil, fmt.Errorf("read tokens of the cluster: %w", err)
	}
	return dfs.Carried(dfs.Handed{
		HadoopConf: start.Reach.HadoopConf, User: start.Reach.User, Logger: progress.Servers(os.Stderr),
		Credentials: tokens.Load,
	})
}

// openFiles opens these file systems: that of the cluster in the Hadoop configuration, those that options and
// URIs name, and the local disk.
func openFiles(options config.Config) (*dfs.FS, error) {
	env := hadoopenv.Without(os.Getenv, options)
	if hadoopenv.Named(os.Getenv) {
		var err error
		if env, err = hadoopenv.Read(os.Getenv, options); err != nil {
			return nil, err
		}
	}
	who, err := env.Identify(os.Getenv, options)
	if err != nil {
		return nil, err
	}
	return dfs.New(dfs.Options{
		Conf: env.Conf, User: who.User, RealUser: who.RealUser, Login: who.Kerberos(),
		Credentials: func() *creds.Credentials { return who.Credentials },
		Patience:    options.Duration(config.ClientTimeout), Limit: options.Told(config.ClientTimeout),
		Logger: progress.Servers(os.Stderr),
	}), nil
}

// remote executes jobs through the client, one after the other.
type remote struct {
	conn     *control.Conn
	answers  chan msg.Message // from receive to Execute; never closed
	left     chan struct{}    // closed by an Execute that returns before the end of its job
	detached bool
}

func newRemote(conn *control.Conn, detached bool) *remote {
	return &remote{conn: conn, answers: make(chan msg.Message), left: make(chan struct{}), detached: detached}
}

// receive passes the client's messages to Execute, and replaces the tokens when new ones come. It cancels ctx
// when the client has ended, or when it cannot read a message.
func (r *remote) receive(ctx context.Context, tokens *dfs.Tokens, cancel context.CancelCauseFunc) {
	for {
		m, err := r.conn.Receive()
		if update, is := m.(msg.UpdateTokens); is && err == nil {
			if err = tokens.Update(update.Tokens); err == nil {
				continue
			}
		}
		if errors.Is(err, io.EOF) {
			err = errClientGone
		}
		if err != nil {
			cancel(err)
			return
		}
		select {
		case r.answers <- m:
		case <-r.left: // nobody reads answers any more
		case <-ctx.Done():
			return
		}
	}
}

// Execute hands the graph to the client, and waits for the job's end. If the job runs detached, Execute waits
// only until the cluster has accepted the job.
func (r *remote) Execute(ctx context.Context, x dataflow.Execution) (dataflow.ExecutionResult, error) {
	var result dataflow.ExecutionResult
	if r.detached && slices.ContainsFunc(x.Graph.Vertices, func(v jobgraph.Vertex) bool { return v.Collect != "" }) {
		return result, fmt.Errorf("execute job %s: %w", x.Graph.Name, errDetachedCollect)
	}
	select {
	case <-r.left:
		return result, fmt.Errorf("execute job %s: %w", x.Graph.Name, errJobLeft)
	default:
	}
	err := r.conn.Send(msg.ExecuteJob{Graph: x.Graph, Unprepared: x.Unprepared})
	switch {
	case errors.Is(err, syscall.EPIPE): // receive may not have noticed it yet
		err = errClientGone
	case errors.Is(err, codec.ErrTooLarge):
		err = fmt.Errorf("%w: its input has %d files: read fewer at a time, or join small ones", err, inputFiles(&x.Graph))
	}
	if err != nil {
		return result, fmt.Errorf("execute job %s: %w", x.Graph.Name, err)
	}
	for {
		var answer msg.Message
		select {
		case answer = <-r.answers:
		case <-ctx.Done():
			return result, r.leave(x, context.Cause(ctx))
		}
		switch m := answer.(type) {
		case msg.PrepareJob:
			return result, fmt.Errorf("execute job %s: %w", x.Graph.Name, dataflow.ErrNotPrepared)
		case msg.JobAccepted:
			result.JobID = string(m.Job)
			if r.detached {
				result.Detached = true
				return result, nil
			}
		case msg.CollectedRecords:
			if err := x.Collected(m.Name, m.Epoch, m.Records); err != nil {
				return result, r.leave(x, err)
			}
		case msg.JobEnded:
			if m.Failure == nil && m.Status != msg.JobFinished {
				return result, fmt.Errorf("%w: job %s is %s", errJobFailed, x.Graph.Name, m.Status)
			}
			if m.Failure != nil {
				return result, fmt.Errorf("%w: job %s is %s: %w", errJobFailed, x.Graph.Name, m.Status, m.Failure)
			}
			result.Duration, result.Counters = m.Duration, m.Counters
			return result, nil
		default:
			return result, r.leave(x, fmt.Errorf("unexpected %s from the client", msg.Kind(answer)))
		}
	}
}

// inputFiles counts the files that a job's sources read.
func inputFiles(g *jobgraph.JobGraph) (n int) {
	for _, v := range g.Vertices {
		for _, s := range v.Splits {
			n += len(s.Parts)
		}
	}
	return n
}

// leave gives up a job before its end.
func (r *remote) leave(x dataflow.Execution, why error) error {
	close(r.left)
	return fmt.Errorf("execute job %s: %w", x.Graph.Name, why)
}
