package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

const (
	// parallelism is the number of workers of one slot.
	parallelism = 2
	// masterMB and workerMB are the containers of both systems: Flink's defaults.
	masterMB, workerMB = 1600, 1728
)

// batch is a large job of a system that runs it on YARN.
type batch interface {
	environment() []string
	// launch runs the job in a cluster of its own with workers of this size, and returns after its end.
	launch(output string, workerMB int) []string
	// duration reads the time of the job from the output of the command.
	duration(output []byte) (time.Duration, error)
}

// batchFlags are the flags of both systems.
func batchFlags(workerMB int) []string {
	return []string{
		"run", "-t", "yarn-per-job", "-p", strconv.Itoa(parallelism), "-Dtaskmanager.numberOfTaskSlots=1",
		fmt.Sprintf("-Djobmanager.memory.process.size=%dm", masterMB), fmt.Sprintf("-Dtaskmanager.memory.process.size=%dm", workerMB),
	}
}

// batchBobbin is a job of Bobbin.
type batchBobbin struct {
	*rig
	words func(output string) []string // the program and its arguments
}

func (b batchBobbin) launch(output string, workerMB int) []string {
	command := append([]string{b.program("bobbin")}, batchFlags(workerMB)...)
	return append(append(command, "-o", "json"), b.words(output)...)
}

func (b batchBobbin) duration(output []byte) (time.Duration, error) {
	_, last := cutLastLine(output)
	var report bobbintest.Report
	if err := json.Unmarshal(last, &report); err != nil {
		return 0, fmt.Errorf("read the report of bobbin run: %w", err)
	}
	return time.Duration(report.Duration) * time.Millisecond, nil
}

// batchFlink is a job of Flink.
type batchFlink struct {
	*flink
	class string
	words func(output string) []string // the arguments of the class
}

func (f batchFlink) launch(output string, workerMB int) []string {
	words := append(batchFlags(workerMB),
		f.provided(), "-Dexecution.runtime-mode=BATCH", "-Dpipeline.object-reuse=true",
		"-Dexecution.batch.adaptive.auto-parallelism.enabled=false", // it would read the file with one task, whose input are only the parts' names
		"-c", f.class, f.jar)
	return f.command(flinkCommand, append(words, f.words(output)...)...)
}

var (
	jobRuntime   = regexp.MustCompile(`(?m)^Job Runtime: (\d+) ms`)
	errNoRuntime = errors.New("the output of flink run tells no time of the job")
)

func (f batchFlink) duration(output []byte) (time.Duration, error) {
	found := jobRuntime.FindSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("%w:\n%s", errNoRuntime, output)
	}
	ms, err := strconv.ParseInt(string(found[1]), 10, 64)
	return time.Duration(ms) * time.Millisecond, err
}
