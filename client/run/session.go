package run

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// session is the target that submits jobs to a running session. The driver runs here and plans the jobs.
type session struct {
	Request
	site    Site
	program program.Program

	ready   chan struct{} // closed when the session has the program, or bring has failed
	failure error         // of bring; read once ready is closed
	// reached is the ApplicationMaster that has the program, or its successor; nil if none was reached. It is
	// used once ready is closed.
	reached *client.ClusterClient
}

func (s *session) run(ctx context.Context) error {
	s.adviseDetached()
	return s.withYARN(ctx, func(on *client.Cluster) error { return s.runOn(ctx, on) })
}

// remote is the target of a session whose YARN is not available on this machine.
type remote struct{ *session }

func (s remote) run(ctx context.Context) error {
	s.adviseDetached()
	return s.runOn(ctx, nil)
}

// adviseDetached warns of an option that has no effect.
func (r Request) adviseDetached() {
	if r.endsWithClient && !r.attached {
		r.Line("%s has no effect with -d: this command does not follow the job", config.ShutdownOnAttachedExit)
	}
}

// runOn runs the program. on is the YARN of its session; nil if that is not available here.
func (s *session) runOn(ctx context.Context, on *client.Cluster) (err error) {
	defer s.Finish() // an error begins on a new line
	if s.program, err = program.Inspect(s.Program, program.Native()); err != nil {
		return err
	}
	if s.site, err = s.Find(ctx, on); err != nil {
		return err
	}
	s.Outcome.Application = s.site.Application()
	defer s.open(ctx)()
	return s.drive(ctx, s.program.Path, s)
}

// open starts to bring the program to the session, while the driver plans. end stops that, waits for it, and
// closes the connections.
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

// bring uploads the program to the session, unless the session has it.
func (s *session) bring(ctx context.Context) error {
	reached, err := s.site.Reach(ctx)
	if err != nil {
		return err
	}
	s.reached = reached
	s.done("session reached")
	has, err := reached.HasProgram(ctx, s.program.SHA256)
	if err != nil || has {
		return err
	}
	var read atomic.Bool // another client may upload it at the same time
	err = reached.UploadProgram(ctx, s.program, func(done int64) {
		read.Store(true)
		s.uploading(s.program.Name, done, s.program.Size)
	})
	if err == nil && read.Load() {
		s.done("uploaded " + s.program.Name)
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
		return nil, s.explain(ctx, fmt.Errorf("bring program %s to %s: %w", s.program.Name, s.site, s.failure))
	}
	job := restapi.JobSubmission{
		Graph: *graph, Attached: s.attached,
		Program: restapi.ProgramID{Name: s.program.Name, SHA256: s.program.SHA256},
	}
	if s.attached && s.endsWithClient {
		job.ClientHeartbeatTimeout = s.beatLasts.Milliseconds()
	}
	submission := client.NewSubmission(job)
	if err := s.hand(ctx, submission); err != nil {
		err = s.explain(ctx, fmt.Errorf("submit job %s to %s: %w", graph.Name, s.site, err))
		return nil, errors.Join(err, submission.Withdraw(ctx, s.reached))
	}
	id := submission.ID()
	s.done("submitted")
	s.Line("submitted job %s (%s) to %s", graph.Name, id, s.site)
	s.adviseOnSize(ctx, graph.Slots())
	return &running{
		id: id, application: s.site.Application(), name: fmt.Sprintf("job %s (%s)", graph.Name, id),
		goOn:     fmt.Sprintf("Its state: bobbin list %s. To end it: bobbin cancel %s %s", s.site.means(), s.site.means(), id),
		slotWait: s.waits(),
	}, nil
}

// hand submits a job. If the last ApplicationMaster is gone, it submits to the present one.
func (s *session) hand(ctx context.Context, job *client.Submission) error {
	err := job.Bring(ctx, s.reached)
	if !client.Gone(err) || ctx.Err() != nil {
		return err
	}
	reached, failed := s.site.Reach(ctx)
	if failed != nil {
		return errors.Join(err, failed)
	}
	s.reached.Close()
	s.reached = reached
	return job.Bring(ctx, reached)
}

// explain returns the interruption instead of err, if there was one.
func (s *session) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// lost always returns an error: jobs end with the ApplicationMaster that runs them.
func (s *session) lost(_ context.Context, _ *running, cause error) (msg.JobEnded, error) {
	if errors.Is(cause, errNextAttempt) {
		return msg.JobEnded{}, fmt.Errorf("%s has a new ApplicationMaster, and the job was lost with the previous one: run it again", s.site)
	}
	return msg.JobEnded{}, cause
}

// settle has nothing to wait for: the session continues.
func (s *session) settle(context.Context) error { return nil }

// waits says how long a job waits for a slot. The session has had this option since its start.
func (s *session) waits() string {
	return fmt.Sprintf("within the session's %s", config.SlotRequestTimeout)
}

func (s *session) report(ctx context.Context) (records.ApplicationReport, error) {
	return s.site.Report(ctx)
}

func (s *session) reach(ctx context.Context) (*client.ClusterClient, error) { return s.site.Reach(ctx) }

// adviceTime limits the time to find a hint.
const adviceTime = time.Second

// adviseOnSize warns of a job for which the nodes of the session's YARN are probably too small. This is a hint:
// if something is not known, adviseOnSize prints nothing.
func (s *session) adviseOnSize(ctx context.Context, slots int) {
	on, is := s.site.(*onYARN)
	if !is {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, adviceTime)
	defer cancel()
	supply, err := s.reached.SlotSupply(ctx)
	if err != nil {
		return
	}
	if text, err := on.cluster.TooLarge(ctx, slots, supply); err == nil && text != "" {
		s.Line("%s", text)
	}
}
