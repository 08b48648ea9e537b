package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const (
	smallFiles    = 10_000
	smallFile     = "the quick brown fox ran" // 23 bytes
	smallFileRuns = 5
	// writers is the number of files written at a time.
	writers = 16
)

// manySmallFiles measures a job whose files take longer to open than to read, and counts its calls
// to the NameNode.
func manySmallFiles(ctx context.Context, r *rig) (t table, err error) {
	t = table{
		title: "Many small files",
		text: fmt.Sprintf("`bobbin run -t yarn-session -p 2 wordcount-tuned` over %d files of %d bytes in one directory, in a session with two "+
			"idle workers of one slot each. Each time runs from the start of the command to the end of the step. The last "+
			"rows are the NameNode's own count of calls for each file, in all runs. Before listings returned the locations "+
			"of blocks, and before small files shared splits, the job took 36 s, and ten calls for each file.", smallFiles, len(smallFile)),
		head: []string{"measured", "to reach", "took"},
	}
	few, err := r.threeLines(ctx)
	if err != nil {
		return t, err
	}
	input, err := r.smallFiles(ctx)
	if err != nil {
		return t, err
	}
	started, err := r.reported(ctx, "session", "start", "-d", "-s", "1", "-o", "json")
	if err != nil {
		return t, err
	}
	id, err := records.ParseApplicationID(started.Application)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, r.end(ctx, id)) }()
	run := func(input string) (job, error) {
		return r.reported(ctx, "run", "-o", "json", "-t", "yarn-session", "-id", started.Application, "-p", "2",
			r.program("examples/wordcount-tuned"), "--input", input, "--output", input+"-counts", "--overwrite")
	}
	if _, err := run(few); err != nil { // the workers start
		return t, err
	}
	before, err := r.nameNodeCalls(ctx)
	if err != nil {
		return t, err
	}
	var jobs []job
	for range r.runs(smallFileRuns) {
		j, err := run(input)
		if err != nil {
			return t, err
		}
		jobs = append(jobs, j)
	}
	after, err := r.nameNodeCalls(ctx)
	if err != nil {
		return t, err
	}
	for _, name := range stepNames(jobs) {
		t.row(name, "", stepSpread(jobs, name))
	}
	t.row("**command ended**", "5 s", "**"+spread(walls(jobs), millis)+"**")
	for _, c := range []struct {
		what   string
		of     func(nameNodeCalls) int64
		target string
	}{
		{"locations of blocks, for each file and run", func(n nameNodeCalls) int64 { return n.GetBlockLocations }, "1"},
		{"descriptions of files, for each file and run", func(n nameNodeCalls) int64 { return n.FileInfoOps }, "0"},
		{"listings, for each run", func(n nameNodeCalls) int64 { return n.GetListingOps * smallFiles }, ""},
	} {
		t.row(c.what, c.target, fmt.Sprintf("%.2f", float64(c.of(after)-c.of(before))/float64(len(jobs)*smallFiles)))
	}
	return t, nil
}

// smallFiles returns a directory on HDFS with all files, which it makes once.
func (r *rig) smallFiles(ctx context.Context) (string, error) {
	home, err := r.client.Files.Home()
	if err != nil {
		return "", err
	}
	dir := home + "/small-files"
	if _, err := r.client.Files.Stat(ctx, dir); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	making := dir + "-in-the-making"
	if err := errors.Join(r.client.Files.RemoveAll(ctx, making), r.client.Files.MkdirAll(ctx, making)); err != nil {
		return "", err
	}
	group, writing := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range smallFiles {
		group.Go(func() error {
			return r.client.Files.WriteFile(writing, fmt.Sprintf("%s/part-%05d", making, i), []byte(smallFile), 0o644)
		})
	}
	if err := group.Wait(); err != nil {
		return "", fmt.Errorf("write %d small files: %w", smallFiles, err)
	}
	return dir, r.client.Files.Rename(ctx, making, dir)
}

// nameNodeCalls holds the NameNode's counts of answered calls of some kinds (NameNodeActivity).
type nameNodeCalls struct{ GetBlockLocations, FileInfoOps, GetListingOps int64 }

func (r *rig) nameNodeCalls(ctx context.Context) (nameNodeCalls, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	at := "http://" + r.cluster.NameNodeWebAddress() + "/jmx?qry=" + url.QueryEscape("Hadoop:service=NameNode,name=NameNodeActivity")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return nameNodeCalls{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nameNodeCalls{}, fmt.Errorf("ask the NameNode for its counts: %w", err)
	}
	defer response.Body.Close()
	var answer struct{ Beans []nameNodeCalls }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Beans) != 1 {
		return nameNodeCalls{}, fmt.Errorf("read the NameNode's counts: %d beans, %w", len(answer.Beans), err)
	}
	return answer.Beans[0], nil
}
