package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
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
	files   client.CachedFiles

	ready   chan struct{} // closed when the session has the program and the files, or bring has failed
	failure error         // of bring; read once ready is closed
	// reached is the ApplicationMaster that has the program, or its successor; nil if none was reached. It is
	// used once ready is closed.
	reached *client.ClusterClient
	heard   time.Time // when an ApplicationMaster of the session last answered; zero: none has
	brought int       // how many of its files the session has, as far as the last uploadAll found out
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
	if err = s.findFiles(ctx, on); err != nil {
		return err
	}
	s.adviseShipped()
	if s.site, err = s.Find(ctx, on); err != nil {
		return err
	}
	s.Outcome.Application = s.site.Application()
	defer s.open(ctx)()
	return s.drive(ctx, s.program.Path, s)
}

// findFiles finds the job's cached files. The session checks those on the cluster's file systems when it gets the
// job. If this machine can reach them, it looks for them before anything is uploaded.
func (s *session) findFiles(ctx context.Context, on *client.Cluster) (err error) {
	if s.files, err = client.FindCachedFiles(ctx, s.Config); err != nil || on == nil {
		return err
	}
	_, err = cachedfiles.Find(ctx, on.Files, s.files.Named)
	if errors.Is(err, fs.ErrPermission) { // jobs run as the session's owner
		return nil
	}
	return err
}

// adviseShipped warns of options whose files go to the containers of a new cluster.
func (s *session) adviseShipped() {
	for _, key := range []config.StringKey{config.YarnShipFiles, config.YarnShipArchives} {
		if s.Config.IsSet(key) {
			s.Line("%s has no effect: the session runs already; %s brings files to the tasks of a job", key, config.PipelineCachedFiles)
		}
	}
}

// open starts to bring the program and the cached files to the session, while the driver plans. end stops that, waits for it, and
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

// bring uploads the program and the cached files of this machine to the session, except those that the session
// has.
func (s *session) bring(ctx context.Context) error {
	reached, err := s.runner().reach(ctx, 0)
	if err != nil {
		return err
	}
	s.reached = reached
	s.done("session reached")
	return s.persist(ctx, s.uploadAll)
}

// runner waits for the session's ApplicationMaster.
func (s *session) runner() *runner {
	return &runner{Journal: s.Journal, limits: s.limits, config: s.Config, cluster: s}
}

// persist calls do, and calls it again at the next ApplicationMaster if the present one is gone. It waits for the next
// one as a client does that follows a job. If none has ever answered, or if the present one answers and do breaks off
// again and again, persist gives up after client.timeout. That time begins with the first failure, because an upload may
// take longer, and anew after each upload.
func (s *session) persist(ctx context.Context, do func(context.Context) error) error {
	r := s.runner()
	var quiet silence // of the present ApplicationMaster; zero: do has not failed there
	brought := 0      // when quiet began
	for {
		began := time.Now()
		err := do(ctx)
		if !client.Gone(err) || ctx.Err() != nil {
			return err
		}
		if quiet.Since.IsZero() || s.brought > brought {
			quiet, brought = silence{Wait: progress.Wait{Since: time.Now()}, heard: !s.heard.IsZero()}, s.brought
		} else {
			quiet.heard = !s.heard.IsZero() && s.heard.Before(began) // an ApplicationMaster that answers is not replaced
		}
		waiting := r.endure(ctx, attempt{number: s.reached.Attempt, report: s.report}, &quiet, err)
		another, is := errors.AsType[nextAttemptError](waiting)
		switch {
		case is:
			if failed := s.move(ctx, another.number); failed != nil {
				return errors.Join(err, failed)
			}
			quiet = silence{}
		case errors.Is(waiting, err): // it says more
			return waiting
		case waiting != nil:
			return errors.Join(err, waiting)
		default:
			if failed := pause(ctx, client.UntilNextLook(time.Since(quiet.Since), firstLooks, lookInterval)); failed != nil {
				return failed
			}
		}
	}
}

// move replaces reached by an ApplicationMaster with this number or a later one.
func (s *session) move(ctx context.Context, attempt int32) error {
	reached, err := s.runner().reach(ctx, attempt)
	if err != nil {
		return err
	}
	s.replacedBy(s.site.String(), reached.Attempt, goesOn)
	s.reached.Close()
	s.reached = reached
	return nil
}

// uploadAll uploads the program and the cached files of this machine, except those that the session has.
func (s *session) uploadAll(ctx context.Context) error {
	s.brought = 0
	err := s.upload(ctx, client.Programs, client.Upload{Path: s.program.Path, Name: s.program.Name, SHA256: s.program.SHA256, Size: s.program.Size})
	if err != nil {
		return fmt.Errorf("bring program %s to %s: %w", s.program.Name, s.site, err)
	}
	for _, f := range s.files.Local {
		s.brought++
		if err := s.upload(ctx, client.Files, client.Upload{Path: f.Path, Name: f.Name, SHA256: f.SHA256, Size: f.Size}); err != nil {
			return fmt.Errorf("bring cached file %s to %s: %w", f.Path, s.site, err)
		}
	}
	return nil
}

// upload uploads a program or a file, unless the session has it.
func (s *session) upload(ctx context.Context, to client.Uploads, u client.Upload) error {
	has, err := s.reached.Has(ctx, to, u.SHA256)
	if err != nil {
		return err
	}
	s.heard = time.Now()
	if has {
		return nil
	}
	var read atomic.Bool // another client may upload it at the same time
	err = s.reached.Upload(ctx, to, u, func(done int64) {
		read.Store(true)
		s.uploading(u.Name, done, u.Size)
	})
	if err == nil && read.Load() {
		s.done("uploaded " + u.Name)
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
		return nil, s.explain(ctx, s.failure)
	}
	graph.Files = s.files.Named
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
	if graph.SlotGroups()[0].Resources == nil { // only the session knows the size of other slots
		s.adviseOnSize(ctx, graph.Slots())
	}
	return &running{
		id: id, application: s.site.Application(), name: fmt.Sprintf("job %s (%s)", graph.Name, id),
		attempt: s.reached.Attempt, does: goesOn,
		goOn:     fmt.Sprintf("Its state: bobbin list %s. To end it: bobbin cancel %s %s", s.site.means(), s.site.means(), id),
		slotWait: s.waits(),
	}, nil
}

// hand submits a job. If the last ApplicationMaster is gone, it submits to the next one, with the same id: so the job
// runs only once. If the session does not have the job's program or files any more, it uploads them again.
func (s *session) hand(ctx context.Context, job *client.Submission) error {
	if s.successor > s.reached.Attempt { // a job before this one was followed there
		if err := s.move(ctx, s.successor); err != nil {
			return err
		}
	}
	bring := func(ctx context.Context) error { return job.Bring(ctx, s.reached) }
	err := s.persist(ctx, bring)
	if client.NotFound(err) && ctx.Err() == nil {
		// The session has forgotten the program or a file that no job used, or its ApplicationMaster is another.
		if failed := s.persist(ctx, s.uploadAll); failed != nil {
			return errors.Join(err, failed)
		}
		err = s.persist(ctx, bring)
	}
	return err
}

// explain returns the interruption instead of err, if there was one.
func (s *session) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// goesOn is what the next ApplicationMaster of a session does. Only the session's own options say whether it also has
// the jobs.
const goesOn = "goes on"

// lost always returns an error: nobody knows how the job ended.
func (s *session) lost(_ context.Context, _ *running, cause error) (msg.JobEnded, error) {
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
