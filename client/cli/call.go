package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal"
)

// call is one invocation of a command: its command line, streams and environment.
type call struct {
	line *cli.Context
	json bool // -o json
	run.Streams
	getenv     func(string) string
	executable string // path of this binary
	start      time.Time
}

// binder makes an action of the flag package from a command's function.
type binder func(do func(ctx context.Context, c *call) error) cli.ActionFunc

func (p Process) bind(do func(ctx context.Context, c *call) error) cli.ActionFunc {
	return func(line *cli.Context) error {
		c := p.call(line)
		if format := line.String("output"); line.IsSet("output") && format != "text" {
			if c.json = format == "json"; !c.json {
				return fmt.Errorf("%w: output format %q: choose text or json", ErrUsage, format)
			}
		}
		return do(line.Context, c)
	}
}

func (p Process) call(line *cli.Context) *call {
	streams := run.Streams{In: p.Stdin, Out: p.Stdout, Err: p.Stderr}
	return &call{line: line, Streams: streams, getenv: p.Getenv, executable: p.Executable, start: p.Start}
}

// encode prints an object as JSON.
func (c *call) encode(object any) error { return json.NewEncoder(c.Out).Encode(object) }

// say prints what a command has done: line, or with -o json object.
func (c *call) say(line string, object map[string]any) error {
	if c.json {
		return c.encode(object)
	}
	_, err := fmt.Fprintln(c.Out, line)
	return err
}

// journal begins the journal of a command.
func (c *call) journal() *run.Journal {
	j := run.NewJournal(c.Err, c.start, c.json)
	j.Looks(terminal.LooksOf(c.getenv))
	return j
}

// telling runs a command with a journal. With -o json it prints the journal's outcome, and all other
// output of the command goes to standard error.
func (c *call) telling(command func(j *run.Journal) error) error {
	out := *c
	j := c.journal()
	if c.json {
		c.Out = c.Err
	}
	err := command(j)
	if !c.json {
		return err
	}
	return errors.Join(err, out.encode(j.Told(err)))
}
