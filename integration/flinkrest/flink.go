package main

import (
	"archive/zip"
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/rest/flinkrest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster/artifacts"
)

// programs are what Flink runs, and what is asked of its classes.
//
//go:embed java/*.java
var programs embed.FS

// wordCount is a program of the benchmarks.
const wordCount = "integration/bench/flink/WordCount.java"

// Classes of Flink.
const (
	masterClass = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
	workerClass = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner"
)

// slots is enough for all jobs at once.
const slots = 24

// patience bounds each wait, also on a busy machine.
const patience = 5 * time.Minute

// endTime bounds the end of a process.
const endTime = 30 * time.Second

// flink is a cluster of one JobManager and one TaskManager. Its files are in the scratch folder.
type flink struct {
	home, scratch string
	dist          string // jar
	java          string
	base          string // URL of REST
	version       string
	processes     []*process
}

// process is a process that this program has started.
type process struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

// switchedOn holds options that turn on features that are off by default.
const switchedOn = `jobmanager.scheduler: adaptive
rest.flamegraph.enabled: true
rest.profiling.enabled: true
`

// prepare compiles the programs and writes the configuration with these further options.
func prepare(ctx context.Context, home, scratch, more string) (*flink, error) {
	f := &flink{home: home, scratch: scratch}
	dist, err := filepath.Glob(filepath.Join(home, "lib", "flink-dist-*.jar"))
	if err != nil || len(dist) != 1 {
		return nil, errors.Join(err, fmt.Errorf("%q has no Flink distribution: give the folder that scripts/flink prints", home))
	}
	f.dist = dist[0]
	f.version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f.dist), "flink-dist-"), ".jar")
	if f.java, err = artifacts.FindJava(); err != nil {
		return nil, err
	}
	if err := f.compile(ctx); err != nil {
		return nil, fmt.Errorf("compile the programs: %w", err)
	}
	return f, f.configure(more)
}

func (f *flink) path(name string) string { return filepath.Join(f.scratch, name) }

// compile builds the programs' jar.
func (f *flink) compile(ctx context.Context) error {
	javac, err := artifacts.FindJavac()
	if err != nil {
		return err
	}
	if err := os.CopyFS(f.path("source"), programs); err != nil {
		return err
	}
	counting, err := os.ReadFile(wordCount)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path("source/java/WordCount.java"), counting, 0o644); err != nil {
		return err
	}
	sources, err := filepath.Glob(f.path("source/java/*.java"))
	if err != nil {
		return err
	}
	args := append([]string{"-nowarn", "-classpath", filepath.Join(f.home, "lib", "*"), "-d", f.path("classes")}, sources...)
	if out, err := exec.CommandContext(ctx, javac, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	file, err := os.Create(f.path("jobs.jar"))
	if err != nil {
		return err
	}
	content := zip.NewWriter(file)
	return errors.Join(content.AddFS(os.DirFS(f.path("classes"))), content.Close(), file.Close())
}

// configure keeps Flink's defaults, except addresses and folders.
func (f *flink) configure(more string) error {
	ports, err := cluster.FreePorts(2)
	if err != nil {
		return err
	}
	rest, rpc := strconv.Itoa(ports[0]), strconv.Itoa(ports[1])
	f.base = "http://127.0.0.1:" + rest
	options := strings.NewReplacer("REST", rest, "RPC", rpc, "SCRATCH", f.scratch, "SLOTS", fmt.Sprint(slots)).Replace(`jobmanager.rpc.address: 127.0.0.1
jobmanager.rpc.port: RPC
jobmanager.bind-host: 127.0.0.1
taskmanager.host: 127.0.0.1
taskmanager.bind-host: 127.0.0.1
rest.address: 127.0.0.1
rest.bind-address: 127.0.0.1
rest.port: REST
jobmanager.memory.process.size: 1600m
taskmanager.memory.process.size: 1728m
taskmanager.memory.network.min: 160m
taskmanager.numberOfTaskSlots: SLOTS
parallelism.default: 2
io.tmp.dirs: SCRATCH/tmp
web.upload.dir: SCRATCH/jars
execution.checkpointing.dir: file://SCRATCH/checkpoints
# Hidden in answers.
fs.s3.secret-key: sesame
` + more)
	const logging = `rootLogger.level = INFO
rootLogger.appenderRef.file.ref = File
appender.file.name = File
appender.file.type = File
appender.file.fileName = ${sys:log.file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss,SSS} %-5p %-60c %x - %m%n
`
	return errors.Join(
		os.MkdirAll(f.path("tmp"), 0o755), os.MkdirAll(f.path("conf"), 0o755),
		os.MkdirAll(f.path("master"), 0o755), os.MkdirAll(f.path("worker"), 0o755),
		os.WriteFile(f.path("conf/config.yaml"), []byte(options), 0o644),
		os.WriteFile(f.path("conf/log4j.properties"), []byte(logging), 0o644),
		os.WriteFile(f.path("text"), []byte(strings.Repeat("to be or not to be\n", 100)), 0o644),
	)
}

// command returns a command that runs a class of the class path with its arguments.
func (f *flink) command(ctx context.Context, options []string, class string, args ...string) *exec.Cmd {
	words := append([]string{}, options...)
	for _, name := range []string{"lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent", "util.concurrent.atomic", "util.concurrent.locks"} {
		words = append(words, "--add-opens=java.base/java."+name+"=ALL-UNNAMED")
	}
	words = append(words, "-XX:+UseSerialGC", "-classpath", f.path("classes")+string(filepath.ListSeparator)+filepath.Join(f.home, "lib", "*"), class)
	cmd := exec.CommandContext(ctx, f.java, append(words, args...)...)
	cmd.Dir = f.scratch
	return cmd
}

// known asks Flink's classes for its paths and values.
func (f *flink) known(ctx context.Context) (flinkrest.Flink, error) {
	known := flinkrest.Flink{Command: "scripts/record-flink-rest", Version: f.version, Values: map[string][]string{}}
	var faults bytes.Buffer
	ask := f.command(ctx, nil, "Paths", f.dist)
	ask.Stderr = &faults
	out, err := ask.Output()
	if err != nil {
		return known, fmt.Errorf("%w\n%s", err, &faults)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		switch words[0] {
		case "path":
			known.Paths = append(known.Paths, words[1]+" "+words[2])
		case "values":
			known.Values[words[1]] = words[2:]
		case "java":
			known.Java = words[1]
		}
	}
	return known, nil
}

// memory asks Flink's classes how a process's memory is divided: options of the JVM, and of Flink.
func (f *flink) memory(ctx context.Context, role string) (jvm, dynamic []string, err error) {
	var faults bytes.Buffer
	ask := f.command(ctx, nil, "Memory", f.path("conf"), role)
	ask.Stderr = &faults
	out, err := ask.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("ask for the memory of the %s: %w\n%s", role, err, &faults)
	}
	for line := range strings.Lines(string(out)) {
		switch words := strings.Fields(line); words[0] {
		case "jvm":
			jvm = words[1:]
		case "flink":
			dynamic = words[1:]
		}
	}
	return jvm, dynamic, nil
}

// start starts both processes, and waits until the worker has registered.
func (f *flink) start(ctx context.Context) error {
	for _, role := range []struct{ name, class string }{{"master", masterClass}, {"worker", workerClass}} {
		jvm, dynamic, err := f.memory(ctx, role.name)
		if err != nil {
			return err
		}
		log := f.path(role.name + "/flink.log")
		jvm = append(jvm, "-Dlog.file="+log, "-Dlog4j.configurationFile=file:"+f.path("conf/log4j.properties"))
		cmd := f.command(context.WithoutCancel(ctx), jvm, role.class, append([]string{"--configDir", f.path("conf")}, dynamic...)...)
		out, err := os.Create(strings.TrimSuffix(log, ".log") + ".out")
		if err != nil {
			return err
		}
		cmd.Stdout, cmd.Stderr = out, out
		err = cmd.Start()
		if err := errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("start %s: %w", role.class, err)
		}
		p := &process{name: role.name, cmd: cmd, ended: make(chan struct{})}
		f.processes = append(f.processes, p)
		go func() {
			defer close(p.ended)
			_ = cmd.Wait() // a signal as the reason is no error
		}()
	}
	return f.poll(ctx, "the worker to register", func() (bool, error) {
		var overview struct {
			Slots int `json:"slots-total"`
		}
		status, err := f.get(ctx, "/overview", &overview)
		return err == nil && status == http.StatusOK && overview.Slots == slots, nil
	})
}

// stop ends the running processes.
func (f *flink) stop() (err error) {
	for _, p := range f.processes {
		select {
		case <-p.ended:
			continue
		default:
		}
		if failed := p.cmd.Process.Signal(syscall.SIGTERM); failed != nil && !errors.Is(failed, os.ErrProcessDone) {
			err = errors.Join(err, failed)
		}
		late := time.NewTimer(endTime)
		select {
		case <-p.ended:
		case <-late.C:
			err = errors.Join(err, fmt.Errorf("the %s did not end within %v and was killed", p.name, endTime), p.cmd.Process.Kill())
			<-p.ended
		}
		late.Stop()
	}
	return err
}

// poll waits until a condition holds. It fails when a process ends.
func (f *flink) poll(ctx context.Context, what string, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		is, err := holds()
		if is || err != nil {
			return err
		}
		for _, p := range f.processes {
			select {
			case <-p.ended:
				return fmt.Errorf("wait for %s: the %s has ended", what, p.name)
			default:
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
	}
}
