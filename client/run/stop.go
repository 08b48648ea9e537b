package run

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// States of a session that YARN does not have.
const (
	// stateEnding is the state of a session that has accepted the stop, while YARN does not answer.
	stateEnding = "ENDING"
	// stateUnknown is the state of a session that YARN has forgotten.
	stateUnknown = "UNKNOWN"
)

// Attach reads words from in until the session ends. Ctrl-C leaves the session running. Detached, Attach
// returns at once. file is the path of the session file.
func Attach(ctx context.Context, session Site, file string, in io.Reader, detached bool, j *Journal) error {
	on, is := session.(*onYARN)
	if !is {
		return fmt.Errorf("attach to %s: %w, and only YARN reports the end of a session: use bobbin status", session, ErrNoYARN)
	}
	j.Outcome.Application = on.Application()
	report, err := on.Report(ctx)
	j.done("session reached")
	switch {
	case err == nil:
		j.Outcome.see(report)
		j.Outcome.TrackingURL = report.TrackingURL
	case errors.Is(err, ErrYARNAway):
		j.Line("session %s answers, YARN does not", on)
	default:
		return err
	}
	if detached {
		j.Line("session %s goes on. To end it: bobbin session stop %s", on, on.means())
		return nil
	}
	j.Line("attached to session %s", on)
	return on.attendance(file, in, j).attend(ctx)
}

// attendance attaches this command to a session that another command has started.
func (s *onYARN) attendance(file string, in io.Reader, j *Journal) *attendance {
	return &attendance{Journal: j, in: in, cluster: s.cluster, id: s.id, file: file, report: s.report}
}

// Stop ends a session, and notes its last state in the journal. If the session has ended by itself,
// Stop removes its files. file is as in Attach.
func Stop(ctx context.Context, session Site, file string, j *Journal) error {
	on, isOnYARN := session.(*onYARN)
	master, err := session.Reach(ctx)
	switch {
	case errors.Is(err, client.ErrEnding) && isOnYARN:
		return on.attendance(file, nil, j).unreached(ctx, err)
	case err != nil && isOnYARN:
		return on.tidy(ctx, file, j, err)
	case err != nil:
		return err
	}
	defer master.Close()
	if isOnYARN {
		a := on.attendance(file, nil, j)
		if err = a.end(ctx, master); client.Gone(err) { // it may be ending: YARN records that some time after the last answer
			err = a.stop(ctx)
		}
		return err
	}
	j.Outcome.State = stateEnding
	if err = master.ShutDown(ctx); err == nil {
		j.Line("session %s is ending", session)
	}
	return err
}

// tidy removes the files of a session that ended by itself. why is the error of reaching the session; tidy
// returns it if the session has not ended.
func (s *onYARN) tidy(ctx context.Context, file string, j *Journal, why error) error {
	gone, is := errors.AsType[*client.NotRunningError](why)
	switch {
	case is && gone.Report.State.Terminal():
		j.Outcome.State = string(gone.Report.State)
		j.Line("session %s has ended already: %s (%s). Why: bobbin status -id %s", s, gone.Report.State, gone.Report.FinalStatus, s)
	case errors.Is(why, yarnrpc.ErrApplicationNotFound) && s.file != "":
		j.Outcome.State = stateUnknown
		j.Line("session %s has ended, and YARN has forgotten it", s)
	default:
		return why
	}
	return errors.Join(s.cluster.Sweep(ctx, s.id), sessionfile.Remove(file, s.id))
}

// Access reads what a machine without YARN needs to act as the session's owner. attempt is the ApplicationMaster that was
// reached. Before it leads, the file of the last one may still be there, and the error is client.ErrReplacing.
func Access(ctx context.Context, session Site, attempt int32) (launch.Access, error) {
	if s, is := session.(*elsewhere); is {
		return launch.Access{}, fmt.Errorf("find access to %s: %w: copy the file %s", s, ErrNoYARN, s.file)
	}
	on := session.(*onYARN)
	access, err := on.cluster.Access(ctx, on.id)
	if err == nil && access.Attempt < attempt {
		err = fmt.Errorf("find access to %s: %w: attempt %d does not lead yet", on, client.ErrReplacing, attempt)
	}
	return access, err
}
