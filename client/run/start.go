package run

import (
	"cmp"
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// sessionName is the name in YARN of a session for which the options give no name.
const sessionName = "Bobbin session cluster"

// sessionStart is a session to start.
type sessionStart struct {
	Request
	file  string            // the session file
	given map[string]string // options of the command line, which go into the file, too
}

// StartSession starts a session, and writes its id and the given options to a file. Unless detached, it reads
// words from the user until the session ends, and Ctrl-C ends the session. The Request needs no program.
func StartSession(ctx context.Context, r Request, file string, given map[string]string, detached bool) error {
	bobbin, err := client.Binary(r.Executable, r.Config)
	if err != nil {
		return err
	}
	return r.withYARN(ctx, func(on *client.Cluster) error {
		app, err := sessionStart{r, file, given}.start(ctx, on, bobbin)
		if err != nil {
			return err
		}
		r.Line("session %s is ready: %s", app.ID, r.Outcome.TrackingURL)
		if detached {
			r.Line("To run a job: bobbin run PROGRAM. To end it: bobbin session stop -id %s", app.ID)
			return nil
		}
		a := (&onYARN{cluster: on, id: app.ID}).attendance(file, r.In, r.Journal)
		a.owner = true
		return a.attend(ctx)
	})
}

// start starts a session and writes the session file. The file may have named another session before.
func (s sessionStart) start(ctx context.Context, on *client.Cluster, bobbin client.Executable) (*client.Application, error) {
	before, err := sessionfile.Read(s.file)
	if errors.Is(err, sessionfile.ErrForeign) { // start cannot replace this file
		return nil, err
	}
	app, err := (&witness{Journal: s.Journal}).deploy(ctx, on, client.Deployment{Mode: launch.Session, Name: sessionName, Config: s.Config, Bobbin: bobbin})
	if err != nil {
		return nil, err
	}
	if err := sessionfile.Write(s.file, sessionfile.Session{Application: app.ID, Options: s.given, Owner: owner(on)}); err != nil {
		return nil, errors.Join(err, app.Abandon(ctx)) // later commands could not find it
	}
	s.replaced(ctx, on, app.ID, before)
	return app, nil
}

// replaced warns that later commands use the new session instead of the previous one, unless the previous one
// has ended. The user may not know that there is only one file.
func (s sessionStart) replaced(ctx context.Context, on *client.Cluster, id records.ApplicationID, before sessionfile.Session) {
	if before.Application == (records.ApplicationID{}) {
		return
	}
	here := owner(on)
	if before.Of(here) != nil { // it is of another cluster or user, so the client cannot ask whether it still runs
		place := "ResourceManager " + cmp.Or(before.Owner.ResourceManagers, here.ResourceManagers)
		if before.Owner.User != "" {
			place += " (user " + before.Owner.User + ")"
		}
		s.Line("session %s replaces session %s on %s in %s; commands without -id now use %s. If session %s still runs, end it from there: bobbin session stop -id %s",
			id, before.Application, place, s.file, id, before.Application, before.Application)
		return
	}
	report, err := on.Report(ctx, before.Application)
	if errors.Is(err, yarnrpc.ErrApplicationNotFound) || err == nil && report.State.Terminal() {
		return
	}
	s.Line("session %s replaces session %s in %s; commands without -id now use %s. To end session %s: bobbin session stop -id %s",
		id, before.Application, s.file, id, before.Application, before.Application)
}
