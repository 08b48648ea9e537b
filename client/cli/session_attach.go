package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

func sessionAttachCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:  "attach",
		Usage: "stay with a session that runs",
		Description: `Takes the words help, stop and quit, and ends with the session. Ctrl-C ends this
command alone. With -o json it prints how the session ended, with -d how it is.

  bobbin session attach -id application_1700000000000_0001
  echo stop | bobbin session attach -id application_1700000000000_0001`,
		Flags: slices.Concat(meantFlags(), []cli.Flag{
			&cli.BoolFlag{Name: flagDetached, Aliases: []string{"d"}, Usage: "return once the session is found"},
			outputFlag(),
		}, clusterFlags()),
		Action: func(c *cli.Context) error { return sessionAttach(c, p) },
	}
}

func sessionAttach(c *cli.Context, p Process) error {
	return telling(c, p, func(p Process, told *outcome, timeline *client.Timeline) error {
		return attachSession(c, p, told, timeline)
	})
}

func attachSession(c *cli.Context, p Process, told *outcome, timeline *client.Timeline) (err error) {
	if err := noArguments(c); err != nil {
		return err
	}
	master, done, err := reachCluster(c, p)
	if err != nil {
		return err
	}
	defer done(&err)
	on, is := master.site.(*onYARN)
	if !is {
		return fmt.Errorf("attach to %s: %w, which tells how a session ends: bobbin status shows how it is", master, errNoYARN)
	}
	told.Application = on.application()
	report, err := reportSoon(c.Context, on.cfg, on.report)
	timeline.Done("session reached")
	a := attending(p, on, told)
	switch {
	case err == nil:
		told.see(report)
		told.TrackingURL = report.TrackingURL
	case errors.Is(err, errYARNAway):
		a.say.Line("session %s answers, YARN does not", on)
	default:
		return err
	}
	if c.Bool(flagDetached) {
		a.say.Line("session %s goes on. To end it: bobbin session stop %s", on, on.means())
		return nil
	}
	a.say.Line("attached to session %s", on)
	return a.attend(c.Context)
}

// attending is a person who stays with a session that he has not started.
func attending(p Process, on *onYARN, told *outcome) *attendance {
	return &attendance{
		p: p, say: progress.New(p.Stderr), cluster: on.cluster, cfg: on.cfg, id: on.id, path: sessionPath(p, on.cfg),
		outcome: told, report: on.report,
	}
}

func sessionStopCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:  "stop",
		Usage: "end a session and its jobs",
		Description: `Returns once YARN says that the session has ended. Where YARN cannot be asked, it
returns once the session has been told to end, which -o json calls ENDING. Of a session
that has ended by itself it removes what is left: staged files, and the file that names it.

  bobbin session stop -id application_1700000000000_0001`,
		Flags:  slices.Concat(meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: func(c *cli.Context) error { return sessionStop(c, p) },
	}
}

// stateEnding is the state of a session that has been told to end, where YARN cannot be asked.
const stateEnding = "ENDING"

func sessionStop(c *cli.Context, p Process) (err error) {
	asJSON, err := wantsJSON(c)
	if err = cmp.Or(err, noArguments(c)); err != nil {
		return err
	}
	session, done, err := findCluster(c, p)
	if err != nil {
		return err
	}
	defer done(&err)
	state, err := stop(c.Context, p, session)
	if err == nil && asJSON {
		err = json.NewEncoder(p.Stdout).Encode(map[string]any{"application": session.application(), "state": state})
	}
	return err
}

// stop ends a session and gives its state then, as YARN has it.
func stop(ctx context.Context, p Process, session *reached) (state string, err error) {
	on, isOnYARN := session.site.(*onYARN)
	if session.ClusterClient, _, err = session.reach(ctx); err != nil {
		if isOnYARN {
			return on.tidy(ctx, p, err)
		}
		return "", err
	}
	if !isOnYARN {
		if err = session.ShutDown(ctx); err == nil {
			fmt.Fprintf(p.Stderr, "session %s is ending\n", session)
		}
		return stateEnding, err
	}
	var told outcome
	err = attending(p, on, &told).end(ctx, session.ClusterClient)
	return told.State, err
}

// stateUnknown is how a session is that YARN has forgotten.
const stateUnknown = "UNKNOWN"

// tidy removes what is left of a session that has ended by itself, where that is why it is
// not reached.
func (s *onYARN) tidy(ctx context.Context, p Process, why error) (state string, err error) {
	gone, is := errors.AsType[*client.NotRunningError](why)
	switch {
	case is && gone.Report.State.Terminal():
		state = string(gone.Report.State)
		fmt.Fprintf(p.Stderr, "session %s has ended already: %s (%s). Why: bobbin status -id %s\n", s, state, gone.Report.FinalStatus, s)
	case errors.Is(why, yarnrpc.ErrApplicationNotFound) && s.written != "":
		state = stateUnknown
		fmt.Fprintf(p.Stderr, "session %s has ended, and YARN has forgotten it\n", s)
	default:
		return "", why
	}
	return state, errors.Join(s.cluster.Sweep(ctx, s.id), sessionfile.Remove(sessionPath(p, s.cfg), s.id))
}

func sessionAccessCommand(p Process) *cli.Command {
	return &cli.Command{
		Name:      "access",
		Usage:     "write what lets commands in from where there is no YARN",
		ArgsUsage: "FILE",
		Description: `FILE gives a command your rights in the session, also in the hands of others: keep it
readable by you alone. It names one ApplicationMaster, and is worth nothing once that
has ended.

  bobbin session access -id application_1700000000000_0001 nightly.access
  bobbin run -m host:port -D rest.access-file=nightly.access ./wordcount     elsewhere`,
		Flags:  slices.Concat(meantFlags(), []cli.Flag{outputFlag()}, clusterFlags()),
		Action: func(c *cli.Context) error { return sessionAccess(c, p) },
	}
}

func sessionAccess(c *cli.Context, p Process) (err error) {
	asJSON, err := wantsJSON(c)
	if err == nil && c.Args().Len() != 1 {
		err = fmt.Errorf("%w: %s needs the name of a file to be written", ErrUsage, c.Command.HelpName)
	}
	if err != nil {
		return err
	}
	master, done, err := reachCluster(c, p)
	if err != nil {
		return err
	}
	defer done(&err)
	on, is := master.site.(*onYARN)
	if !is {
		return fmt.Errorf("find access to %s: %w: copy the file %s", master, errNoYARN, master.cfg.String(config.RESTAccessFile))
	}
	access, err := on.cluster.Access(c.Context, on.id)
	if err != nil {
		return err
	}
	path := c.Args().First()
	if err := client.WriteAccess(path, access); err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(p.Stdout).Encode(map[string]any{"application": on.application(), "address": access.Address, "file": path})
	}
	fmt.Fprintf(p.Stderr, "commands with -m %s -D %s=%s mean session %s\n", access.Address, config.RESTAccessFile, path, on)
	return nil
}
