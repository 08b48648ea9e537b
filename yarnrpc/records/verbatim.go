package records

import "strings"

// Verbatim writes text for ContainerLaunchContext's Commands or for a value of its
// Environment so that it comes out of the NodeManager's script as it is, whatever
// characters it has (ContainerLaunch.UnixShellScriptBuilder). Of commands that is
// what bash reads then: Verbatim(`echo "$HOME"`) prints the home directory of the
// container. Without it a command's double quotes are lost, and its variables have
// the values from before the command.
//
// What the NodeManager is to replace, such as <LOG_DIR>, goes outside:
//
//	records.Verbatim(command) + " 1><LOG_DIR>/stdout"
func Verbatim(text string) string { return verbatim().Replace(text) }

// verbatim escapes what double quotes leave its meaning. They are closed and opened
// again within what the NodeManager looks for: {{, }}, <LOG_DIR>, <CPS>.
func verbatim() *strings.Replacer {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`", "{", `{""`, "}", `}""`, "<", `<""`)
}
