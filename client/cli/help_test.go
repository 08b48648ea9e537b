package cli

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// TestHelpHasAnExampleOfEachCommand would catch a command whose help leaves people to guess,
// and an example that is refused.
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
			// Behind two blanks there is a comment.
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
			if len(command.Subcommands) > 0 { // another's example
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

// TestScriptsAreAnswered would catch a command that has no answer for scripts, and a help that
// does not say so.
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

// eachCommand visits commands and those below them, with the words that lead to them.
func eachCommand(above string, commands []*cli.Command, visit func(path string, command *cli.Command)) {
	for _, command := range commands {
		visit(above+command.Name, command)
		eachCommand(above+command.Name+" ", command.Subcommands, visit)
	}
}
