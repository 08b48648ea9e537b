package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/terminal"
)

// overview is the help of bobbin itself. A row is a command in a form of the docs, without "bobbin".
const overview = `NAME:
   bobbin - dataflow on Hadoop YARN

USAGE:
   bobbin COMMAND [flags] [arguments]

   bobbin COMMAND --help explains a command and its flags, with examples.

RUN JOBS:
   run PROGRAM                   run in the last session, or else locally
   run -t yarn-per-job PROGRAM   run in a new YARN application for each job
   run -d PROGRAM                return as soon as the job runs
   run-application PROGRAM       run the whole program on YARN
   info PROGRAM                  print the plan of a job without running it

LOOK AT JOBS:
   list                          list the jobs that run or wait for slots
   list -a                       also list the jobs that have ended
   status                        print workers, slots and jobs
   status -w                     print them again and again until the end
   top                           watch jobs, their vertices and workers
   open APPLICATION              open the page of an application, for changes
   logs APPLICATION              print the logs of an application's containers
   logs --file NAME APPLICATION  print one log, for example jobmanager.log

END JOBS:
   cancel JOB                    cancel a job
   stop JOB                      refused: savepoints are not supported yet
   kill APPLICATION              end an application with all its jobs

SESSIONS:
   session start -d              start a session, which runs many jobs
   session start                 start a session that Ctrl-C stops
   session attach                open the prompt of a running session
   session access FILE           write an access file for machines without YARN
   session open                  open the page of the last session, for changes
   session query                 print the nodes and queues of YARN
   session stop                  stop a session and its jobs

CLUSTER:
   doctor                        check everything that a job needs
   applications                  list the applications of YARN that wait or run
   gc --dry-run                  list staged files that no application needs
   gc                            remove these files
   history-server                show jobs whose applications have ended

BOBBIN:
   completion bash               print the completion script of a shell
   version                       print the version and the commit of this binary

WHICH APPLICATION:
   list, status, top, cancel and session use the session that you started last.
   Name another application with -id APPLICATION. bobbin applications prints the
   ids.

OUTPUT AND EXIT CODE:
   With -o json a command prints one JSON object on standard output. The object
   has the field "error" if the command failed. Help, logs and completion
   scripts are always text.

   The exit code is 0 after success, 2 if the command line or an option is
   wrong, 75 if the ApplicationMaster is being replaced and the same command may
   succeed soon, 130 after Ctrl-C, SIGTERM or SIGHUP, and otherwise 1.
`

// helpFor is the help for the words that arrange returns, if they ask for help.
func helpFor(commands []*cli.Command, words []string) (text string, asked bool) {
	if len(words) == 0 || slices.Contains([]string{"", "-h", "--help"}, words[0]) {
		return overview, true
	}
	last := len(words) - 1
	if words[last] != "--help" || slices.Contains(words, "--") {
		return "", false
	}
	var command *cli.Command
	for _, name := range words[:last] {
		if command = commandOf(commands, name); command == nil {
			return "", false
		}
		commands = command.Subcommands
	}
	return commandHelp(strings.Join(words[:last], " "), command), true
}

// commandHelp is the help of a command, with the words that lead to it.
func commandHelp(path string, command *cli.Command) string {
	usage := "bobbin " + path
	if len(command.Subcommands) > 0 {
		usage += " COMMAND"
	}
	indent := strings.Repeat(" ", helpIndent)
	description := strings.ReplaceAll(indent+strings.ReplaceAll(command.Description, "\n", "\n"+indent), "\n"+indent+"\n", "\n\n")
	var b strings.Builder
	fmt.Fprintf(&b, "NAME:\n%sbobbin %s - %s\n", indent, path, command.Usage)
	fmt.Fprintf(&b, "\nUSAGE:\n%s%s\n", indent, strings.TrimSpace(usage+" [flags] "+command.ArgsUsage))
	fmt.Fprintf(&b, "\nDESCRIPTION:\n%s\n", description)
	var rows [][2]string
	for _, below := range command.Subcommands {
		rows = append(rows, [2]string{below.Name, below.Usage})
	}
	writeRows(&b, "COMMANDS", rows)
	rows = nil
	for _, flag := range command.Flags {
		if f, ok := flag.(cli.DocGenerationFlag); ok {
			rows = append(rows, flagRow(f))
		}
	}
	writeRows(&b, "FLAGS", append(rows, [2]string{"-h, --help", "show help"}))
	return b.String()
}

// flagRow is a flag as the docs write it, short names first, with its usage. Backquotes in the usage mark the
// name of the value.
func flagRow(flag cli.DocGenerationFlag) (row [2]string) {
	name, aliases := flag.Names()[0], flag.Names()[1:]
	var names []string
	for _, alias := range aliases {
		names = append(names, "-"+alias)
	}
	row[0] = strings.Join(append(names, dashed(name)), ", ")
	if parts := strings.Split(flag.GetUsage(), "`"); len(parts) == 3 {
		row[0] += " " + parts[1]
	}
	row[1] = strings.ReplaceAll(flag.GetUsage(), "`", "")
	return row
}

// writeRows writes a table below a title, if it has rows.
func writeRows(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, row := range rows {
		fmt.Fprintf(b, "%*s%-*s  %s\n", helpIndent, "", width, row[0], row[1])
	}
}

// printHelp prints a help. On a narrower terminal it breaks lines between words.
func printHelp(out io.Writer, text string) error {
	if columns := terminal.Columns(out); columns > 0 {
		text = fitHelp(text, columns)
	}
	_, err := io.WriteString(out, text)
	return err
}

// The layout of a help, in cells.
const (
	helpIndent  = 3  // before text
	usageIndent = 6  // before the usage of a flag that is below the flag
	usageRoom   = 24 // least room for a usage beside its flag
)

// fitHelp breaks the lines of each paragraph and each list of flags or commands that is wider than the
// terminal.
func fitHelp(text string, columns int) string {
	blocks := strings.Split(text, "\n\n")
	for i, block := range blocks {
		lines := strings.Split(block, "\n")
		if slices.ContainsFunc(lines, func(line string) bool { return terminal.Cells(line) > columns }) {
			blocks[i] = strings.Join(fitBlock(lines, columns), "\n")
		}
	}
	return strings.Join(blocks, "\n\n")
}

func fitBlock(lines []string, columns int) (fit []string) {
	var prose []string // the words of a paragraph
	end := func() {
		if prose != nil {
			fit = append(fit, strings.Repeat(" ", helpIndent)+terminal.Hang(strings.Join(prose, " "), helpIndent, helpIndent, columns))
		}
		prose = nil
	}
	for _, line := range lines {
		words := strings.TrimLeft(line, " ")
		left, right, isRow := strings.Cut(words, "  ")
		switch indent := len(line) - len(words); {
		case indent == helpIndent && isRow:
			end()
			fit = append(fit, fitRow(left, strings.TrimLeft(right, " "), len(line)-len(strings.TrimLeft(right, " ")), columns))
		case indent == helpIndent:
			prose = append(prose, words)
		default: // titles are short, and users copy examples unchanged
			end()
			fit = append(fit, line)
		}
	}
	end()
	return fit
}

// fitRow fits the usage of a flag or command: at the column where it begins, or below the name if there is too
// little room.
func fitRow(name, usage string, at, columns int) string {
	indent := strings.Repeat(" ", helpIndent)
	if at+usageRoom <= columns {
		return indent + name + strings.Repeat(" ", at-helpIndent-len(name)) + terminal.Hang(usage, at, at, columns)
	}
	return indent + terminal.Hang(name, helpIndent, usageIndent, columns) + "\n" +
		strings.Repeat(" ", usageIndent) + terminal.Hang(usage, usageIndent, usageIndent, columns)
}
