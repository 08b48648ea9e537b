package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// session is the target that submits jobs to a session that runs.
type session struct {
	site
	cfg      config.Config
	program  program.Program
	attached bool
	say      *progress.Printer
	timeline *client.Timeline

	ready   chan struct{} // closed when the program is there, or is known not to be
	failure error         // why not; read once ready is closed
	// reached is the ApplicationMaster that has the program, or the one after it; nil: none
	// was reached. It is used once ready is closed.
	reached *client.ClusterClient
}

// open begins to bring the program to the session, while the driver plans. end stops
// that, and waits for it. It closes the connections.
func (s *session) open(ctx context.Context) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.ready = make(chan struct{})
	go func() {
		defer close(s.ready)
		s.failure = s.bring(ctx)
	}()
	return func() {
		cancel()
		<-s.ready
		if s.reached != nil {
			s.reached.Close()
		}
	}
}

// bring brings the program to the session, unless it has it.
func (s *session) bring(ctx context.Context) error {
	reached, _, err := s.reach(ctx)
	if err != nil {
		return err
	}
	s.reached = reached
	s.timeline.Done("session reached")
	has, err := reached.HasProgram(ctx, s.program.SHA256)
	if err != nil || has {
		return err
	}
	var read atomic.Bool // somebody else may bring it meanwhile
	err = reached.UploadProgram(ctx, s.program, func(done int64) {
		read.Store(true)
		s.say.Moving(s.program.Name, "uploading "+s.program.Name+": "+progress.Bytes(done, s.program.Size))
	})
	if err == nil && read.Load() {
		s.timeline.Done("uploaded " + s.program.Name)
	}
	return err
}

func (s *session) submit(ctx context.Context, graph *jobgraph.JobGraph) (*running, error) {
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.failure != nil {
		return nil, s.explain(ctx, fmt.Errorf("bring program %s to %s: %w", s.program.Name, s, s.failure))
	}
	job := restapi.JobSubmission{
		Graph: *graph, Attached: s.attached,
		Program: restapi.ProgramID{Name: s.program.Name, SHA256: s.program.SHA256},
	}
	if s.attached && s.cfg.Bool(config.ShutdownOnAttachedExit) {
		job.ClientHeartbeatTimeout = s.cfg.Duration(config.ClientHeartbeatTimeout).Milliseconds()
	}
	submission := client.NewSubmission(job)
	if err := s.hand(ctx, submission); err != nil {
		err = s.explain(ctx, fmt.Errorf("submit job %s to %s: %w", graph.Name, s, err))
		return nil, errors.Join(err, submission.Withdraw(ctx, s.reached))
	}
	id := submission.ID()
	s.timeline.Done("submitted")
	s.say.Line("submitted job %s (%s) to %s", graph.Name, id, s)
	s.adviseOnSize(ctx, graph.Slots())
	return &running{
		id: id, application: s.application(), name: fmt.Sprintf("job %s (%s)", graph.Name, id), place: s,
		goOn: fmt.Sprintf("Its state: bobbin list %s. To end it: bobbin cancel %s %s", s.means(), s.means(), id),
	}, nil
}

// hand hands a job over: to the ApplicationMaster of the time, if the last one is gone.
func (s *session) hand(ctx context.Context, job *client.Submission) error {
	err := job.Bring(ctx, s.reached)
	if !client.Gone(err) || ctx.Err() != nil {
		return err
	}
	reached, _, failed := s.reach(ctx)
	if failed != nil {
		return errors.Join(err, failed)
	}
	s.reached.Close()
	s.reached = reached
	return job.Bring(ctx, reached)
}

// explain puts the interruption in place of what it led to.
func (s *session) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// lost knows that jobs do not outlive the ApplicationMaster that runs them.
func (s *session) lost(_ context.Context, cause error) (msg.JobEnded, error) {
	if errors.Is(cause, errNextAttempt) {
		return msg.JobEnded{}, fmt.Errorf("%s has a new ApplicationMaster, and the job was lost with the last one: run it again", s)
	}
	return msg.JobEnded{}, cause
}

// settle has nothing to wait for: the session goes on.
func (s *session) settle(context.Context) error { return nil }
