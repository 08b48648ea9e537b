package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/pause"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// user is who runs everything: an ordinary user of the cluster, whose cache is
// nobody else's.
const user = "bench"

// rig is what all sections share: the binaries, a cluster, and its user.
type rig struct {
	bin     string // absolute path of the directory with the binaries
	flink   string // Flink's distribution; "": it is not here
	most    int    // runs of each measurement; 0 for no limit
	calls   int    // of a run; 0 for no limit
	scratch string // a directory of this machine, the user's home
	cluster *cluster.Cluster
	client  *client.Cluster
}

func newRig(ctx context.Context, o options, hadoop *cluster.Cluster) (_ *rig, err error) {
	r := &rig{flink: o.flink, most: o.runs, calls: o.calls, cluster: hadoop}
	if r.bin, err = filepath.Abs(o.bin); err != nil {
		return nil, err
	}
	for _, name := range []string{"bobbin", "rusage", "examples/wordcount", "examples/gentext"} {
		if _, err := os.Stat(r.program(name)); err != nil {
			return nil, fmt.Errorf("%w: run scripts/bench, which builds the programs to measure", err)
		}
	}
	if r.scratch, err = os.MkdirTemp("", "bobbin-bench-"); err != nil {
		return nil, err
	}
	if r.client, err = client.Open(ctx, r.getenv, config.Config{}, quiet()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(r.scratch))
	}
	return r, nil
}

// runs is how often to measure what should be measured n times.
func (r *rig) runs(n int) int { return limited(n, r.most) }

// callsOf is how many calls to make in a run that should have n.
func (r *rig) callsOf(n int) int { return limited(n, r.calls) }

func limited(n, limit int) int {
	if limit > 0 {
		return min(n, limit)
	}
	return n
}

func (r *rig) close() error {
	return errors.Join(r.client.Close(), os.RemoveAll(r.scratch))
}

// quiet is a logger for what measures nothing.
func quiet() logrus.FieldLogger {
	l := logrus.New()
	l.SetLevel(logrus.ErrorLevel)
	return l
}

func (r *rig) program(name string) string { return filepath.Join(r.bin, name) }

// environment is the user's.
func (r *rig) environment() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.scratch, "TMPDIR=" + r.scratch,
		"HADOOP_CONF_DIR=" + r.cluster.ConfDir(), "HADOOP_USER_NAME=" + user,
	}
}

func (r *rig) getenv(name string) string {
	for _, entry := range r.environment() {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value
		}
	}
	return ""
}

// usage is what a command took, its children included.
type usage struct {
	Wall, CPU time.Duration
	Peak      int64 // bytes resident, of the largest process
}

// run runs a command of the user's to its end, and gives what it wrote to stdout.
func (r *rig) run(ctx context.Context, command ...string) (usage, []byte, error) {
	return r.runIn(ctx, r.environment(), command...)
}

// runIn is run, in another environment.
func (r *rig) runIn(ctx context.Context, environment []string, command ...string) (usage, []byte, error) {
	cmd := exec.CommandContext(ctx, r.program("rusage"), command...)
	cmd.Env, cmd.Dir = environment, r.scratch
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return usage{}, nil, fmt.Errorf("%s: %w\n%s%s", strings.Join(command, " "), err, out, stderr.Bytes())
	}
	out, last := cutLastLine(out)
	var told struct{ WallMicros, CPUMicros, PeakBytes int64 }
	if err := json.Unmarshal(last, &told); err != nil {
		return usage{}, nil, fmt.Errorf("read what rusage says: %w", err)
	}
	return usage{
		Wall: time.Duration(told.WallMicros) * time.Microsecond,
		CPU:  time.Duration(told.CPUMicros) * time.Microsecond,
		Peak: told.PeakBytes,
	}, out, nil
}

// cutLastLine splits a text before its last line.
func cutLastLine(text []byte) (before, last []byte) {
	text = bytes.TrimSuffix(text, []byte("\n"))
	at := bytes.LastIndexByte(text, '\n') + 1
	return text[:at], text[at:]
}

// job is a run of a job on YARN.
type job struct {
	usage
	bobbintest.Report
}

// step is when a step was done, from the start of the command.
func (j job) step(name string) (time.Duration, bool) {
	for _, s := range j.Steps {
		if s.Name == name {
			return time.Duration(s.Millis) * time.Millisecond, true
		}
	}
	return 0, false
}

// wordcount runs the example on YARN. Both paths are on HDFS.
func (r *rig) wordcount(ctx context.Context, input, output string, flags ...string) (job, error) {
	command := append([]string{"run", "-t", "yarn-per-job"}, flags...)
	return r.reported(ctx, append(command, "-o", "json", r.program("examples/wordcount"), "--input", input, "--output", output, "--overwrite")...)
}

// reported runs a command of bobbin's that reports in JSON.
func (r *rig) reported(ctx context.Context, words ...string) (job, error) {
	took, out, err := r.run(ctx, append([]string{r.program("bobbin")}, words...)...)
	if err != nil {
		return job{}, err
	}
	_, last := cutLastLine(out)
	j := job{usage: took}
	if err := json.Unmarshal(last, &j.Report); err != nil {
		return job{}, fmt.Errorf("read the report of bobbin %s: %w", words[0], err)
	}
	return j, nil
}

// dropCache removes what is staged, so that the next run has to upload it.
func (r *rig) dropCache(ctx context.Context) error {
	home, err := r.client.Files.Home()
	if err != nil {
		return err
	}
	return r.client.Files.RemoveAll(ctx, home+"/"+staging.DirName+"/cache")
}

// text makes a text of a size, as gentext takes it, once, and gives the paths of
// its file on this machine and on HDFS.
func (r *rig) text(ctx context.Context, size string) (local, remote string, err error) {
	home, err := r.client.Files.Home()
	if err != nil {
		return "", "", err
	}
	dir := filepath.Join(r.scratch, "text-"+size)
	local, remote = filepath.Join(dir, "text-00.txt"), home+"/text-"+size
	if _, err := r.client.Files.Stat(ctx, remote); err == nil {
		return local, remote, nil
	}
	if out, err := exec.CommandContext(ctx, r.program("examples/gentext"), "-size", size, dir).CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("generate %s of text: %w\n%s", size, err, out)
	}
	_, err = r.client.Files.Upload(ctx, local, remote, dfs.UploadOptions{})
	return local, remote, err
}

// lastLine runs a program with the user's environment and more, and gives its last line.
func (r *rig) lastLine(ctx context.Context, command []string, more ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(r.environment(), more...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(command[0]), err)
	}
	_, last := cutLastLine(out)
	return last, nil
}

// outOfStep lets a random part of a NodeManager's heartbeat pass, so that a run does
// not begin in step with the end of the one before.
func outOfStep(ctx context.Context) error { return pause.For(ctx, rand.N(time.Second)) }
