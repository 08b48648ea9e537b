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
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	// monitorInterval is the time between two requests for the state of an attended session.
	monitorInterval = time.Second
	// monitorPatience is how long YARN may fail to report a session's state.
	monitorPatience = 15 * time.Second
	// stopTime bounds the end of a session after Ctrl-C.
	stopTime = 30 * time.Second
)

// question is the prompt for a word.
const question = "> "

// attendance is a command that stays attached to a session and reads the user's words.
type attendance struct {
	*Journal
	in      io.Reader // words
	cluster *client.Cluster
	id      records.ApplicationID
	file    string                                                   // path of the session file
	owner   bool                                                     // the session ends with this command
	report  func(context.Context) (records.ApplicationReport, error) // gets YARN's report of the session
	attempt int32                                                    // of the ApplicationMaster that ran last; 0: none is known

	stopping bool // the user was told so
}

// words are the words that a user may type.
func (a *attendance) words() []string { return []string{"help", "stop", "quit"} }

// help is the text that explains the words.
func (a *attendance) help() string {
	leave := "Ctrl-C leaves the session running"
	if a.owner {
		leave = "Ctrl-C also stops the session"
	}
	return "Words: help, stop (stops the session and its jobs), quit (the same). " + leave
}

// look is YARN's report of a session, or the error of the request.
type look struct {
	report records.ApplicationReport
	err    error
}

// attend reads words from standard input, and watches the session until it ends.
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
	// The goroutine ends with the input, or with the next line after the end of left. A read of a terminal
	// cannot be interrupted: the goroutine may end only with the process.
	go a.read(left, words)
	ticker := time.NewTicker(monitorInterval)
	defer ticker.Stop()
	var looking sync.WaitGroup
	defer looking.Wait()
	defer leave()
	looks := make(chan look, 1) // one look at a time
	tick := ticker.C            // nil during a request: the loop takes words meanwhile
	seen := time.Now()
	for {
		select {
		case word, open := <-words:
			if !open { // the session continues, but the user can type no more words
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
				a.replaced(l.report)
			case context.Cause(ctx) == nil && time.Since(seen) > monitorPatience:
				return fmt.Errorf("cannot tell whether %s still runs: %w", a.id, l.err)
			}
		case <-ctx.Done():
			return a.interrupted(ctx)
		}
	}
}

// replaced prints when another ApplicationMaster runs.
func (a *attendance) replaced(report records.ApplicationReport) {
	if report.State != records.ApplicationRunning {
		return
	}
	if last := a.attempt; last > 0 && report.Attempt.Attempt > last {
		a.Line("%s", replaced(a.id.String(), report.Attempt.Attempt, goesOn))
	}
	a.attempt = report.Attempt.Attempt
}

// answer prints the help if the user asks for it or types an unknown word.
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

// stop ends the session through its present ApplicationMaster. While YARN replaces that, stop waits for the next one.
// Before YARN notices that it has died, stop asks again for stopTime.
func (a *attendance) stop(ctx context.Context) error {
	wait := progress.Wait{Since: time.Now()}
	for {
		err := a.try(ctx)
		lasts := time.Since(wait.Since)
		again := errors.Is(err, client.ErrReplacing) || client.Gone(err) && lasts < stopTime
		if err == nil || !again || ctx.Err() != nil {
			return err
		}
		if lasts > longWait {
			a.Waiting(&wait, fmt.Sprintf("%s: its ApplicationMaster has not answered", a.id), err.Error())
		}
		if err := pause(ctx, lookInterval); err != nil {
			return a.goesOn(ctx, err)
		}
	}
}

// try is stop without the wait.
func (a *attendance) try(ctx context.Context) error {
	master, err := a.cluster.Reach(ctx, a.id)
	if err != nil {
		return a.unreached(ctx, err)
	}
	defer master.Close()
	return a.end(ctx, master)
}

// end asks the session's ApplicationMaster to end the session, and waits until YARN reports the end. An ApplicationMaster
// that dies meanwhile may leave the session to the next one, which is then asked, too.
func (a *attendance) end(ctx context.Context, master *client.ClusterClient) error {
	if !a.stopping {
		a.stopping = true
		a.Line("stopping session %s", a.id)
	}
	if err := master.ShutDown(ctx); err != nil {
		return a.unreached(ctx, a.cluster.Explain(ctx, a.id, master, err))
	}
	report, err := a.cluster.AwaitEndOf(ctx, a.id, master.Attempt)
	if err == nil && !report.State.Terminal() {
		return a.stop(ctx)
	}
	return a.settled(ctx, report, err)
}

// unreached is the end of a stop whose session does not answer. A session that has stored its end is ending: YARN may
// already have recorded it, or does so soon.
func (a *attendance) unreached(ctx context.Context, err error) error {
	gone, is := errors.AsType[*client.NotRunningError](err)
	switch {
	case errors.Is(err, client.ErrEnding):
		report, err := a.cluster.AwaitEnd(ctx, a.id)
		return a.settled(ctx, report, err)
	case is && gone.Report.State.Terminal():
		return a.settled(ctx, gone.Report, nil)
	}
	return a.goesOn(ctx, err)
}

// settled is the end of a stop that the session has accepted. err is the error of the wait for YARN's report of its end.
func (a *attendance) settled(ctx context.Context, report records.ApplicationReport, err error) error {
	switch {
	case client.Unheard(err):
		return a.ending("YARN does not answer")
	case errors.Is(err, context.DeadlineExceeded): // stopTime is over, after Ctrl-C
		return a.ending("YARN has not reported its end yet")
	case err != nil:
		return a.goesOn(ctx, err)
	}
	// After YARN has recorded the end, the ApplicationMaster removes its staging directory. It may have died
	// before it could do so.
	if err := a.cluster.Sweep(ctx, a.id); err != nil {
		a.Line("cannot remove the staged files of %s; bobbin gc removes them: %v", a.id, err)
	}
	return a.ended(report)
}

// ending prints that the session has accepted the stop, and that its end is not known. It removes the session
// file, so that later commands do not use the session.
func (a *attendance) ending(unknown string) error {
	a.Outcome.State = stateEnding
	a.Line("session %s accepted the stop; %s", a.id, unknown)
	return sessionfile.Remove(a.file, a.id)
}

// goesOn is the error of a stop that failed, so that the session may continue. If the user interrupted the stop,
// the error is the interruption. After stopTime it is err, which tells how far the stop came.
func (a *attendance) goesOn(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return fmt.Errorf("stop session %s: %w", a.id, err)
}

// ended prints how the session ended, and removes the session file.
func (a *attendance) ended(report records.ApplicationReport) error {
	a.Outcome.see(report)
	err := sessionfile.Remove(a.file, a.id)
	if report.FinalStatus != records.FinalSucceeded {
		return errors.Join(client.Ended(report), err)
	}
	a.Line("session %s is %s (%s). Its logs: bobbin logs %s", a.id, report.State, report.FinalStatus, a.id)
	return err
}

// interrupted is the effect of Ctrl-C: it stops the session that this command has started, and leaves any other
// session running.
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
