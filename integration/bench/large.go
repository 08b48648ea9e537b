package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	largeSize   = "1g"
	largeRuns   = 3
	parallelism = 2
)

// largeJob measures a large job.
func largeJob(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "A large job",
		text: fmt.Sprintf("`bobbin run -t yarn-per-job -p %d wordcount` on %sB of text in one file on HDFS, with two workers of one slot. "+
			"The time of the job runs from its submission to the Dispatcher until its output is committed, and includes the "+
			"start of its two containers. The time of the command runs from its start to its end. The processor time is the "+
			"sum of all Bobbin processes. Two rows are for comparison, on the same text: reading it from HDFS, and a program "+
			"of forty lines that counts a local file with two goroutines. In an earlier measurement Flink's best variant "+
			"reached 29.5 MB/s with 64 s of processor time.", parallelism, strings.ToUpper(largeSize)),
		head: []string{"", "to reach", "speed", "time", "processor time"},
	}
	local, input, err := r.text(ctx, largeSize)
	if err != nil {
		return t, err
	}
	info, err := os.Stat(local)
	if err != nil {
		return t, err
	}
	size := info.Size()
	var jobs, commands, used []time.Duration
	var words, distinct int64
	for range r.runs(largeRuns) {
		j, cpu, err := r.largeRun(ctx, input)
		if err != nil {
			return t, err
		}
		jobs = append(jobs, time.Duration(j.Duration)*time.Millisecond)
		commands, used = append(commands, j.Wall), append(used, cpu)
		words, distinct = j.Counters["words"], j.Counters["distinct"]
	}
	t.row("job", "100 MB/s", rate(size, median(jobs)), spread(jobs, seconds), "")
	t.row("command", "", rate(size, median(commands)), spread(commands, seconds), spread(used, seconds))

	var reads, counts, readCPU, countCPU []time.Duration
	for range r.runs(largeRuns) {
		took, cpu, err := ownTime(func() error { return r.readAll(ctx, input) })
		if err != nil {
			return t, err
		}
		reads, readCPU = append(reads, took), append(readCPU, cpu)
		took, cpu, err = ownTime(func() error {
			w, d, err := countByHand(local, parallelism)
			if err == nil && (w != words || d != distinct) {
				err = fmt.Errorf("counted %d words, %d distinct; the job %d and %d", w, d, words, distinct)
			}
			return err
		})
		if err != nil {
			return t, err
		}
		counts, countCPU = append(counts, took), append(countCPU, cpu)
	}
	t.row("HDFS alone, one reader", "", rate(size, median(reads)), spread(reads, seconds), spread(readCPU, seconds))
	t.row("by hand, no cluster", "", rate(size, median(counts)), spread(counts, seconds), spread(countCPU, seconds))
	return t, nil
}

// largeRun runs the job once, and returns the processor time of all our processes: the client's and
// the containers'.
func (r *rig) largeRun(ctx context.Context, input string) (job, time.Duration, error) {
	before, err := r.containersCPU()
	if err != nil {
		return job{}, 0, err
	}
	j, err := r.wordcount(ctx, input, "counts", "-p", strconv.Itoa(parallelism), "-s", "1")
	if err != nil {
		return job{}, 0, err
	}
	err = await(ctx, "the containers to end", func() (bool, error) {
		app, err := r.cluster.RM().App(ctx, j.Application)
		return app.RunningContainers <= 0, err // -1 for none
	})
	if err != nil {
		return job{}, 0, err
	}
	after, err := r.containersCPU()
	return j, j.CPU + after - before, err
}

func (r *rig) readAll(ctx context.Context, uri string) (err error) {
	file, err := r.client.Files.Open(ctx, uri)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = io.Copy(io.Discard, file)
	return err
}

// ownTime returns the duration of f, and this process's processor time during it.
func ownTime(f func() error) (wall, cpu time.Duration, err error) {
	before, start := ownCPU(), time.Now()
	err = f()
	return time.Since(start), ownCPU() - before, err
}

func ownCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err) // getrusage(2) fails only for a wrong argument
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// clockTick is the unit of times in /proc/PID/stat, the same on every Linux
// (USER_HZ).
const clockTick = 10 * time.Millisecond

// containersCPU returns the processor time of all ended containers. The kernel adds it up for the
// NodeManagers, whose children they were.
func (r *rig) containersCPU() (time.Duration, error) {
	var total time.Duration
	for _, name := range r.cluster.Daemons() {
		if !strings.HasPrefix(name, "nodemanager") {
			continue
		}
		pid, alive := r.cluster.Pid(name)
		if !alive {
			return 0, fmt.Errorf("read processor time of %s: it does not run", name)
		}
		stat, err := readProcess(pid, "stat")
		if err != nil {
			return 0, err
		}
		used, err := childrenCPU(stat)
		if err != nil {
			return 0, fmt.Errorf("read processor time of %s: %w", name, err)
		}
		total += used
	}
	return total, nil
}

// processCPU returns the processor time of a process so far.
func processCPU(pid int) (time.Duration, error) {
	stat, err := readProcess(pid, "stat")
	if err != nil {
		return 0, err
	}
	return cpuOf(stat, 14)
}

// childrenCPU returns the processor time of children that were waited for, and of their children.
func childrenCPU(stat []byte) (time.Duration, error) { return cpuOf(stat, 16) }

// cpuOf reads two fields of /proc/PID/stat: a time in user mode, and the time in the kernel after it. They are
// numbered from 1, as in proc(5). They are after the program's name in parentheses, which may contain any character.
func cpuOf(stat []byte, first int) (time.Duration, error) {
	const before = 3 // the first field after the name
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < first-before+2 {
		return 0, fmt.Errorf("%q has too few fields", stat)
	}
	user, errUser := strconv.ParseInt(fields[first-before], 10, 64)
	system, errSystem := strconv.ParseInt(fields[first-before+1], 10, 64)
	return time.Duration(user+system) * clockTick, errors.Join(errUser, errSystem)
}
