// Package cli is the command line of bobbin: flags, output and exit codes over packages
// client and run. Each command is in a file of its own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/run"
	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/version"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Exit codes.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the job did not end as FINISHED, or something else went wrong
	ExitUsage       = 2   // the command line or an option is wrong: nothing has started
	ExitReplacing   = 75  // the ApplicationMaster is being replaced: the same command may succeed soon; EX_TEMPFAIL of sysexits.h
	ExitInterrupted = 130 // Ctrl-C, as in shells
)

// Process is what a command needs of its process. All fields but Build are required.
type Process struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Executable     string // path of this binary
	Version        string
	Build          version.Build
	Start          time.Time
}

// Run runs the command that the arguments name, and returns the exit code. It prints errors to Stderr, on one
// line if possible. If ctx is canceled with run.ErrInterrupted, the command ends as after Ctrl-C. Text that
// comes from others cannot control the user's terminal (terminal.Screen).
func Run(ctx context.Context, p Process) int {
	p.Stdout, p.Stderr = terminal.Screen(p.Stdout), terminal.Screen(p.Stderr)
	commands := commandsOf(p)
	words, err := arrange(commands, p.Args)
	var out *jsonOutput
	if asksForJSON(p.Args, words) {
		out = &jsonOutput{Writer: p.Stdout}
		p.Stdout = out
		commands = commandsOf(p)
	}
	app := &cli.App{
		Name:                      "bobbin",
		Writer:                    p.Stdout,
		ErrWriter:                 p.Stderr,
		HideVersion:               true,
		DisableSliceFlagSeparator: true,                         // values may hold commas
		ExitErrHandler:            func(*cli.Context, error) {}, // main exits
		HideHelpCommand:           true,
		Commands:                  commands,
		Action: func(c *cli.Context) error {
			return unknownCommand("", c.App.Commands, c.Args().First())
		},
	}
	if help, asked := helpFor(commands, words); err == nil && asked {
		err = printHelp(p.Stdout, help)
	} else if err == nil {
		err = app.RunContext(ctx, append([]string{app.Name}, words...))
	}
	if out != nil {
		err = out.failure(err)
	}
	return exitCode(p.Stderr, err)
}

func commandsOf(p Process) []*cli.Command {
	bind := binder(p.bind)
	commands := []*cli.Command{
		runCommand(bind), runApplicationCommand(bind), infoCommand(bind), listCommand(bind), cancelCommand(bind), stopCommand(bind), statusCommand(bind),
		topCommand(bind), openCommand(bind), sessionCommand(bind),
		applicationsCommand(bind), logsCommand(bind), killCommand(bind), gcCommand(bind), historyServerCommand(bind, p.Version, p.Build), doctorCommand(bind),
		completionCommand(bind), candidatesCommand(bind), versionCommand(bind, p.Version, p.Build),
	}
	prepare(commands)
	return commands
}

// prepare gives commands and their subcommands the same settings.
func prepare(commands []*cli.Command) {
	for _, command := range commands {
		command.HideHelpCommand = true
		command.OnUsageError = func(_ *cli.Context, err error, _ bool) error { return fmt.Errorf("%w: %w", ErrUsage, err) }
		prepare(command.Subcommands)
	}
}

// arrange rewrites the words of a command so that the flag package reads them as splitArguments does.
func arrange(commands []*cli.Command, words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	switch words[0] { // other forms of help and version
	case "help":
		words = append(slices.Clone(words[1:]), "--help")
	case "--version", "-v":
		words = append([]string{"version"}, words[1:]...)
	}
	if flag := words[0]; strings.HasPrefix(flag, "-") && flag != "-h" && flag != "--help" {
		return nil, fmt.Errorf("%w: %s stands before the command: write bobbin COMMAND %s, see bobbin --help", ErrUsage, flag, flag)
	}
	var path []string
	command := commandOf(commands, words[0])
	for command != nil && len(words) > 1 && len(command.Subcommands) > 0 && !strings.HasPrefix(words[1], "-") {
		path, words = append(path, words[0]), words[1:]
		below := commandOf(command.Subcommands, words[0])
		if below == nil {
			return nil, unknownCommand(strings.Join(path, " ")+" ", command.Subcommands, words[0])
		}
		command = below
	}
	if command == nil {
		return words, nil
	}
	path = append(path, words[0])
	options, rest, err := splitArguments(command.Flags, words[1:])
	if err != nil {
		return nil, err
	}
	if slices.Contains(options, "-h") || slices.Contains(options, "--help") || len(command.Subcommands) > 0 {
		return append(path, "--help"), nil
	}
	return slices.Concat(path, options, []string{"--"}, rest), nil
}

func commandOf(commands []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return commands[i]
}

// unknownCommand names the nearest of the commands. prefix is the words before name.
func unknownCommand(prefix string, commands []*cli.Command, name string) error {
	if prefix == "" && (name == "savepoint" || name == "checkpoint") { // Flink's
		return fmt.Errorf("%w: bobbin %s: %ss are not supported yet", ErrUsage, name, name)
	}
	var names []string
	for _, command := range commands {
		names = append(names, command.Name)
	}
	if nearest := config.Nearest(name, names); nearest != "" {
		return fmt.Errorf("%w: unknown command %q: did you mean %s?", ErrUsage, prefix+name, prefix+nearest)
	}
	return fmt.Errorf("%w: unknown command %q: see bobbin %s--help", ErrUsage, prefix+name, prefix)
}

// noArguments refuses arguments of a command that takes none.
func noArguments(c *cli.Context) error {
	if !c.Args().Present() {
		return nil
	}
	word := c.Args().First()
	if _, err := records.ParseApplicationID(word); err == nil && shortest(c, flagApplication) == "-id" {
		return fmt.Errorf("%w: %s takes no arguments: name the application with -id %s", ErrUsage, c.Command.HelpName, word)
	}
	return fmt.Errorf("%w: %s takes no arguments: leave out %q", ErrUsage, c.Command.HelpName, word)
}

// exitCode prints an error, unless the user has seen it, and returns the exit code.
func exitCode(out io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	_, told := errors.AsType[run.Printed](err)
	interrupted := errors.Is(err, run.ErrInterrupted)
	switch {
	case told:
	case interrupted && !errors.Is(err, client.ErrLeftBehind): // the place of the interruption does not matter
		fmt.Fprintln(out, "bobbin:", run.ErrInterrupted)
	default:
		fmt.Fprintln(out, "bobbin:", err)
	}
	switch {
	case interrupted:
		return ExitInterrupted
	case slices.ContainsFunc(faultsOfUsers(), func(fault error) bool { return errors.Is(err, fault) }):
		return ExitUsage
	case errors.Is(err, client.ErrReplacing) && !errors.As(err, new(onceError)):
		return ExitReplacing
	}
	return ExitFailed
}

// onceError is the error of a command that starts a job or a session: the same command would start another one.
type onceError struct{ error }

func (e onceError) Unwrap() error { return e.error }

// once marks the error of such a command.
func once(err error) error {
	if err == nil {
		return nil
	}
	return onceError{err}
}

// faultsOfUsers are the errors of a command line and of options. Errors that depend on the cluster are not
// among them, such as a missing file or a container size that YARN refuses.
func faultsOfUsers() []error {
	return []error{ErrUsage, config.ErrInvalid, client.ErrMasterTooSmall, memory.ErrTooSmall}
}
