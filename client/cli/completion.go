package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// completeCommand is the hidden command that the completion scripts run.
const completeCommand = "complete"

func completionCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: "bash|zsh|fish",
		Description: `The script completes commands, flags, the options of -D, and their values. The command
prints only the script: there is no -o json. Put the line of your shell into its file, for
zsh after compinit: ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish.

  source <(bobbin completion bash)
  source <(bobbin completion zsh)
  bobbin completion fish | source`,
		Action: bind(completion),
	}
}

func completion(_ context.Context, c *call) error {
	script, known := completionScripts()[c.line.Args().First()]
	if c.line.Args().Len() != 1 || !known {
		return fmt.Errorf("%w: %s needs the name of a shell: %s", ErrUsage, c.line.Command.HelpName, strings.Join(slices.Sorted(maps.Keys(completionScripts())), ", "))
	}
	_, err := fmt.Fprint(c.Out, script)
	return err
}

// completionScripts are the scripts, by shell. A script asks bobbin for candidates for the last word, and
// offers files if there are none. Depending on their setup, bash and fish split a value of -D after its "=" or
// not, so the scripts pass the whole word.
func completionScripts() map[string]string {
	return map[string]string{
		"bash": `_bobbin() {
	local line word
	line=${COMP_LINE:0:COMP_POINT}
	word=${line##*[[:space:]]}
	local words=()
	read -r -a words <<<"$line"
	[ -n "$word" ] || words+=("")
	local IFS=$'\n'
	COMPREPLY=($(compgen -W "$(bobbin complete -- "${words[@]:1}" 2>/dev/null)" -- "$word"))
	[ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
	if [[ $word == *=* && $COMP_WORDBREAKS == *=* ]]; then
		COMPREPLY=("${COMPREPLY[@]#"${word%=*}="}")
	fi
	if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null
	fi
}
complete -F _bobbin bobbin
`,
		"zsh": `_bobbin() {
	local -a candidates
	candidates=("${(@f)$(bobbin complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
	candidates=(${candidates:#})
	if (( ${#candidates} )); then
		compadd -- $candidates
	else
		_files
	fi
}
compdef _bobbin bobbin
`,
		"fish": `function __bobbin_candidates
	set -l words (commandline -opc) (commandline -ct)
	bobbin complete -- $words[2..-1] 2>/dev/null
end
complete -c bobbin -a '(__bobbin_candidates)'
`,
	}
}

func candidatesCommand(bind binder) *cli.Command {
	return &cli.Command{
		Name: completeCommand, Usage: "print the candidates for the last word", ArgsUsage: "WORD…", Hidden: true,
		Action: bind(func(_ context.Context, c *call) error {
			for _, candidate := range candidates(c.line.App.Commands, c.line.Args().Slice()) {
				fmt.Fprintln(c.Out, candidate)
			}
			return nil
		}),
	}
}

// candidates are what can replace the last word of a command line, which may be incomplete. There are none
// where a file name is expected, or a value that bobbin cannot know.
func candidates(commands []*cli.Command, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last, words := words[len(words)-1], words[:len(words)-1]
	var command *cli.Command
	for len(words) > 0 && len(commands) > 0 {
		if command = commandOf(commands, words[0]); command == nil {
			return nil
		}
		commands, words = command.Subcommands, words[1:]
	}
	if len(commands) > 0 {
		return beginning(last, commandNames(commands))
	}
	if command == nil {
		return nil
	}
	return candidatesOf(command, words, last)
}

func commandNames(commands []*cli.Command) []string {
	var names []string
	for _, command := range commands {
		if !command.Hidden {
			names = append(names, command.Name)
		}
	}
	return names
}

// candidatesOf are the flags and values of one command.
func candidatesOf(command *cli.Command, words []string, last string) []string {
	wants := "" // the flag whose value the last word is
	if n := len(words); n > 0 {
		if name := strings.TrimLeft(words[n-1], "-"); name != words[n-1] && takesValue(command, name) {
			wants, words = name, words[:n-1]
		}
	}
	if _, rest, err := splitArguments(command.Flags, words); err != nil || len(rest) > 0 {
		return nil // words after the program belong to the program
	}
	switch {
	case wants == "D":
		return beginning(last, definitions(last, ""))
	case wants != "":
		return beginning(last, valuesOf(wants))
	case strings.HasPrefix(last, "-D"):
		return beginning(last, definitions(strings.TrimPrefix(last, "-D"), "-D"))
	case strings.HasPrefix(last, "-"):
		var names []string
		for _, flag := range command.Flags {
			for _, name := range flag.Names() {
				names = append(names, dashed(name))
			}
		}
		return beginning(last, append(names, "--help"))
	case command.Name == "completion":
		return beginning(last, slices.Sorted(maps.Keys(completionScripts())))
	}
	return nil
}

func takesValue(command *cli.Command, name string) bool {
	return slices.ContainsFunc(command.Flags, func(f cli.Flag) bool {
		documented, ok := f.(cli.DocGenerationFlag)
		return ok && documented.TakesValue() && slices.Contains(f.Names(), name)
	})
}

// definitions are options with "=", or the values of one option if word contains the "=".
func definitions(word, prefix string) []string {
	var all []string
	if name, _, given := strings.Cut(word, "="); given {
		for _, value := range config.Choices(name) {
			all = append(all, prefix+name+"="+value)
		}
		return all
	}
	for _, name := range config.Names() {
		prefix, anything := strings.CutSuffix(prefix+name, "*")
		if !anything {
			prefix += "="
		}
		all = append(all, prefix)
	}
	return all
}

// valuesOf are the values of a flag that allows only a few.
func valuesOf(flag string) []string {
	switch flag {
	case "output", "o":
		return []string{"json", "text"}
	case "target", "t":
		return config.Choices(config.ExecutionTarget.Name())
	}
	return nil
}

// beginning are the texts that begin with word.
func beginning(word string, all []string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, word) })
}
