package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strconv"
	"strings"
)

const largeRuns = 3

// wordCount measures a large job, beside Flink if it is there.
func wordCount(ctx context.Context, r *rig) (table, error) {
	t := table{
		title: "WordCount, beside Flink",
		was:   "A large job",
		text: fmt.Sprintf("WordCount of %d MiB of text in one file on HDFS, in turns, %d times. Bobbin and Flink run it on the same cluster, in "+
			"a cluster of their own (`run -t yarn-per-job`) with %d workers of one slot. Both have a container of %d MB for the "+
			"ApplicationMaster, and of %d MB for a worker. The time of the command runs from its start to its end. The time of the "+
			"job is the one that the system prints: from its submission until its output is committed, with the start of its workers. "+
			"The processor time of the job is that of all containers. Their memory is the most that all of them hold at one "+
			"time, read every %v: RSS counts a shared page for each process, PSS divides it among them. *Written to disks* are the "+
			"bytes that the containers wrote to local files: data of the shuffle and logs. Flink runs in batch mode, reuses "+
			"objects, and reads the parts of the file in parallel. *Flink, combined* also finds words without a regular expression, and counts them "+
			"before the shuffle, as Bobbin does by itself; Flink's best is the better of the two. *By hand* is a program of "+
			"forty lines that counts a local copy with two goroutines. *HDFS alone* reads the file with one reader. The counts of all are "+
			"compared. A row in bold misses its goal. perf measured the same job in one process, on 2026-12-01: 60 %% of the processor "+
			"time are lookups in the table of counts, which mostly wait for memory, 19 %% are calls from operator to operator, 12 %% find the "+
			"words, and 5 %% find the lines. By hand, 86 %% are lookups, and 12 %% find the words. On YARN, the processes of a job of 1 MiB take "+
			"0.45 s of processor time: 100 ms are the TaskExecutors, a third of it for the digest of the program, 90 ms the ApplicationMaster, 75 ms the "+
			"NodeManagers' scripts, 70 ms the task hosts, and 60 ms `openssl dgst` of the binary in each container. So the goal beside the program "+
			"by hand needs operators that the compiler makes into one loop, and containers that start without scripts.",
			r.size(), r.runs(largeRuns), parallelism, masterMB, workerMB, heavyEach*heavyInterval),
	}
	w, err := r.newWords(ctx)
	if err != nil {
		return t, err
	}
	version := "not installed here"
	if r.flink != "" {
		flink, _, err := installFlink(ctx, r, w.input, "")
		if err != nil {
			return t, err
		}
		if version, err = flink.version(); err != nil {
			return t, err
		}
		w.flink.batch, w.combined.batch = w.ofFlink(flink), w.ofFlink(flink, "combine")
	}
	t.text += " Flink is " + version + "."
	for range r.runs(largeRuns) {
		if err = w.round(ctx, r); err != nil { // the rows have the runs before
			break
		}
	}
	if len(w.reading.runs) == 0 { // not one whole round
		return t, err
	}
	w.rows(&t)
	if err == nil && r.smallest {
		err = w.smallestWorkers(ctx, r, &t)
	}
	return t, err
}

// words holds all that count the text.
type words struct {
	local, input string // paths of the text on this machine and on HDFS
	bytes        int64
	counted      int64 // words of the text; 0: not known yet

	bobbin, flink, combined, hand, reading contestant
}

func (r *rig) newWords(ctx context.Context) (*words, error) {
	local, input, err := r.text(ctx, strconv.Itoa(r.size())+"m")
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(local)
	if err != nil {
		return nil, err
	}
	return &words{
		local: local, input: input, bytes: info.Size(),
		bobbin: contestant{name: "Bobbin", batch: batchBobbin{r, func(output string) []string {
			return []string{r.program("examples/wordcount-tuned"), "--input", input, "--output", output}
		}}},
		flink:    contestant{name: "Flink"},
		combined: contestant{name: "Flink, combined"},
		hand:     contestant{name: "by hand"},
		reading:  contestant{name: "HDFS alone"},
	}, nil
}

// ofFlink is the word count of Flink.
func (w *words) ofFlink(f *flink, more ...string) batch {
	return batchFlink{f, "BatchWordCount", func(output string) []string { return append([]string{w.input, output}, more...) }}
}

// output is the directory of the counts.
func (w *words) output() string { return w.input + "-counts" }

// checkOutput checks the counts.
func (w *words) checkOutput(ctx context.Context, r *rig) error {
	return w.check(r.wordsIn(ctx, w.output()))
}

// round measures each once.
func (w *words) round(ctx context.Context, r *rig) error {
	for _, c := range []*contestant{&w.bobbin, &w.flink, &w.combined} {
		if err := r.turn(ctx, c, w.output(), workerMB, func() error { return w.checkOutput(ctx, r) }); err != nil {
			return fmt.Errorf("count with %s: %w", c.name, err)
		}
	}
	for _, alone := range []struct {
		*contestant
		run func() error
	}{
		{&w.hand, func() error {
			counted, _, err := countByHand(w.local, parallelism)
			return w.check(counted, err)
		}},
		{&w.reading, func() error { return r.readAll(ctx, w.input) }},
	} {
		took, cpu, err := ownTime(alone.run)
		if err != nil {
			return fmt.Errorf("count %s: %w", alone.name, err)
		}
		alone.runs = append(alone.runs, heavy{took: took, cpu: cpu})
	}
	return nil
}

var errCounts = errors.New("others have counted another number")

// check compares the number of words with those of the runs before.
func (w *words) check(counted int64, err error) error {
	if err != nil {
		return err
	}
	if w.counted == 0 {
		w.counted = counted
	}
	if counted != w.counted {
		return fmt.Errorf("%d words, but %w: %d", counted, errCounts, w.counted)
	}
	return nil
}

// mostCounts bounds the bytes of a file with counts.
const mostCounts = 64 << 20

// wordsIn returns the sum of the counts in a directory of outputs.
func (r *rig) wordsIn(ctx context.Context, dir string) (total int64, err error) {
	files, err := r.outputFiles(ctx, dir)
	if err != nil {
		return 0, err
	}
	for _, file := range files {
		text, err := r.client.Files.ReadFile(ctx, file, mostCounts)
		if err != nil {
			return 0, err
		}
		counted, err := sumCounts(text)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		total += counted
	}
	return total, nil
}

// outputFiles returns the URIs of the files in a directory of outputs.
func (r *rig) outputFiles(ctx context.Context, dir string) (uris []string, err error) {
	files, err := r.client.Files.List(ctx, dir)
	for _, file := range files {
		if name := path.Base(file.URI); !file.IsDir && name[0] != '_' && name[0] != '.' {
			uris = append(uris, file.URI)
		}
	}
	return uris, err
}

// sumCounts adds the counts of lines with a word, a tab and its count.
func sumCounts(text []byte) (total int64, err error) {
	for line := range bytes.Lines(text) {
		word, count, _ := strings.Cut(strings.TrimSpace(string(line)), "\t")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read count of %q: %w", word, err)
		}
		total += n
	}
	return total, nil
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
