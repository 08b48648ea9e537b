// Package taskrunner is the worker: Main is the process that YARN starts in a container. It reads
// its environment, connects to the ApplicationMaster and runs a TaskExecutor, which starts each
// task host as a process.
package taskrunner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/machine"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/hadoop"
	"github.com/bobbin-yarn/bobbin/internal/metrics/status"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/shutdown"
	"github.com/bobbin-yarn/bobbin/internal/startup"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskexecutor"
)

// artifactDir is the folder for fetched programs and files. It is in the container's folders, which
// the NodeManager removes on all disks, also after a crash.
const artifactDir = "artifacts"

// partitionDir is the folder for blocking partitions, beside those for artifacts.
const partitionDir = "partitions"

// Exit codes of the process, as in Flink (TaskManagerRunner).
const (
	exitOK      = 0
	exitFatal   = 1
	exitStartup = 31
)

// environment has the values that the process reads from its environment.
type environment struct {
	container  ids.ResourceID // the worker's id
	folder     string         // of its container, in each of localDirs
	logDir     string
	localDirs  []string
	launch     launch.TaskExecutor
	config     config.Config
	credential *pki.Credentials
	tokens     msg.Secret // the tokens of the launch
	machine    machine.Machine

	calls *hadoop.Counts // of this process, to HDFS

	metricsPort int // where this process shows its metrics; 0: nowhere
}

// Main runs a TaskExecutor until it is released, and gives the exit code. Only main calls it, once.
func Main(start time.Time, getenv func(string) string) int {
	env, err := readEnvironment(getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "taskexecutor:", err)
		return exitStartup
	}
	logger, file, err := logging.Open(env.logDir, launch.WorkerLog, env.config.String(config.LoggingLevel))
	if err != nil {
		fmt.Fprintln(os.Stderr, "taskexecutor:", err)
		return exitStartup
	}
	defer file.Close() // nothing is logged after this
	code := run(start, env, logger)
	logger.WithField("code", code).Info("process ends")
	return code
}

func readEnvironment(getenv func(string) string) (environment, error) {
	env := environment{
		container: ids.ResourceID(getenv("CONTAINER_ID")), folder: getenv("CONTAINER_ID"), machine: machine.Read(),
		calls: hadoop.New(nil, metrics.Scope{}),
	}
	env.logDir, env.localDirs = launch.Dirs(getenv)
	if env.container == "" || env.logDir == "" {
		return env, errors.New("CONTAINER_ID or LOG_DIRS is not set; this process is started by YARN, not by hand")
	}
	var err error
	if env.launch, err = launch.Decode[launch.TaskExecutor](getenv(launch.Variable)); err != nil {
		return env, err
	}
	if env.config, err = config.New(config.Layer{Source: "launch context", Values: env.launch.Config}); err != nil {
		return env, err
	}
	if env.launch.Uber != "" {
		env.container = env.launch.Uber
	}
	held, err := launch.ReadCredentials(getenv(launch.TokenFileVariable))
	if err != nil {
		return env, err
	}
	env.tokens = held.Tokens
	env.credential, err = pki.ParsePEM(held.Secret)
	return env, err
}

func run(start time.Time, env environment, logger *logrus.Logger) int {
	startup.Log(logger, logrus.InfoLevel, env.describe())
	return shutdown.Guard(shutdown.Signals(), func() logrus.FieldLogger { return logger }, func(ctx context.Context) int {
		return runExecutor(ctx, start, env, logger)
	})
}

// runExecutor runs a TaskExecutor until it is released, or ctx ends by a signal. The NodeManager sends SIGTERM
// to stop the container.
func runExecutor(ctx context.Context, start time.Time, env environment, logger *logrus.Logger) int {
	if env.launch.Uber != "" {
		ctx = untilClosed(ctx, os.Stdin)
	}
	dialer := rolerpc.NewDialer(env.connection(logger))
	defer dialer.Close() // its streams have ended by then
	var tokens dfs.Tokens
	looks := &lister{open: env.fileSystem(&tokens, lookPatience, logger)}
	defer looks.close()
	door := openMetricsDoor(ctx, env, logger)
	defer door.close()
	env.metricsPort = door.port()
	partitions, err := taskexecutor.OpenPartitions(ctx, env.dirs(partitionDir), env.partitionServer(logger))
	if err != nil {
		return fail(logger, "task executor cannot start", err, exitStartup)
	}
	defer closePartitions(partitions, logger)
	executor, err := newExecutor(env, dialer, looks, &tokens, partitions, logger)
	if err != nil {
		return fail(logger, "task executor cannot start", err, exitStartup)
	}
	door.begin(env, executor)
	logger.WithFields(logrus.Fields{
		"container": env.container, "node": env.launch.Host, "slots": env.launch.Memory.Slots,
		"memory": env.launch.Memory.ContainerMB(), "after": time.Since(start).Round(time.Millisecond),
	}).Info("task executor starts")
	// The end by a signal is orderly: the loop goes on until all hosts have ended.
	stop := context.AfterFunc(ctx, func() { executor.Terminate(context.WithoutCancel(ctx), context.Cause(ctx).Error()) })
	defer stop()
	err = executor.Run(context.WithoutCancel(ctx))
	switch received, signalled := shutdown.By(context.Cause(ctx)); {
	case signalled && (err == nil || errors.Is(err, taskexecutor.ErrTerminated)):
		return received.Code()
	case err == nil:
		return exitOK
	case errors.Is(context.Cause(ctx), errMasterEnded) && errors.Is(err, taskexecutor.ErrTerminated):
		logger.WithError(errMasterEnded).Info("container is stopped")
		return exitOK
	default:
		return fail(logger, "task executor ends", err, exitFatal)
	}
}

// describe is what the first lines of the log say.
func (env environment) describe() startup.Process {
	work, err := os.Getwd()
	if err != nil {
		work = ""
	}
	m := env.launch.Memory
	return startup.Process{
		Role: "TaskExecutor", Identity: startup.Identity{User: env.launch.User, Credentials: startup.TokensIf(env.tokens != nil)},
		Application: env.launch.Application, Attempt: launch.AttemptOf(env.container), Container: string(env.container), Node: env.launch.Host,
		ContainerMB: m.ContainerMB(), VCores: env.launch.VCores,
		WorkDir: work, LogDir: env.logDir, LocalDirs: env.localDirs,
		Machine: env.machine, Options: env.launch.Config,
		Memory: []startup.Division{
			{Of: "TaskExecutor", Total: m.Process, Parts: m.Parts()},
			{Of: "slot", Total: m.Slot().Share(), Parts: m.Slot().Parts()},
		},
	}
}

// hardware is the machine as the ResourceManager shows it.
func (env environment) hardware() msg.Hardware {
	cores, size := env.machine.Usable()
	return msg.Hardware{Cores: cores, Memory: size}
}

// errMasterEnded is the cause of the end of a worker in the ApplicationMaster's container.
var errMasterEnded = errors.New("the ApplicationMaster has ended, or has closed the worker's stdin")

// untilClosed returns a context that ends when the reader does.
func untilClosed(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() { // ends with the reader, or with the process
		_, _ = io.Copy(io.Discard, r)
		cancel(errMasterEnded)
	}()
	return ctx
}

// fail writes the error to the log and to stderr, which YARN shows, and returns the exit code.
func fail(logger logrus.FieldLogger, message string, err error, code int) int {
	logger.WithError(err).Error(message)
	fmt.Fprintln(os.Stderr, "taskexecutor:", err)
	return code
}

// newExecutor makes the TaskExecutor. It looks for later masters with looks, which show the tokens, as its other
// connections to HDFS do.
func newExecutor(env environment, roles taskexecutor.Connector, looks *lister, tokens *dfs.Tokens, partitions taskexecutor.Partitions, logger *logrus.Logger) (*taskexecutor.TaskExecutor, error) {
	programs, err := env.programs()
	if err != nil {
		return nil, err
	}
	settings := env.executor(programs)
	var leader ha.Retrieval
	if dir := env.launch.HighAvailability; dir != "" {
		if settings.GiveUp, err = launch.ReplaceTime(env.launch.HadoopConf); err != nil {
			return nil, err
		}
		leader = ha.NewRetrieval(looks, dir)
	}
	env.removeArtifacts(logger)
	return taskexecutor.New(settings, taskexecutor.Environment{
		Roles:  roles,
		Leader: leader,
		Hosts: taskexecutor.ProcessStarter{
			Environment: launch.ChildEnvironment(os.Environ()),
			VCores:      env.launch.VCores,
			LogDir:      env.logDir,
			Exposed:     env.launch.Uber != "",
			Logger:      logger,
		},
		Artifacts:    taskexecutor.DiskArtifacts{Open: taskexecutor.Share(env.files(tokens, logger)), Dirs: env.dirs(artifactDir)},
		Partitions:   partitions,
		UpdateTokens: tokens.Update,
		Desk:         inquiry.New(string(env.container), env.logDir, launch.ProfileDir),
		Status:       status.New(env.launch.Memory.Process).Read,
		HDFS:         env.calls.HDFS,
		Identity:     env.hostIssuer(),
		Instructions: env.instructions(),
		Logger:       logger,
	})
}

// connection describes the end of this process in its connection to the ApplicationMaster.
func (env environment) connection(logger logrus.FieldLogger) rolerpc.Config {
	return rolerpc.Config{
		TLS:         env.credential.ClientTLS(pki.OnlyRole(pki.RoleApplicationMaster)),
		Unreachable: config.Unreachable(env.config),
		Logger:      logger,
	}
}

// executor describes the TaskExecutor.
func (env environment) executor(programs map[string]string) taskexecutor.Config {
	return taskexecutor.Config{
		Resource: env.container,
		Node:     env.launch.Host,
		PID:      os.Getpid(),
		Slots:    env.launch.Memory.Slots,
		Memory:   env.launch.Memory,
		External: env.launch.External,
		Profile:  env.launch.Profile,
		VCores:   env.launch.VCores,
		Hardware: env.hardware(),
		Programs: programs,
		Tokens:   env.tokens,
		Address:  env.launch.AMAddress,

		MetricsPort: env.metricsPort,

		Seed:    ids.Source{}.Seed(),
		Options: taskexecutor.OptionsFrom(env.config),
	}
}

// instructions are what every task host is told.
func (env environment) instructions() msg.StartHost {
	return msg.StartHost{
		ListenHost:  env.launch.Host,
		HadoopConf:  env.launch.HadoopConf,
		User:        env.launch.User,
		LocalDirs:   env.containerDirs(),
		LogDir:      env.logDir,
		LogLevel:    env.config.String(config.LoggingLevel),
		Unreachable: config.Unreachable(env.config),
	}
}

// programs maps the SHA-256 of each program that was localized with the container to its file. The
// NodeManager fetched the files from HDFS; the hashes come from the ApplicationMaster.
func (env environment) programs() (map[string]string, error) {
	programs := make(map[string]string, len(env.launch.Programs))
	for sha256, link := range env.launch.Programs {
		path, err := filepath.Abs(link)
		if err != nil {
			return nil, fmt.Errorf("find program %s: %w", link, err)
		}
		if err := program.Verify(path, sha256); err != nil {
			return nil, err
		}
		programs[sha256] = path
	}
	return programs, nil
}

// dirs are folders of this name: one on each disk of the node.
func (env environment) dirs(name string) []string {
	dirs := env.containerDirs()
	for i, dir := range dirs {
		dirs[i] = filepath.Join(dir, name)
	}
	if len(dirs) == 0 {
		return []string{name}
	}
	return dirs
}

// containerDirs are the container's folders, one on each disk of the node. The NodeManager has made them, and removes them with
// the container. Every NodeManager names some.
func (env environment) containerDirs() []string {
	dirs := make([]string, len(env.localDirs))
	for i, dir := range env.localDirs {
		dirs[i] = filepath.Join(dir, env.folder)
	}
	return dirs
}

// removeArtifacts removes what an earlier worker of this container has left: in its master's container a worker
// follows another one that was killed, and its copies have the same names.
func (env environment) removeArtifacts(logger logrus.FieldLogger) {
	for _, dir := range env.dirs(artifactDir) {
		if err := os.RemoveAll(dir); err != nil { // a second try to fetch uses the next disk
			logger.WithError(err).Warn("copies of an earlier worker cannot be removed")
		}
	}
}

// fileSystem opens the file systems of the cluster for this worker's user with the newest tokens. With a patience of 0
// they have that of the cluster's processes.
func (env environment) fileSystem(tokens *dfs.Tokens, patience time.Duration, logger logrus.FieldLogger) func() (*dfs.FS, error) {
	return func() (*dfs.FS, error) {
		return dfs.Carried(dfs.Handed{
			HadoopConf: env.launch.HadoopConf, User: env.launch.User, Credentials: tokens.Load, Logger: logger, Patience: patience,
			Observe: env.calls.Observe, ObserveData: env.calls.ObserveData,
		})
	}
}

// files opens the same for artifacts.
func (env environment) files(tokens *dfs.Tokens, logger logrus.FieldLogger) func() (taskexecutor.Files, error) {
	open := env.fileSystem(tokens, 0, logger)
	return func() (taskexecutor.Files, error) {
		files, err := open()
		if err != nil {
			return nil, err
		}
		return files, nil
	}
}

// partitionServer describes the server of finished partitions. Task hosts of the application may read, each those of its job.
func (env environment) partitionServer(logger logrus.FieldLogger) exchange.ServerConfig {
	server := exchange.ServerConfig{
		Host: ids.PartitionHost(env.container), ListenHost: env.launch.Host, Unreachable: config.Unreachable(env.config),
		Memory: debug.SetMemoryLimit(-1), Logger: logger,
	}
	if issuer := env.hostIssuer(); issuer != nil {
		server.TLS, server.JobOf = issuer.ServerTLS(pki.OnlyRole(pki.RoleTaskHost)), pki.JobOf
	}
	return server
}

// closePartitions removes all partitions at the end of the worker. After a crash the NodeManager does it, with the container's folders.
func closePartitions(partitions *taskexecutor.DiskPartitions, logger logrus.FieldLogger) {
	if err := partitions.Close(); err != nil {
		logger.WithError(err).Warn("partitions cannot be removed")
	}
}

// hostIssuer issues the certificates of task hosts; nil if they use none
// (security.ssl.internal.enabled).
func (env environment) hostIssuer() *pki.Credentials {
	if !env.config.Bool(config.SSLInternalEnabled) {
		return nil
	}
	return env.credential
}
