// Package startup writes the first lines of a process' log: what runs, as whom and where, within which
// limits, with which options, and how its memory is divided. Values that may be secrets are hidden, and
// the package reads no credentials. It starts no goroutine, and imports no role.
package startup

import (
	"maps"
	"math"
	"os"
	"os/user"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/machine"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/version"
)

// Process describes a process. Empty fields are left out.
type Process struct {
	Role string // "ApplicationMaster", "TaskExecutor", "task host", "client"
	Identity
	Application, Container, Node, Job string
	Attempt                           int
	ContainerMB, VCores               int

	WorkDir   string
	LogDir    string
	LocalDirs []string

	Machine machine.Machine
	// Options are those that a file, a flag or the client has set.
	Options map[string]string
	// Memory lists divisions of memory, by what they divide.
	Memory []Division
}

// Identity is the user of a process on its cluster, and the proof of that.
type Identity struct {
	User        string
	RealUser    string // who acts for User; "": User does
	Principal   string // of the login with Kerberos
	Credentials string // the kind: one of the constants
}

// Kinds of credentials.
const (
	Keytab      = "keytab"
	TicketCache = "ticket cache"
	Tokens      = "delegation tokens"
	None        = "none" // the cluster trusts the user's name
)

// TokensIf returns the kind of credentials of a process that has received all of them from others.
func TokensIf(has bool) string {
	if has {
		return Tokens
	}
	return None
}

// Fields are the fields of a log line.
func (i Identity) Fields() logrus.Fields {
	return shown(logrus.Fields{"user": i.User, "real_user": i.RealUser, "principal": i.Principal, "credentials": i.Credentials})
}

// Containers lists the divisions of a cluster's containers.
func Containers(master memory.Master, worker memory.Worker) []Division {
	return []Division{
		{Of: "ApplicationMaster", Total: master.Process, Parts: master.Parts()},
		{Of: "TaskExecutor", Total: worker.Process, Parts: worker.Parts()},
	}
}

// shown removes fields without a value.
func shown(fields logrus.Fields) logrus.Fields {
	maps.DeleteFunc(fields, func(_ string, value any) bool { return value == "" || value == 0 || value == nil })
	return fields
}

// Division is how memory is divided among its users.
type Division struct {
	Of    string // "TaskExecutor"
	Total config.Bytes
	Parts []memory.Part
}

// Log writes the lines at a level. Only text that cannot be a secret is in them.
func Log(logger logrus.FieldLogger, level logrus.Level, p Process) {
	line := func(message string, fields logrus.Fields) {
		if shown(fields); len(fields) > 0 { // a client has no place
			logger.WithFields(fields).Log(level, message)
		}
	}
	starts := logrus.Fields{
		"version": version.Text(), "build": version.BuildOf().String(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		"pid": os.Getpid(), "system_user": systemUser(),
	}
	maps.Copy(starts, p.Identity.Fields())
	line(p.Role+" starts", starts)
	line("place", logrus.Fields{
		"app": p.Application, "attempt": p.Attempt, "container": p.Container, "node": p.Node, "job": p.Job,
		"memory": megabytes(config.Bytes(p.ContainerMB) * config.Mebibyte), "vcores": p.VCores,
	})
	line("limits", limits(p.Machine))
	line("directories", logrus.Fields{"work": p.WorkDir, "logs": p.LogDir, "local": strings.Join(p.LocalDirs, ",")})
	for _, d := range p.Memory {
		fields := logrus.Fields{"of": d.Of, "total": memory.Text(d.Total)}
		for _, part := range d.Parts {
			fields[strings.ReplaceAll(part.Name, " ", "_")] = memory.Text(part.Size)
		}
		line("memory", fields)
	}
	options := config.Shown(p.Options)
	for _, name := range slices.Sorted(maps.Keys(options)) {
		line("option", logrus.Fields{"name": name, "value": options[name]})
	}
}

// limits describes the limits of Go's runtime, of the machine and of the control groups.
func limits(m machine.Machine) logrus.Fields {
	fields := logrus.Fields{
		"gomaxprocs": runtime.GOMAXPROCS(0), "machine_cores": m.Cores, "machine_memory": megabytes(m.Memory),
		"cgroup_memory": megabytes(m.GroupMemory),
	}
	if m.GroupCores > 0 {
		fields["cgroup_cores"] = m.GroupCores
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		fields["gomemlimit"] = memory.Text(config.Bytes(limit))
	}
	return fields
}

// megabytes formats a size; "" for 0, which is unknown.
func megabytes(size config.Bytes) string {
	if size == 0 {
		return ""
	}
	return memory.Text(size)
}

// systemUser is the name of the operating system's user; its id if it has no name.
func systemUser() string {
	current, err := user.Current()
	if err != nil {
		return ""
	}
	return current.Username
}
