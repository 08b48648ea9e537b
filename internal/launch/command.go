package launch

import "fmt"

// A TaskExecutor: the role in its command, and the name of its logs.
const (
	WorkerRole = "taskexecutor"
	WorkerLog  = "taskmanager"
)

// MasterLog is the name of the ApplicationMaster's logs.
const MasterLog = "jobmanager"

// Command returns the command that starts bobbin in a container in a role, such as "taskexecutor".
// The role writes its own log. log+".stdout" and log+".stderr" have the output of the Go runtime
// when it crashes, and of a role that cannot start. YARN's diagnostics contain the end of files
// with "stderr" in their names (yarn.nodemanager.container.stderr.pattern).
//
// sha256 is the hash of the binary in lower-case hex. The command comes by RPC with RPC's
// protection, but the file comes over HDFS, whose protection can be weaker. So the shell compares
// the hash, and does not run a file with another hash. openssl computes the hash in a third of the
// time of sha256sum; a node without openssl uses sha256sum, and a node without both runs no file.
// With "" the shell does not compare. After the start bobbin itself checks the files that it runs.
func Command(role, sha256, log string) string {
	stderr := "<LOG_DIR>/" + log + ".stderr"
	run := fmt.Sprintf("exec ./%s %s 1><LOG_DIR>/%s.stdout 2>%s", BobbinLink, role, log, stderr)
	if sha256 == "" {
		return run
	}
	// The NodeManager puts this text between double quotes, see records.ContainerLaunchContext.
	return fmt.Sprintf("{ openssl dgst -sha256 %[2]s || sha256sum %[2]s; } 2>/dev/null | grep -q '%[1]s' || { echo '%[4]s' 1>>%[3]s; exit 1; }; %[5]s",
		sha256, BobbinLink, stderr, notStarted, run)
}

// notStarted goes into YARN's diagnostics if the hash of the binary is not confirmed.
const notStarted = BobbinLink + " is not started: the SHA-256 of its file on this node differs from that of the submitted file, or the node has neither openssl nor sha256sum (coreutils)"
