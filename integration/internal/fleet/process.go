package fleet

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// RunMaster runs the process of an ApplicationMaster's container in dir, as a NodeManager does, until it ends or
// ctx ends. Its log directory is dir/logs. The file bobbin is in place of the localized one. begun gets its pid.
func RunMaster(ctx context.Context, c Container, dir, bobbin string, begun func(pid int)) error {
	logs := filepath.Join(dir, "logs")
	tokens := filepath.Join(dir, "container_tokens")
	err := errors.Join(
		os.MkdirAll(logs, 0o750), os.WriteFile(tokens, c.Launch.Tokens, 0o600),
		os.Symlink(bobbin, filepath.Join(dir, launch.BobbinLink)),
	)
	if err != nil {
		return err
	}
	expand := strings.NewReplacer("<LOG_DIR>", logs, "<CPS>", ":", "{{", "${", "}}", "}")
	command := exec.CommandContext(ctx, "/bin/bash", "-c", expand.Replace(strings.Join(c.Launch.Commands, " ")))
	command.Dir = dir
	command.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/home/", "USER=" + c.Submitter, "LOGNAME=" + c.Submitter, "PWD=" + dir,
		"CONTAINER_ID=" + c.ID.String(), "NM_HOST=" + c.Node.Host, "NM_PORT=" + strconv.Itoa(c.Node.Port), "NM_HTTP_PORT=8042",
		"LOCAL_DIRS=" + dir, "LOG_DIRS=" + logs, "HADOOP_TOKEN_FILE_LOCATION=" + tokens,
	}
	for name, value := range c.Launch.Environment {
		command.Env = append(command.Env, name+"="+expand.Replace(value))
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) } // the group that it began
	if err := command.Start(); err != nil {
		return err
	}
	begun(command.Process.Pid)
	return command.Wait()
}

// Exit is the status of a process that has ended with err.
func Exit(err error) records.ExitStatus {
	exit, is := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		return records.ExitSuccess
	case is && exit.ExitCode() >= 0:
		return records.ExitStatus(exit.ExitCode())
	}
	return records.ExitForceKilled
}
