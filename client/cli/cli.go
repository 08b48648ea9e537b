// Package cli is the command line of bobbin: flags, output and exit codes over
// package client. Each command is in a file of its own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1   // bad input, or the job did not end as FINISHED
	ExitInterrupted = 130 // Ctrl-C, as shells have it
)

// Causes with which main ends the context. A terminal sends Ctrl-C to the programs
// that a command has started, too; other signals they must be told of.
var (
	ErrInterrupted = errors.New("interrupted") // Ctrl-C
	ErrTerminated  = fmt.Errorf("%w by a signal", ErrInterrupted)
)

// Process is what a command needs of its process. All fields are required.
type Process struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Executable     string // path of this binary
	Version        string
	Start          time.Time
}

// Run runs the command that the arguments name and gives the exit code. Errors
// are printed to Stderr, one line where that is possible. Canceling ctx with
// ErrInterrupted ends the command as Ctrl-C does.
func Run(ctx context.Context, p Process) int {
	app := &cli.App{
		Name:                      "bobbin",
		Usage:                     "dataflow on Hadoop YARN",
		Writer:                    p.Stdout,
		ErrWriter:                 p.Stderr,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,                         // values may hold commas
		ExitErrHandler:            func(*cli.Context, error) {}, // the exit is main's
		HideHelpCommand:           true,
		Commands: []*cli.Command{
			runCommand(p), applicationsCommand(p), logsCommand(p), killCommand(p), doctorCommand(p), versionCommand(p),
		},
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return unknownCommand(c.App, name)
			}
			return cli.ShowAppHelp(c)
		},
	}
	for _, command := range app.Commands {
		command.HideHelpCommand = true
		command.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return fmt.Errorf("%w: %w", ErrUsage, err) }
	}
	words, err := arrange(app, p.Args)
	if err == nil {
		err = app.RunContext(ctx, append([]string{app.Name}, words...))
	}
	return exitCode(p, err)
}

// arrange rewrites the words of a command so that the flag package reads them
// as splitArguments does.
func arrange(app *cli.App, words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	switch words[0] { // other ways to say it
	case "help":
		words = append(slices.Clone(words[1:]), "--help")
	case "--version":
		words = []string{"version"}
	}
	if flag := words[0]; strings.HasPrefix(flag, "-") && flag != "-h" && flag != "--help" {
		return nil, fmt.Errorf("%w: %s stands before the command: write bobbin COMMAND %s, see bobbin --help", ErrUsage, flag, flag)
	}
	command := app.Command(words[0])
	if command == nil {
		return words, nil
	}
	options, rest, err := splitArguments(command.Flags, words[1:])
	if err != nil {
		return nil, err
	}
	if slices.Contains(options, "-h") || slices.Contains(options, "--help") {
		return []string{words[0], "--help"}, nil
	}
	arranged := append([]string{words[0]}, options...)
	return append(append(arranged, "--"), rest...), nil
}

func unknownCommand(app *cli.App, name string) error {
	var names []string
	for _, command := range app.Commands {
		names = append(names, command.Name)
	}
	if nearest := config.Nearest(name, names); nearest != "" {
		return fmt.Errorf("%w: unknown command %q: did you mean %s?", ErrUsage, name, nearest)
	}
	return fmt.Errorf("%w: unknown command %q: see bobbin --help", ErrUsage, name)
}

// noArguments refuses arguments of a command that takes none.
func noArguments(c *cli.Context) error {
	if c.Args().Present() {
		return fmt.Errorf("%w: bobbin %s takes no arguments, %q is one", ErrUsage, c.Command.Name, c.Args().First())
	}
	return nil
}

// printed is an error whose text the user has seen already.
type printed struct{ error }

func (p printed) Unwrap() error { return p.error }

func exitCode(p Process, err error) int {
	if err == nil {
		return ExitOK
	}
	_, told := errors.AsType[printed](err)
	interrupted := errors.Is(err, ErrInterrupted)
	switch {
	case told:
	case interrupted && !errors.Is(err, client.ErrLeftBehind): // where does not matter
		fmt.Fprintln(p.Stderr, "bobbin:", ErrInterrupted)
	default:
		fmt.Fprintln(p.Stderr, "bobbin:", err)
	}
	if interrupted {
		return ExitInterrupted
	}
	return ExitFailed
}

// options reads the options of conf/bobbin.yaml and of the command line, which
// go before. The directory is BOBBIN_CONF_DIR, else conf beside the binary's
// folder; a missing default directory is no error.
func options(p Process, layers ...config.Layer) (config.Config, error) {
	dir := p.Getenv("BOBBIN_CONF_DIR")
	named := dir != ""
	if !named {
		dir = filepath.Join(filepath.Dir(filepath.Dir(p.Executable)), "conf")
	}
	file, err := config.ReadFile(filepath.Join(dir, config.FileName))
	if errors.Is(err, os.ErrNotExist) && !named {
		return config.New(layers...)
	}
	if err != nil {
		return config.Config{}, err
	}
	return config.New(append([]config.Layer{file}, layers...)...)
}
