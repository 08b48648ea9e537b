// Package cachedfiles handles the cached files of jobs (pipeline.cached-files, Flink's
// DistributedCache): it reads the option, finds the files before a job is submitted, and copies them
// to a worker.
//
// The package starts no goroutines.
package cachedfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/localcopy"
)

// localScheme begins the URI of a file on a machine's own disk.
const localScheme = "file://"

// ErrNotFound says that a file of the option cannot be used. The text names the file, the option,
// the cause and the remedy.
var ErrNotFound = errors.New("cached file cannot be used")

// Finder is the part of a filesystem.FileSystem that Find needs.
type Finder interface {
	Qualify(uri string) (string, error)
	Stat(ctx context.Context, uri string) (filesystem.FileInfo, error)
	CheckReadable(ctx context.Context, uri string) error
}

// Find completes the cached files with a URI and no hash: it reads their sizes and times. Files
// that have them stay as they are. The error wraps ErrNotFound if a file is missing, is not
// readable, or is a directory.
func Find(ctx context.Context, files Finder, named []jobgraph.CachedFile) ([]jobgraph.CachedFile, error) {
	found := make([]jobgraph.CachedFile, len(named))
	for i, f := range named {
		if f.SHA256 == "" && f.ModTime == 0 {
			var err error
			if f, err = find(ctx, files, f); err != nil {
				return nil, err
			}
		}
		found[i] = f
	}
	return found, nil
}

func find(ctx context.Context, files Finder, f jobgraph.CachedFile) (jobgraph.CachedFile, error) {
	uri, err := files.Qualify(f.URI)
	var info filesystem.FileInfo
	if err == nil {
		info, err = files.Stat(ctx, uri)
	}
	switch {
	case err != nil:
	case info.IsDir:
		return f, Refuse(f.Name, f.URI, "it is a directory: pack it into one file, and let the program unpack it")
	default:
		err = files.CheckReadable(ctx, uri)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, Refuse(f.Name, f.URI, "there is no such file: correct the path")
	case filesystem.Final(err):
		return f, fmt.Errorf("%w: %w", Refuse(f.Name, f.URI, "it is not readable"), err)
	case err != nil:
		return f, fmt.Errorf("find cached file %q (%s): %w", f.Name, config.PipelineCachedFiles.Name(), err)
	}
	f.URI, f.Size, f.ModTime = info.URI, info.Size, info.ModTime.UnixMilli()
	return f, nil
}

// Refuse is the ErrNotFound of a file.
func Refuse(name, place, why string) error {
	return fmt.Errorf("%w: %q (%s) is %s: %s", ErrNotFound, name, config.PipelineCachedFiles.Name(), place, why)
}

// Local is the path of a file on the disk of the machine that submits the job.
func Local(f jobgraph.CachedFile) (path string, is bool) {
	if strings.Contains(f.URI, ":/") && !strings.HasPrefix(f.URI, "file:/") || f.URI == "" {
		return "", false
	}
	if after, has := strings.CutPrefix(f.URI, localScheme); has {
		return after, true
	}
	return strings.TrimPrefix(f.URI, "file:"), true
}

// Fetch copies a file into a folder, where only the owner can read it, and nobody may change it. It
// returns the path and the size in bytes. Errors: those of localcopy.Make, with the URI and the
// remedy.
func Fetch(ctx context.Context, files localcopy.Files, f jobgraph.CachedFile, dir string) (file string, size int64, err error) {
	name := path.Base(f.URI)
	if name == "." || name == ".." || name == "/" {
		name = "file"
	}
	mode := fs.FileMode(0o400)
	if f.Executable {
		mode = 0o500
	}
	file = filepath.Join(dir, name)
	size, err = localcopy.Make(ctx, files, localcopy.Want{
		URI: f.URI, SHA256: f.SHA256, Size: f.Size, ModTime: f.ModTime, Mode: mode,
	}, file)
	if errors.Is(err, localcopy.ErrChanged) || errors.Is(err, localcopy.ErrGone) {
		err = fmt.Errorf("%w: submit the job again", err)
	}
	if err != nil {
		return "", 0, fmt.Errorf("fetch cached file %s: %w", f.URI, err)
	}
	return file, size, nil
}
