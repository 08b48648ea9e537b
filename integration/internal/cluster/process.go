package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// launch starts a daemon in a session of its own. The daemon outlives ctx, and its pid file identifies it later.
func (c *Cluster) launch(ctx context.Context, d daemon) error {
	cmd, err := c.command(context.WithoutCancel(ctx), d)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(c.spec.logFile(d), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.Name, err)
	}
	if err := c.spec.notePid(d, cmd.Process.Pid); err != nil {
		return err
	}
	if err := wait.Poll(ctx, d.Name+" to begin", func() error { return begun(cmd.Process.Pid) }); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// command returns the command that starts a daemon.
func (c *Cluster) command(ctx context.Context, d daemon) (*exec.Cmd, error) {
	switch d.Kind {
	case keyCenter:
	case zooKeeper:
		return c.javaCommand(ctx, d, d.Kind.mainClass(), c.spec.zooKeeperConf()), nil
	default:
		return c.javaCommand(ctx, d, d.Kind.mainClass()), nil
	}
	cmd, err := c.keyCenterCommand(ctx)
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, nil
}

// begun reports whether a child's environment can be read, or never can. The kernel shows it a moment after the program
// has begun. Until then the child looks like an ended process.
func begun(pid int) error {
	env, unreadable := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	ended, gone := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
	if unreadable == nil && len(env) == 0 && gone == nil && ended != pid {
		return errors.New("the process has no environment yet")
	}
	return nil
}

// javaCommand runs a class with a daemon's configuration, environment and JVM flags.
func (c *Cluster) javaCommand(ctx context.Context, d daemon, class string, args ...string) *exec.Cmd {
	flags := jvmFlags(c.spec, d)
	if c.spec.ClassLists != "" {
		flags = append(flags, "-XX:DumpLoadedClassList="+filepath.Join(c.spec.ClassLists, d.Name))
	} else {
		flags = append(flags, c.spec.sharedClasses()...)
	}
	flags = append(flags, "-classpath", c.spec.Jars.Classpath(c.spec.daemonConf(d)), class)
	cmd := exec.CommandContext(ctx, c.spec.Java, append(flags, args...)...)
	cmd.Dir = filepath.Join(c.spec.Dir, d.Name)
	cmd.Env = environment(mark(c.spec.Dir), "HADOOP_CONF_DIR="+c.spec.confDir()) // the containers' variable; clients have it too
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// notePid writes a daemon's pid file: the pid, and the start time of the process. The kernel reuses pids within
// minutes, also for threads. A signal to the pid could hit a thread of another daemon, which has the same mark.
func (s *spec) notePid(d daemon, pid int) error {
	began, err := startTime(pid)
	if err != nil {
		return fmt.Errorf("note the pid of %s: %w", d.Name, err)
	}
	return os.WriteFile(s.pidFile(d), fmt.Appendln(nil, pid, began), 0o644)
}

// pid returns the daemon's process, if it is alive and belongs to the daemon.
func (c *Cluster) pid(d daemon) (int, bool) {
	text, err := os.ReadFile(c.spec.pidFile(d))
	if err != nil {
		return 0, false
	}
	var pid int
	var began uint64
	if _, err := fmt.Sscan(string(text), &pid, &began); err != nil {
		return 0, false
	}
	// Reaps the process if it is a dead child of this process, and otherwise does nothing.
	_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) // ECHILD for other processes' children
	has, err := startTime(pid)
	return pid, err == nil && has == began && marked(pid, c.spec.Dir)
}

// startTime returns the start of a process or thread in ticks since the kernel's start: field 22 of its stat file.
func startTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from field 3 on, because the name may contain any character
	if len(fields) < 20 {
		return 0, fmt.Errorf("no start time in %q", stat)
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// marked reports whether a live process belongs to the cluster in dir.
func marked(pid int, dir string) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")) // empty for a dead process
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if string(entry) == mark(dir) {
			return true
		}
	}
	return false
}

// Processes returns the pids of all live processes of the cluster: daemons, containers and their children.
func (c *Cluster) Processes() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && marked(pid, c.spec.Dir) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// signal sends a signal to a daemon that must be alive.
func (c *Cluster) signal(d daemon, sig syscall.Signal) error {
	pid, ok := c.pid(d)
	if !ok {
		return fmt.Errorf("send %s to %s: it is not running", sig, d.Name)
	}
	if err := syscall.Kill(pid, sig); err != nil {
		return fmt.Errorf("send %s to %s (pid %d): %w", sig, d.Name, pid, err)
	}
	return nil
}

// waitGone waits for a daemon's end.
func (c *Cluster) waitGone(ctx context.Context, d daemon) error {
	return wait.Poll(ctx, d.Name+" to end", func() error {
		if pid, ok := c.pid(d); ok {
			return fmt.Errorf("process %d still runs", pid)
		}
		return nil
	})
}

// waitStopped waits until SIGSTOP has stopped every thread of a daemon. Until then a thread may still answer a call.
func (c *Cluster) waitStopped(ctx context.Context, d daemon) error {
	return wait.Poll(ctx, d.Name+" to stop", func() error {
		pid, ok := c.pid(d)
		if !ok {
			return fmt.Errorf("%w: the process has ended", wait.ErrGivenUp)
		}
		threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "stat"))
		if err != nil {
			return err
		}
		for _, file := range threads {
			stat, err := os.ReadFile(file)
			if err != nil {
				continue // the thread has ended
			}
			if !stopped(stat) {
				return fmt.Errorf("a thread still runs: %s", stat)
			}
		}
		return nil
	})
}

// LogEnds returns the last lines of the daemons' logs, for readers who cannot look into LogDir later.
func (c *Cluster) LogEnds() string {
	var all strings.Builder
	for _, d := range c.spec.Daemons {
		text, err := os.ReadFile(c.spec.logFile(d))
		if err != nil {
			text = []byte(err.Error())
		}
		fmt.Fprintf(&all, "--- %s\n%s\n", d.Name, lastLines(text, 30))
	}
	return all.String()
}

func lastLines(text []byte, n int) []byte {
	text = bytes.TrimSpace(text)
	lines := bytes.Split(text, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], []byte("\n"))
}
