package main

import (
	"bytes"
	"cmp"
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

// user runs everything. It is an ordinary user of the cluster with a cache of its own.
const user = "bench"

// rig is the state that all sections share: the binaries, a cluster, and its user.
type rig struct {
	bin      string // absolute path of the directory of the binaries
	flink    string // Flink's distribution; "": missing
	most     int    // maximum number of runs of each measurement; 0: no limit
	calls    int    // maximum number of calls in a run; 0: no limit
	large    int    // MiB; 0: defaultSize
	smallest bool   // find the smallest workers of large jobs
	growth   bool   // run sorts, joins and groups on larger inputs
	manifold bool   // sort an input that is far larger than a worker
	scratch  string // the user's home on this machine
	cluster  *cluster.Cluster
	client   *client.Cluster
}

// newLimits makes a rig without a cluster.
func newLimits(o options) (*rig, error) {
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return nil, err
	}
	return &rig{bin: bin, flink: o.flink, most: o.runs, calls: o.calls, large: o.size, smallest: o.smallest, growth: o.growth, manifold: o.manifold}, nil
}

func newRig(ctx context.Context, o options, hadoop *cluster.Cluster) (*rig, error) {
	r, err := newLimits(o)
	if err != nil {
		return nil, err
	}
	r.cluster = hadoop
	for _, name := range []string{"bobbin", "rusage", "examples/wordcount-tuned", "examples/gentext"} {
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

// runs returns the number of runs for a measurement with a default of n.
func (r *rig) runs(n int) int { return limited(n, r.most) }

// callsOf returns the number of calls for a run with a default of n.
func (r *rig) callsOf(n int) int { return limited(n, r.calls) }

// defaultSize is in MiB.
const defaultSize = 1 << 10

// size returns the MiB that a large job reads, and a run of the exchange moves.
func (r *rig) size() int { return cmp.Or(r.large, defaultSize) }

func limited(n, limit int) int {
	if limit > 0 {
		return min(n, limit)
	}
	return n
}

func (r *rig) close() error {
	return errors.Join(r.client.Close(), os.RemoveAll(r.scratch))
}

// quiet returns a logger that discards everything.
func quiet() logrus.FieldLogger {
	l := logrus.New()
	l.SetLevel(logrus.ErrorLevel)
	return l
}

func (r *rig) program(name string) string { return filepath.Join(r.bin, name) }

// environment returns the user's environment. Without a cluster it has no Hadoop configuration.
func (r *rig) environment() []string {
	own := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.scratch, "TMPDIR=" + r.scratch, "HADOOP_USER_NAME=" + user,
	}
	if r.cluster != nil {
		own = append(own, "HADOOP_CONF_DIR="+r.cluster.ConfDir())
	}
	return own
}

func (r *rig) getenv(name string) string {
	for _, entry := range r.environment() {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value
		}
	}
	return ""
}

// usage holds the time and memory of a command and its children.
type usage struct {
	Wall, CPU time.Duration
	Peak      int64 // resident bytes of the largest process
}

// run runs a command of the user to its end, and returns its standard output.
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

// step is the time at which a step was done, from the start of the command.
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
	return r.reported(ctx, append(command, "-o", "json", r.program("examples/wordcount-tuned"), "--input", input, "--output", output, "--overwrite")...)
}

// reported runs a bobbin command that reports in JSON.
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

// dropCache removes the staged files, so that the next run uploads them.
func (r *rig) dropCache(ctx context.Context) error {
	home, err := r.client.Files.Home()
	if err != nil {
		return err
	}
	return r.client.Files.RemoveAll(ctx, home+"/"+staging.DirName+"/cache")
}

// text makes a text of a size in gentext's format, once, and returns the paths of its file on this
// machine and on HDFS.
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

// lastLine runs a program with the user's environment and further variables, and returns its last
// line.
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

// outOfStep waits for a random part of a NodeManager's heartbeat, so that a run does not begin at a
// fixed time after the end of the run before.
func outOfStep(ctx context.Context) error { return pause.For(ctx, rand.N(time.Second)) }
