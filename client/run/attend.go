package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	// monitorInterval is the time between two looks at a session that is attended.
	monitorInterval = time.Second
	// monitorPatience is how long YARN may not know, or not tell, how a session is.
	monitorPatience = 15 * time.Second
	// stopTime bounds the end of a session after Ctrl-C.
	stopTime = 30 * time.Second
)

// question stands before each word that a person types.
const question = "> "

// attendance is a person who stays with a session.
type attendance struct {
	*Journal
	in      io.Reader // words
	cluster *client.Cluster
	id      records.ApplicationID
	file    string                                                   // path of the one that names the session
	owner   bool                                                     // the session ends with this command
	report  func(context.Context) (records.ApplicationReport, error) // asks YARN for that of the session
}

// words are those that are taken.
func (a *attendance) words() []string { return []string{"help", "stop", "quit"} }

// help is what people are told.
func (a *attendance) help() string {
	leave := "Ctrl-C leaves the session running"
	if a.owner {
		leave = "Ctrl-C also stops the session"
	}
	return "Words: help, stop (stops the session and its jobs), quit (the same). " + leave
}

// look is what YARN says of a session.
type look struct {
	report records.ApplicationReport
	err    error
}

// attend takes words from standard input and watches the session until it ends.
func (a *attendance) attend(ctx context.Context) error {
	a.Line("%s", a.help())
	ask := func() {
		if terminal.Is(a.in) {
			a.Ask(question)
		}
	}
	ask()
	words := make(chan string)
	left, leave := context.WithCancel(ctx)
	// It ends with the input, or with the next line of it; at the latest with the process,
	// as a read of a terminal cannot be broken off.
	go a.read(left, words)
	ticker := time.NewTicker(monitorInterval)
	defer ticker.Stop()
	var looking sync.WaitGroup
	defer looking.Wait()
	defer leave()
	looks := make(chan look, 1) // one look at a time
	tick := ticker.C            // nil while a look lasts: words are taken meanwhile
	seen := time.Now()
	for {
		select {
		case word, open := <-words:
			if !open { // the session goes on without words
				words = nil
				if terminal.Is(a.in) {
					a.Line("the input has ended: the session continues")
				}
				continue
			}
			a.Answered()
			if word == "stop" || word == "quit" {
				return a.stop(ctx)
			}
			a.answer(word)
			ask()
		case <-tick:
			tick = nil
			looking.Go(func() { // ends with left, at the latest
				report, err := a.report(left)
				looks <- look{report, err}
			})
		case l := <-looks:
			tick = ticker.C
			switch {
			case l.err == nil && l.report.State.Terminal():
				return a.ended(l.report)
			case l.err == nil:
				seen = time.Now()
			case context.Cause(ctx) == nil && time.Since(seen) > monitorPatience:
				return fmt.Errorf("cannot tell whether %s still runs: %w", a.id, l.err)
			}
		case <-ctx.Done():
			return a.interrupted(ctx)
		}
	}
}

// answer tells what may be typed, where that is asked for, or a word is none of these.
func (a *attendance) answer(word string) {
	switch nearest := config.Nearest(word, a.words()); {
	case word == "":
	case word == "help":
		a.Line("%s", a.help())
	case nearest != "":
		a.Line("unknown word %q: did you mean %s?", word, nearest)
	default:
		a.Line("unknown word %q. %s", word, a.help())
	}
}

// read passes lines on until ctx ends.
func (a *attendance) read(ctx context.Context, words chan<- string) {
	defer close(words)
	lines := bufio.NewScanner(a.in)
	for lines.Scan() {
		select {
		case words <- strings.TrimSpace(lines.Text()):
		case <-ctx.Done():
			return
		}
	}
	if err := lines.Err(); err != nil {
		a.Line("cannot read more words: %v", err)
	}
}

// stop ends the session, whichever ApplicationMaster it has by now.
func (a *attendance) stop(ctx context.Context) error {
	master, err := a.cluster.Reach(ctx, a.id)
	if err != nil {
		return a.goesOn(ctx, err)
	}
	defer master.Close()
	return a.end(ctx, master)
}

// end asks the session's ApplicationMaster to end it, and waits until YARN says that it has.
func (a *attendance) end(ctx context.Context, master *client.ClusterClient) error {
	a.Line("stopping session %s", a.id)
	if err := master.ShutDown(ctx); err != nil {
		return a.goesOn(ctx, err)
	}
	report, err := a.cluster.AwaitEnd(ctx, a.id)
	switch {
	case client.Unheard(err):
		return a.ending("YARN does not answer")
	case errors.Is(err, context.DeadlineExceeded): // stopTime is over, after Ctrl-C
		return a.ending("YARN has not reported its end yet")
	case err != nil:
		return a.goesOn(ctx, err)
	}
	// The ApplicationMaster sweeps, too, once YARN has recorded the end. It may have died before.
	if err := a.cluster.Sweep(ctx, a.id); err != nil {
		a.Line("cannot remove the staged files of %s; bobbin gc removes them: %v", a.id, err)
	}
	return a.ended(report)
}

// ending tells that the session has been told to end, though its end is not known, and lets later commands forget it.
func (a *attendance) ending(unknown string) error {
	a.Outcome.State = stateEnding
	a.Line("session %s accepted the stop; %s", a.id, unknown)
	return sessionfile.Remove(a.file, a.id)
}

// goesOn is the error of a session that is not known to have ended: the interruption, if that is why.
func (a *attendance) goesOn(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return fmt.Errorf("stop session %s: %w", a.id, err)
}

// ended tells how the session ended, and lets later commands forget it.
func (a *attendance) ended(report records.ApplicationReport) error {
	a.Outcome.see(report)
	err := sessionfile.Remove(a.file, a.id)
	if report.FinalStatus != records.FinalSucceeded {
		return errors.Join(client.Ended(report), err)
	}
	a.Line("session %s is %s (%s). Its logs: bobbin logs %s", a.id, report.State, report.FinalStatus, a.id)
	return err
}

// interrupted is what Ctrl-C does: it ends the session that this command has started, and
// leaves another.
func (a *attendance) interrupted(ctx context.Context) error {
	cause := context.Cause(ctx)
	if !a.owner {
		a.Line("left session %s, which goes on. To end it: bobbin session stop -id %s", a.id, a.id)
		return Printed{cause}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := a.stop(ctx); err != nil {
		return errors.Join(cause, fmt.Errorf("%w: session %s is not stopped: %w", client.ErrLeftBehind, a.id, err))
	}
	return Printed{cause}
}
