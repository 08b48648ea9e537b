package bobbintest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// Role is the role of a process of an application.
type Role string

// The roles of processes.
const (
	ApplicationMaster Role = "appmaster"
	TaskExecutor      Role = "taskexecutor"
	TaskHost          Role = "taskhost" // the user's program
	Driver            Role = "driver"   // the user's program beside the ApplicationMaster
	Other             Role = "other"    // YARN's shells around ours, and children of the program
)

// Process is a process of an application on this machine. All nodes of the cluster are on this machine.
type Process struct {
	PID       int
	Parent    int
	Role      Role
	Container string
}

// String names the process for messages of failed tests.
func (p Process) String() string { return fmt.Sprintf("%s %d of %s", p.Role, p.PID, p.Container) }

// Processes lists the live processes of an application. These processes have the id of one of its containers in their
// environment or command line. YARN's launch script sets it there, and children inherit it.
func Processes(t testing.TB, application string) []Process {
	t.Helper()
	var found []Process
	for _, pid := range pids(t) {
		dir := filepath.Join("/proc", strconv.Itoa(pid))
		if pid == os.Getpid() || !mayBeOurs(dir) {
			continue
		}
		p, ok, err := processOf(dir, application)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			p.PID = pid
			found = append(found, p)
		}
	}
	return found
}

// pids returns all processes of this machine.
func pids(t testing.TB) []int {
	t.Helper()
	proc, err := os.Open("/proc")
	if err != nil {
		t.Fatal(err)
	}
	names, err := proc.Readdirnames(-1)
	if err := errors.Join(err, proc.Close()); err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, pid)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// mayBeOurs reports whether a process can belong to an application of ours. It excludes ended processes, and JVMs:
// there are dozens of them with long command lines and environments, and our applications start none.
func mayBeOurs(dir string) bool {
	program, err := os.Readlink(filepath.Join(dir, "exe"))
	return err == nil && filepath.Base(program) != "java"
}

// ProcessesIn lists an application's processes of one role.
func ProcessesIn(t testing.TB, application string, role Role) []Process {
	t.Helper()
	return slices.DeleteFunc(Processes(t, application), func(p Process) bool { return p.Role != role })
}

// WaitNoProcesses waits until the application has no live processes.
func WaitNoProcesses(t testing.TB, application string) {
	t.Helper()
	var alive []Process
	defer func() {
		if len(alive) > 0 {
			t.Logf("alive: %v", alive)
		}
	}()
	wait.Until(t, "no process of "+application+" is alive", func() bool {
		alive = slices.DeleteFunc(alive, func(p Process) bool { // checks only the known processes again, which is cheap
			_, still, err := processOf(filepath.Join("/proc", strconv.Itoa(p.PID)), application)
			if err != nil {
				t.Fatal(err)
			}
			return !still
		})
		if len(alive) == 0 {
			alive = Processes(t, application)
		}
		return len(alive) == 0
	})
}

// Kill sends a process SIGKILL.
func (p Process) Kill(t testing.TB) {
	t.Helper()
	p.Signal(t, syscall.SIGKILL)
}

// Signal sends a process a signal.
func (p Process) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(p.PID, signal); err != nil {
		t.Fatalf("send %s %d of %s %v: %v", p.Role, p.PID, p.Container, signal, err)
	}
}

// Read returns the number of bytes that the process has read from files and connections. It is 0 after the process has
// ended.
func (p Process) Read(t testing.TB) int64 {
	t.Helper()
	text, err := read(filepath.Join("/proc", strconv.Itoa(p.PID)), "io")
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if _, err := fmt.Sscanf(string(text), "rchar: %d", &n); err != nil && len(text) > 0 {
		t.Fatalf("read of %s %d: %v", p.Role, p.PID, err)
	}
	return n
}

// Memory returns the private memory of the process in KiB, without the text of its program and mapped files (RssAnon,
// proc(5)). It is 0 after the process has ended.
func (p Process) Memory(t testing.TB) int64 {
	t.Helper()
	return p.status(t, "RssAnon:")
}

// Peak returns the largest memory of the process so far in KiB, counted like YARN counts it (VmHWM, proc(5)). It is 0
// after the process has ended.
func (p Process) Peak(t testing.TB) int64 {
	t.Helper()
	return p.status(t, "VmHWM:")
}

// status returns a number from the process's status file.
func (p Process) status(t testing.TB, name string) int64 {
	t.Helper()
	text, err := read(filepath.Join("/proc", strconv.Itoa(p.PID)), "status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, name); found {
			var n int64
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Fatalf("status of %s %d: %q: %v", p.Role, p.PID, line, err)
			}
			return n
		}
	}
	return 0
}

// Files returns the number of the process's open files and connections. It is 0 after the process has ended.
func (p Process) Files(t testing.TB) int {
	t.Helper()
	open, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(p.PID), "fd"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return len(open)
}

// Variable returns a variable of the environment with which the process began. It is "" if the variable is not set, or
// the process has ended.
func (p Process) Variable(t testing.TB, name string) string {
	t.Helper()
	environ, err := read(filepath.Join("/proc", strconv.Itoa(p.PID)), "environ")
	if err != nil {
		t.Fatal(err)
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}

// Credentials returns the tokens and secrets that YARN has given to the process's container.
func (p Process) Credentials(t testing.TB) *creds.Credentials {
	t.Helper()
	file := p.Variable(t, launch.TokenFileVariable)
	given, err := creds.ReadFile(file)
	if err != nil {
		t.Fatalf("read tokens of %s %d: %v", p.Role, p.PID, err)
	}
	return given
}

// processOf reads the description of a process. It is not ok if the process has ended or belongs to no container of the
// application.
func processOf(dir, application string) (Process, bool, error) {
	environ, err := read(dir, "environ")
	if err != nil {
		return Process{}, false, err
	}
	command, err := read(dir, "cmdline")
	if err != nil {
		return Process{}, false, err
	}
	container := containerOf(environ, application)
	if container == "" {
		container = containerOf(command, application)
	}
	// The command line of a zombie is empty.
	if container == "" || len(command) == 0 {
		return Process{}, false, nil
	}
	p := Process{Role: roleOf(command, environ), Container: container}
	stat, err := statOf(dir)
	if err != nil || stat == nil {
		return p, stat != nil, err
	}
	p.Parent, err = strconv.Atoi(stat[1])
	return p, true, err
}

// read reads a file of /proc. It returns "" if the process has ended or belongs to another system user.
func read(dir, name string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ESRCH) {
		return nil, nil
	}
	return text, err
}

// containerOf finds the id of one of the application's containers:
// container_[e<epoch>_]<timestamp>_<application>_<attempt>_<container>.
func containerOf(text []byte, application string) string {
	key := "_" + strings.TrimPrefix(application, "application_") + "_"
	if !bytes.Contains(text, []byte(key)) {
		return ""
	}
	for word := range bytes.FieldsFuncSeq(text, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z')
	}) {
		if id := string(word); strings.HasPrefix(id, "container_") && strings.Contains(id, key) {
			return id
		}
	}
	return ""
}

// roleOf recognizes bobbin by its name, and a program by the environment variable with which it was started. The
// program's own children do not get this variable.
func roleOf(command, environ []byte) Role {
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, is := bytes.CutPrefix(entry, []byte(control.Variable+"=")); is {
			role, _, _ := bytes.Cut(value, []byte(":"))
			return Role(role)
		}
	}
	args := strings.Split(string(command), "\x00")
	if filepath.Base(args[0]) == launch.BobbinLink && len(args) > 1 {
		return Role(args[1])
	}
	return Other
}

// statOf returns the fields of /proc/PID/stat after the name in parentheses, which may contain any character: state,
// parent, process group. It returns none for an ended process.
func statOf(dir string) ([]string, error) {
	stat, err := read(dir, "stat")
	if err != nil || len(stat) == 0 {
		return nil, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 3 {
		return nil, fmt.Errorf("read %s/stat: %q", dir, stat)
	}
	return fields, nil
}
