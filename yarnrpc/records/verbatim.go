package records

import "strings"

// Verbatim escapes text for ContainerLaunchContext's Commands or for a value of its
// Environment. The NodeManager's script then yields the text unchanged, with any
// characters (ContainerLaunch.UnixShellScriptBuilder). For a command, bash reads
// this text: Verbatim(`echo "$HOME"`) prints the home directory of the container.
// Without Verbatim, a command loses its double quotes, and its variables have the
// values from before the command.
//
// Write placeholders for the NodeManager, such as <LOG_DIR>, outside:
//
//	records.Verbatim(command) + " 1><LOG_DIR>/stdout"
func Verbatim(text string) string { return verbatim().Replace(text) }

// verbatim escapes the characters that keep their meaning within double quotes. Inside
// the texts that the NodeManager replaces ({{, }}, <LOG_DIR>, <CPS>), it closes and opens
// the quotes.
func verbatim() *strings.Replacer {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`", "{", `{""`, "}", `}""`, "<", `<""`)
}
