package client

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// CachedFiles are the cached files of the jobs to submit (pipeline.cached-files). The zero value has none.
type CachedFiles struct {
	// Named are the files in the order of the option. Those of this machine have a hash and no URI. Those on
	// the cluster's file systems have no size yet.
	Named []jobgraph.CachedFile
	// Local is the content of the files of this machine, once for each content.
	Local []staging.File
}

// FindCachedFiles reads the option, and the files of this machine. The error wraps config.ErrInvalid, or
// cachedfiles.ErrNotFound if a file cannot be used.
func FindCachedFiles(ctx context.Context, c config.Config) (CachedFiles, error) {
	var found CachedFiles
	named, err := cachedfiles.Read(c)
	if err != nil {
		return found, err
	}
	seen := make(map[string]bool)
	for _, f := range named {
		if path, local := cachedfiles.Local(f); local {
			staged, err := cachedFile(ctx, f, path)
			if err != nil {
				return found, err
			}
			f.URI, f.SHA256, f.Size = "", staged.SHA256, staged.Size
			if !seen[staged.SHA256] {
				seen[staged.SHA256] = true
				found.Local = append(found.Local, staged)
			}
		}
		found.Named = append(found.Named, f)
	}
	return found, nil
}

// cachedFile reads a file of this machine.
func cachedFile(ctx context.Context, f jobgraph.CachedFile, path string) (staging.File, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return staging.File{}, cachedfiles.Refuse(f.Name, path, "this machine has no such file: correct the path; for a file on HDFS write hdfs:///…")
	case err != nil:
	case info.IsDir():
		return staging.File{}, cachedfiles.Refuse(f.Name, path, "it is a directory: pack it into one file, and let the program unpack it")
	case !info.Mode().IsRegular():
		return staging.File{}, cachedfiles.Refuse(f.Name, path, "it is not a regular file: copy its content into one")
	}
	if err == nil {
		err = context.Cause(ctx)
	}
	var staged staging.File
	if err == nil {
		staged, err = localFile(path)
	}
	if err != nil {
		return staged, cachedfiles.Refuse(f.Name, path, "it is not readable: "+err.Error())
	}
	staged.Name = staging.PlainName(staged.Name) // a session refuses others
	return staged, nil
}

// remote lists the files on the cluster's file systems.
func (c CachedFiles) remote() []string {
	var uris []string
	for _, f := range c.Named {
		if f.URI != "" {
			uris = append(uris, f.URI)
		}
	}
	return uris
}

// at completes the files of this machine. staged are those of Local, in the same order.
func (c CachedFiles) at(staged []launch.Resource) []jobgraph.CachedFile {
	places := make(map[string]string, len(staged))
	for i, r := range staged {
		places[c.Local[i].SHA256] = r.URI
	}
	var complete []jobgraph.CachedFile
	for _, f := range c.Named {
		if f.SHA256 != "" {
			f.URI = places[f.SHA256]
		}
		complete = append(complete, f)
	}
	return complete
}
