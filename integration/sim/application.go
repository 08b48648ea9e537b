package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// application deploys an application whose program executes all jobs, and waits for its end.
func (w *World) application(ctx context.Context, c *client) error {
	if err := c.deploy(ctx, launch.Application, nil); err != nil {
		return err
	}
	return c.follow(ctx, c.over)
}

// planner is the process of a user's program beside its master, in the same container. It executes all
// jobs, one after the other. To its master it is a userdriver.Child, as driver.Driver is.
type planner struct {
	w         *World
	master    *master
	process   *engine.Process
	near, far channel // ends of their connection: the master's, and its own
	executed  bool    // the master has received a job
	exited    bool    // the master knows
	fault     error   // nil at its end: exit code 0
}

var _ userdriver.Child = (*planner)(nil)

// programs is what the master needs to run its program. A session runs none.
func (m *master) programs(mode launch.Mode) *appmaster.Programs {
	if mode != launch.Application {
		return nil
	}
	return &appmaster.Programs{WorkDir: "/container", Machine: userdriver.Machine{
		Start: m.startProgram,
		OpenLog: func(name string) (io.WriteCloser, error) {
			return programLog{m.w.logger.WithFields(logrus.Fields{"process": m.address(), "log": name})}, nil
		},
	}}
}

// programLog is a log of a program: a part of the transcript.
type programLog struct{ to logrus.FieldLogger }

func (l programLog) Write(text []byte) (int, error) {
	l.to.Info(strings.TrimSpace(string(text)))
	return len(text), nil
}

func (programLog) Close() error { return nil }

// startProgram starts the program, and exchanges hellos with it.
func (m *master) startProgram(ctx context.Context, _ string, _ []string, o driver.Options, begun func(userdriver.Child)) error {
	p := &planner{w: m.w, master: m, fault: errKilled}
	m.w.planners = append(m.w.planners, p)
	m.w.facts[Programs]++
	name := "program of " + m.address()
	p.process = m.w.engine.Start(name, func(ctx context.Context) { p.fault = p.run(ctx) }, func() { //nolint:contextcheck // another process
		m.w.ended(p.process)
		m.w.engine.After(time.Millisecond, m.process, func() { p.exited = true })
	})
	near, far := connect[msg.Message](m.w, "control of "+name, m.process, p.process, leastLocal, mostLocal)
	p.near, p.far = channel{near}, channel{far}
	begun(p)
	if _, err := p.receive(ctx); err != nil {
		return errors.Join(err, p.Close())
	}
	return p.Tell(msg.DriverStart{Config: o.Config, Detached: o.Detached, Reach: o.Reach, Accepted: o.Accepted})
}

// errKilled is how a program ends that does not end by itself.
var errKilled = errors.New("signal: killed")

// receive waits for a message of the program. The end of ctx closes the connection.
func (p *planner) receive(ctx context.Context) (msg.Message, error) {
	stop := sched.OnEnd(ctx, func() { p.near.hangUp() })
	defer stop()
	m, err := p.near.Receive()
	switch cause := context.Cause(ctx); {
	case err == nil:
		return m, nil
	case cause != nil:
		return nil, cause
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	p.master.process.Wait(func() bool { return p.exited })
	switch {
	case p.fault != nil:
		return nil, fmt.Errorf("%w: %w", driver.ErrExit, p.fault)
	case !p.executed:
		return nil, driver.ErrNoJob
	default:
		return nil, io.EOF
	}
}

// Next implements userdriver.Child.
func (p *planner) Next(ctx context.Context) (executed msg.ExecuteJob, leave func(), err error) {
	m, err := p.receive(ctx)
	if job, is := m.(msg.ExecuteJob); is {
		p.executed, executed = true, job
	}
	return executed, func() {}, err
}

// Tell implements userdriver.Child.
func (p *planner) Tell(m msg.Message) error { return p.near.Send(m) }

// HangUp implements userdriver.Child.
func (p *planner) HangUp() error { return p.near.Close() }

// PID implements userdriver.Child: nothing measures memory.
func (p *planner) PID() int { return 0 }

// Kill implements userdriver.Child.
func (p *planner) Kill() { p.w.engine.After(0, nil, p.process.Kill) }

// Close implements userdriver.Child. A program ends soon after its connection.
func (p *planner) Close() error {
	err := p.HangUp()
	p.master.process.Wait(func() bool { return p.exited })
	return err
}

// mostPlanning is how long the program may plan a job.
const mostPlanning = 3 * time.Second

// run is the program: it executes each job as env.Execute does.
func (p *planner) run(ctx context.Context) error {
	if err := p.far.Send(msg.DriverHello{ProtocolVersion: jobgraph.ProtocolVersion}); err != nil {
		return err
	}
	m, err := p.far.Receive()
	if err != nil {
		return err
	}
	start, is := m.(msg.DriverStart)
	if !is {
		return fmt.Errorf("unexpected %s", msg.Kind(m))
	}
	pace := p.w.stream("pace of " + p.process.Name)
	accepted := 0
	for _, j := range p.w.jobs {
		if err := sched.Sleep(ctx, between(pace, 0, mostPlanning)); err != nil {
			return err
		}
		if err := p.execute(j, accepted < start.Accepted); err != nil {
			return fmt.Errorf("execute %s: %w", j.id, err)
		}
		accepted++
	}
	return nil
}

// outputExists is what the planning of a job says whose output is there.
const outputExists = "output exists already"

// execute executes a job, and waits for its end. If the master may have the job, the program prepares it only when it is
// asked to.
func (p *planner) execute(j *job, again bool) error {
	graph := j.graph
	if again {
		graph = unprepared(graph)
	} else if p.writtenBefore(j) > 0 {
		return p.told(j, msg.JobEnded{Status: msg.JobFailed, Failure: msg.NewFailure(outputExists, "")})
	}
	if err := p.far.Send(msg.ExecuteJob{Graph: graph, Unprepared: again}); err != nil {
		return err
	}
	for {
		m, err := p.far.Receive()
		if err != nil {
			return err
		}
		if _, is := m.(msg.PrepareJob); is {
			return p.execute(j, false)
		}
		if err := p.told(j, m); err != nil || msg.Kind(m) == msg.Kind(msg.JobEnded{}) {
			return err
		}
	}
}

// unprepared returns a graph without inputs and outputs.
func unprepared(g jobgraph.JobGraph) jobgraph.JobGraph {
	g.Vertices = slices.Clone(g.Vertices)
	for i := range g.Vertices {
		g.Vertices[i].Splits, g.Vertices[i].Outputs = nil, nil
	}
	return g
}

// told shows what the program is told of a job to the rules. The error is why the program ends.
func (p *planner) told(j *job, m msg.Message) error {
	if p.deniedBy(j, m) > 0 {
		p.w.excuse(p.master.attempt.Application, "an earlier attempt has written its output")
	}
	p.w.watch.answer(p, j, m)
	if ended, is := m.(msg.JobEnded); is && ended.Status != msg.JobFinished {
		return fmt.Errorf("%w: %s", errNotFinished, ended.Status)
	}
	return nil
}

// deniedBy returns the earlier attempt of the application because of whose output a job has failed; 0: it has not.
func (p *planner) deniedBy(j *job, m msg.Message) int32 {
	ended, is := m.(msg.JobEnded)
	if !is || ended.Failure == nil || !strings.Contains(ended.Failure.Message, outputExists) {
		return 0
	}
	return p.writtenBefore(j)
}

// writtenBefore returns the earlier attempt of the application that has written an output of a job, or has begun
// to; 0: none has.
func (p *planner) writtenBefore(j *job) int32 {
	for _, dir := range j.outputs() {
		if attempt := p.w.commits[dir]; attempt > 0 && attempt < p.master.attempt.Attempt {
			return attempt
		}
	}
	return 0
}
