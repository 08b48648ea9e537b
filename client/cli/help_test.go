package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestHelpIsNoWiderThanAPage would catch a paragraph that a pipe gets as one long line.
func TestHelpIsNoWiderThanAPage(t *testing.T) {
	const most = 92 // columns
	check := func(name, description string) {
		for line := range strings.Lines(description) {
			if width := terminal.Cells(strings.TrimSpace(line)); width > most && !strings.HasPrefix(line, "  ") { // users copy examples
				t.Errorf("bobbin %s: a line is %d columns wide: %s", name, width, line)
			}
		}
	}
	check("--help", strings.ReplaceAll(overview, "\n   ", "\n"))
	eachCommand("", commandsOf(Process{}), func(path string, command *cli.Command) { check(path, command.Description) })
}

// TestHelpHasAnExampleOfEachCommand would catch a command without an example, and an example that bobbin
// refuses.
func TestHelpHasAnExampleOfEachCommand(t *testing.T) {
	app := &cli.App{Commands: commandsOf(Process{}), DisableSliceFlagSeparator: true}
	var ran *cli.Context
	eachCommand("", app.Commands, func(_ string, command *cli.Command) {
		command.Action = func(c *cli.Context) error {
			ran = c
			return nil
		}
	})
	eachCommand("", app.Commands, func(path string, command *cli.Command) {
		if command.Hidden {
			return
		}
		var examples []string
		for line := range strings.Lines(command.Description) {
			// A comment follows two blanks.
			example := regexp.MustCompile(`\bbobbin ` + path + `\b(?: [^\s)|]+)*`).FindString(line)
			if strings.HasPrefix(line, "  ") && example != "" {
				examples = append(examples, example)
			}
		}
		if len(examples) == 0 {
			t.Errorf("bobbin %s has no example", path)
		}
		for _, example := range examples {
			line := strings.Fields(example)[1:]
			words, err := arrange(app.Commands, line)
			if err == nil {
				ran = nil
				err = app.Run(append([]string{"bobbin"}, words...))
			}
			if err != nil {
				t.Errorf("%s: %v", example, err)
				continue
			}
			if len(command.Subcommands) > 0 { // an example of another command
				continue
			}
			layers, err := clusterLayers(ran)
			if err == nil {
				_, err = config.New(append(layers, flagLayers(ran, deploymentFlags()...)...)...)
			}
			if err != nil {
				t.Errorf("%s: %v", example, err)
			}
		}
	})
}

// TestScriptsAreAnswered would catch a command without -o json whose help does not say so.
func TestScriptsAreAnswered(t *testing.T) {
	eachCommand("", commandsOf(Process{}), func(path string, command *cli.Command) {
		if command.Hidden || len(command.Subcommands) > 0 {
			return
		}
		answers := slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return f.Names()[0] == "output" })
		if answers == strings.Contains(command.Description, "there is no -o json") {
			t.Errorf("bobbin %s: -o is %t, and its help says:\n%s", path, answers, command.Description)
		}
	})
}

// TestHelpFitsNarrowTerminals would catch a help that breaks or loses words, and an example that cannot be
// copied.
func TestHelpFitsNarrowTerminals(t *testing.T) {
	eachCommand("", commandsOf(Process{}), func(path string, c *cli.Command) {
		if c.Hidden {
			return
		}
		_, help, _ := command(t, nil, append(strings.Fields(path), "--help")...)
		for columns := 40; columns <= 160; columns += 10 {
			fit := fitHelp(help, columns)
			for line := range strings.Lines(fit) {
				example := strings.HasPrefix(line, "     ") && strings.Contains(help, line)
				if terminal.Cells(strings.TrimRight(line, "\n")) > columns && !example {
					t.Errorf("bobbin %s at %d columns: too wide: %s", path, columns, line)
				}
			}
			if diff := cmp.Diff(strings.Fields(help), strings.Fields(fit)); diff != "" {
				t.Errorf("bobbin %s at %d columns (-want +got):\n%s", path, columns, diff)
			}
		}
	})
}

// TestOverviewShowsEachCommand would catch a command that is missing in the overview, a form that the command
// line refuses, and a row that is too wide for a terminal of 80 columns.
func TestOverviewShowsEachCommand(t *testing.T) {
	commands := commandsOf(Process{})
	shown := make(map[string]bool)
	for line := range strings.Lines(overview) {
		line = strings.TrimSuffix(line, "\n")
		if width := terminal.Cells(line); width > 80 {
			t.Errorf("%d columns: %s", width, line)
		}
		form, _, isRow := strings.Cut(strings.TrimSpace(line), "  ")
		if !isRow {
			continue
		}
		words, err := arrange(commands, strings.Fields(form))
		if err != nil || slices.Contains(words, "--help") {
			t.Errorf("%s: arranged as %q: %v", form, words, err)
			continue
		}
		shown[words[0]] = true
	}
	for _, command := range commands {
		if shown[command.Name] == command.Hidden {
			t.Errorf("bobbin %s: shown is %t, hidden is %t", command.Name, shown[command.Name], command.Hidden)
		}
	}
	if got := fitHelp(overview, 80); got != overview {
		t.Errorf("at 80 columns (-want +got):\n%s", cmp.Diff(overview, got))
	}
}

// TestHelpShowsFlagsAsTheDocsDo would catch a short flag with two dashes, a default without meaning, and a
// value without a name.
func TestHelpShowsFlagsAsTheDocsDo(t *testing.T) {
	eachCommand("", commandsOf(Process{}), func(path string, c *cli.Command) {
		_, help, _ := command(t, nil, append(strings.Fields(path), "--help")...)
		if strings.Contains(help, "(default: ") || strings.Contains(help, "`") {
			t.Errorf("bobbin %s:\n%s", path, help)
		}
		for _, flag := range c.Flags {
			row := flagRow(flag.(cli.DocGenerationFlag))
			if takes := flag.(cli.DocGenerationFlag).TakesValue(); takes != strings.Contains(row[0][strings.LastIndex(row[0], "-"):], " ") {
				t.Errorf("bobbin %s: a value is %t: %s", path, takes, row[0])
			}
			for _, alias := range flag.Names()[1:] {
				if !strings.Contains(row[0], "-"+alias+", ") || strings.Contains(row[0], "--"+alias+",") {
					t.Errorf("bobbin %s: -%s is shown as %s", path, alias, row[0])
				}
			}
		}
	})
}

// eachCommand visits commands and their subcommands, with the words that lead to them.
func eachCommand(above string, commands []*cli.Command, visit func(path string, command *cli.Command)) {
	for _, command := range commands {
		visit(above+command.Name, command)
		eachCommand(above+command.Name+" ", command.Subcommands, visit)
	}
}

// TestHelpKeepsItsForm would catch paragraphs that are joined, and a usage in a column that is too narrow.
func TestHelpKeepsItsForm(t *testing.T) {
	const help = `NAME:
   bobbin kill - end an application

DESCRIPTION:
   Kills the application, and removes
   what was staged.

     bobbin kill application_1700000000000_0001

   Twice.

OPTIONS:
   --proxy-user USER  act for USER, as others allow
   --help, -h         show help
`
	for columns, want := range map[int]string{
		51: help,
		50: strings.Replace(help, "as others allow", "as others\n                      allow", 1),
		36: `NAME:
   bobbin kill - end an application

DESCRIPTION:
   Kills the application, and
   removes what was staged.

     bobbin kill application_1700000000000_0001

   Twice.

OPTIONS:
   --proxy-user USER
      act for USER, as others allow
   --help, -h
      show help
`,
	} {
		if diff := cmp.Diff(want, fitHelp(help, columns)); diff != "" {
			t.Errorf("%d columns (-want +got):\n%s", columns, diff)
		}
	}
}
