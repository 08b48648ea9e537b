package launch

import "fmt"

// Command is what starts bobbin in a container as one of its roles, such as "taskexecutor". What the role writes itself
// goes to its log; log+".stdout" and log+".stderr" hold what the Go runtime says when it dies, or it when it cannot start.
// YARN tells the end of files with "stderr" in their names among the diagnostics
// (yarn.nodemanager.container.stderr.pattern).
//
// sha256 is that of the binary, lower-case hex: the command comes by RPC, as protected as that is, while the file has gone
// over HDFS, where the protection can be less. So the shell compares them, and does not run another file, nor any
// if the node has no sha256sum. With "" it runs what is there. From then on bobbin itself looks at what it runs.
func Command(role, sha256, log string) string {
	stderr := "<LOG_DIR>/" + log + ".stderr"
	run := fmt.Sprintf("exec ./%s %s 1><LOG_DIR>/%s.stdout 2>%s", BobbinLink, role, log, stderr)
	if sha256 == "" {
		return run
	}
	// The NodeManager puts this between double quotes, see records.ContainerLaunchContext.
	return fmt.Sprintf("echo '%[1]s  %[2]s' | sha256sum -c - 1>%[3]s 2>&1 || { echo '%[4]s' 1>>%[3]s; exit 1; }; %[5]s",
		sha256, BobbinLink, stderr, notStarted, run)
}

// notStarted is what YARN tells of a container whose binary is not proven.
const notStarted = BobbinLink + " is not started: the SHA-256 of its file on this node differs from that of the submitted file, or the node has no sha256sum (coreutils)"
