// Package splits lists the input of a text source and cuts it into splits, once,
// while a job is planned.
//
// Plan asks the file system about several files at a time, from goroutines that
// end before it returns.
package splits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// ErrCompressed says that an input is a compressed file.
var ErrCompressed = errors.New("compressed files are not read yet: unpack it first")

const (
	// smallest and largest bound the size of splits, in bytes: below, a split
	// costs more to hand out than to read; above, the last one keeps a job
	// waiting.
	smallest = 128 << 10
	largest  = 64 << 20
	// perSubtask is how many splits each subtask gets where there is enough
	// input: slow ones then take fewer.
	perSubtask = 4
	// probes is how many files the file system is asked about at a time.
	probes = 16
)

// Plan gives the splits of all files that the inputs name, the largest first: a
// file as it is; of a directory its files, but neither directories in it nor
// names that begin with "_" or "."; of a glob whatever it matches, by the same
// rules. Each input must exist, and each file be readable and uncompressed; an
// error names the one that is not.
func Plan(ctx context.Context, fsys filesystem.FileSystem, inputs []string, parallelism int) ([]jobgraph.Split, error) {
	var files []filesystem.FileInfo
	for _, input := range inputs {
		found, err := list(ctx, fsys, input)
		if err != nil {
			return nil, refused(input, err)
		}
		files = append(files, found...)
	}
	total := int64(0)
	for _, file := range files {
		total += file.Size
	}
	blocks, err := probeAll(ctx, fsys, files)
	if err != nil {
		return nil, err
	}
	target := min(max(total/int64(perSubtask*parallelism), smallest), largest)
	var all []jobgraph.Split
	for i, file := range files {
		all = append(all, cut(file, blocks[i], target)...)
	}
	slices.SortStableFunc(all, func(a, b jobgraph.Split) int { return cmp.Compare(b.Length, a.Length) })
	return all, nil
}

// list gives the files that one input names.
func list(ctx context.Context, fsys filesystem.FileSystem, input string) ([]filesystem.FileInfo, error) {
	named, err := resolve(ctx, fsys, input)
	if err != nil {
		return nil, err
	}
	var files []filesystem.FileInfo
	for _, info := range named {
		if !info.IsDir {
			files = append(files, info)
			continue
		}
		entries, err := fsys.List(ctx, info.URI)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if !entry.IsDir && !hidden(path.Base(entry.URI)) {
				files = append(files, entry)
			}
		}
	}
	for _, file := range files {
		if suffix := strings.ToLower(path.Ext(file.URI)); slices.Contains(compressed, suffix) {
			return nil, fmt.Errorf("%w (%s)", ErrCompressed, file.URI)
		}
	}
	return files, nil
}

// compressed are the endings by which Hadoop's codecs and common tools name
// their files.
var compressed = []string{".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate", ".xz", ".lzo", ".z"}

// hidden tells files that programs keep beside data, by Hadoop's convention.
func hidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }

// probeAll gives the blocks of each file, and opens each to learn now whether it
// can be read.
func probeAll(ctx context.Context, fsys filesystem.FileSystem, files []filesystem.FileInfo) ([][]filesystem.Block, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	blocks := make([][]filesystem.Block, len(files))
	var wait sync.WaitGroup
	slots := make(chan struct{}, probes)
	for i, file := range files {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-slots }()
			var err error
			if blocks[i], err = probe(ctx, fsys, file.URI); err != nil {
				cancel(err) // only the first counts
			}
		})
	}
	wait.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return blocks, nil
}

func probe(ctx context.Context, fsys filesystem.FileSystem, uri string) ([]filesystem.Block, error) {
	file, err := fsys.Open(ctx, uri)
	if err != nil {
		return nil, refused(uri, err)
	}
	_ = file.Close() // nothing was read
	blocks, err := fsys.Blocks(ctx, uri)
	if err != nil {
		return nil, refused(uri, err)
	}
	return blocks, nil
}

// refused names the input and, where the file system leaves it open, the remedy.
func refused(input string, err error) error {
	remedy := ""
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = ": name a file, a directory or a pattern that is there"
	case errors.Is(err, fs.ErrPermission):
		remedy = ": have it made readable, or read what is"
	}
	return fmt.Errorf("input %s: %w%s", input, err, remedy)
}

// cut makes splits of about target bytes that begin and end with blocks where
// these are large enough.
func cut(file filesystem.FileInfo, blocks []filesystem.Block, target int64) []jobgraph.Split {
	var all []jobgraph.Split
	for _, run := range runs(file, blocks, target) {
		pieces := (run.Length + target - 1) / target
		for i := range pieces {
			begin, end := run.Length*i/pieces, run.Length*(i+1)/pieces
			all = append(all, jobgraph.Split{
				URI: file.URI, Offset: run.Offset + begin, Length: end - begin,
				FileLength: file.Size, FileModTime: file.ModTime, Hosts: run.Hosts,
			})
		}
	}
	return all
}

// runs joins neighbouring blocks up to target bytes; the hosts are those of the
// largest. A file whose blocks don't add up to it is one run without hosts.
func runs(file filesystem.FileInfo, blocks []filesystem.Block, target int64) []filesystem.Block {
	var joined []filesystem.Block
	largestBlock, end := int64(0), int64(0)
	for _, b := range blocks {
		if b.Offset != end || b.Length < 0 {
			end = -1
			break
		}
		end += b.Length
		last := len(joined) - 1
		if last < 0 || joined[last].Length+b.Length > target {
			joined = append(joined, b)
			largestBlock = b.Length
			continue
		}
		joined[last].Length += b.Length
		if b.Length > largestBlock {
			joined[last].Hosts, largestBlock = b.Hosts, b.Length
		}
	}
	if end != file.Size {
		return []filesystem.Block{{Length: file.Size}}
	}
	return joined
}
