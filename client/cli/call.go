package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/run"
)

// call is a command that is carried out: its line, as it was read, and what it needs of its process.
type call struct {
	line *cli.Context
	run.Streams
	getenv     func(string) string
	executable string // path of this binary
	start      time.Time
}

// binder gives a command what it needs of its process.
type binder func(do func(ctx context.Context, c *call) error) cli.ActionFunc

func (p Process) bind(do func(ctx context.Context, c *call) error) cli.ActionFunc {
	return func(line *cli.Context) error { return do(line.Context, p.call(line)) }
}

func (p Process) call(line *cli.Context) *call {
	streams := run.Streams{In: p.Stdin, Out: p.Stdout, Err: p.Stderr}
	return &call{line: line, Streams: streams, getenv: p.Getenv, executable: p.Executable, start: p.Start}
}

// say tells what a command has done: a line, or what it is for scripts.
func (c *call) say(line string, object map[string]any) error {
	asJSON, err := wantsJSON(c.line)
	switch {
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(c.Out).Encode(object)
	}
	_, err = fmt.Fprintln(c.Out, line)
	return err
}

// journal is that of a command which ends with what it has printed.
func (c *call) journal(scripts bool) *run.Journal { return run.NewJournal(c.Err, c.start, scripts) }

// telling carries out a command that starts something and notes what becomes of it, which is
// printed where JSON is asked for. Standard output is nobody else's then.
func (c *call) telling(command func(j *run.Journal) error) error {
	asJSON, err := wantsJSON(c.line)
	if err != nil {
		return err
	}
	out := c.Out
	if asJSON {
		c.Out = c.Err
	}
	j := c.journal(asJSON)
	err = command(j)
	if !asJSON {
		return err
	}
	if err != nil {
		j.Outcome.Error = err.Error()
	}
	j.Outcome.Steps = j.Steps()
	return errors.Join(err, json.NewEncoder(out).Encode(j.Outcome))
}
