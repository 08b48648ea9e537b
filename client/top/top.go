package top

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal/full"
	"github.com/bobbin-yarn/bobbin/client/terminal/keyboard"
)

// Request is what Run needs.
type Request struct {
	Site    Site
	In, Out *os.File // the terminal
	Colours bool
}

// Run shows the view until the user quits, or ctx ends; then the error is its cause. ended says how the application has
// ended; "" if the view has not seen that. The error is that of the first look if YARN does not know the application, or the
// user may not look at it. full.ErrNoTerminal is the error without a terminal.
func Run(ctx context.Context, r Request) (ended string, err error) {
	screen, err := full.Open(r.In, r.Out, r.Colours)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, screen.Close()) }()
	v := viewer{screen: screen, m: New(r.Site.Application(), time.Now())}
	err = v.show(ctx, r.Site)
	if v.m.over {
		ended = v.m.words
	}
	return ended, err
}

// viewer runs a view on a screen.
type viewer struct {
	screen *full.Screen
	m      Model
	look   *question // to the ApplicationMaster
	asked  Asked     // by the last look
	report *question // to YARN
}

// show shows the view of an application until its end.
func (v *viewer) show(ctx context.Context, site Site) error {
	left, cancel := context.WithCancel(ctx)
	a := asker{site: site}
	v.look = newQuestion(v.screen, func(tell func(Event)) time.Duration { return a.ask(left, v.asked, tell) })
	v.report = newQuestion(v.screen, func(tell func(Event)) time.Duration { return report(left, site, tell) })
	defer func() {
		cancel()
		v.look.end()
		v.report.end()
		a.close()
	}()
	v.m.Columns, v.m.Lines = v.screen.Size()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for !v.m.Quit && v.m.refused == nil {
		if err := v.screen.Draw(Draw(v.m)); err != nil {
			return err
		}
		select {
		case key, open := <-v.screen.Keys():
			if !open { // the terminal is gone
				return nil
			}
			if err := v.press(key); err != nil {
				return err
			}
		case <-v.screen.Resized():
			columns, lines := v.screen.Size()
			v.m = Update(v.m, Sized{columns, lines})
		case now := <-second.C:
			v.m = Update(v.m, Passed{now})
		case <-v.look.due.C:
			if !v.m.rests() && !v.look.asking {
				v.asked = v.m.Asks()
				v.look.begin()
			}
		case <-v.report.due.C:
			if !v.m.rests() {
				v.report.begin()
			}
		case told := <-v.look.answers:
			v.looked(told)
		case told := <-v.report.answers:
			v.heard(told)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return v.m.refused
}

// press does what a key is for.
func (v *viewer) press(key keyboard.Key) error {
	switch key {
	case keyboard.CtrlC:
		return run.ErrInterrupted
	case keyboard.CtrlZ:
		return v.screen.Suspend()
	case keyboard.CtrlL:
		v.screen.Redraw()
		return nil
	default: // the view knows the others
	}
	paused := v.m.Paused
	v.m = Update(v.m, Pressed{key})
	if paused && !v.m.Paused {
		v.look.soon()
		v.report.soon()
	}
	if v.elsewhere() {
		v.look.soon()
	}
	return nil
}

// elsewhere tells that the user looks at something that the last look has not asked for.
func (v *viewer) elsewhere() bool {
	asks := v.m.Asks()
	return asks.Job != v.asked.Job || asks.Vertex != v.asked.Vertex
}

// heard takes an answer of YARN in. The next look may be far away, after one at an ApplicationMaster that did not answer.
func (v *viewer) heard(told answer) {
	before := v.m.yarn.Attempt
	v.m = told.update(v.m)
	if before > 0 && v.m.yarn.Attempt > before {
		v.look.soon()
	}
	v.report.answered(told)
}

// looked takes an answer of the ApplicationMaster in.
func (v *viewer) looked(told answer) {
	known := v.m.words == ""
	v.m = told.update(v.m)
	if known && v.m.words != "" { // YARN may know why
		v.report.soon()
	}
	if found, is := told.event.(Looked); is && v.asked.Job == "" && found.Job != nil {
		v.asked.Job = found.Job.ID // the look has chosen it as the view does
	}
	v.look.answered(told)
	if told.last && v.elsewhere() {
		v.look.soon()
	}
}
