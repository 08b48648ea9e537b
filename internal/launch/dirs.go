package launch

import "strings"

// ProfileDir is the folder for profiles of a container's processes, in its working directory. The NodeManager removes
// it with the container.
const ProfileDir = "profiles"

// Dirs reads what a NodeManager tells a container of its folders: the first one for logs, "" if this process is not
// in a container, and the folders of the application on the node's disks.
func Dirs(getenv func(string) string) (logs string, local []string) {
	logs, _, _ = strings.Cut(getenv("LOG_DIRS"), ",")
	return logs, strings.FieldsFunc(getenv("LOCAL_DIRS"), func(r rune) bool { return r == ',' })
}
