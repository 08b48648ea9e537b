package minicluster

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// cachedFiles finds the files of pipeline.cached-files. Tasks use those of this machine in place, also if the jobs'
// own files are in memory.
func cachedFiles(ctx context.Context, o Options) (found []jobgraph.CachedFile, err error) {
	named, err := cachedfiles.Read(o.Config)
	if err != nil {
		return nil, err
	}
	disk := dfs.New(dfs.Options{})
	defer func() { err = errors.Join(err, disk.Close()) }()
	for i, f := range named {
		path, here := cachedfiles.Local(f)
		if !here {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return nil, cachedfiles.Refuse(f.Name, f.URI, err.Error())
		}
		named[i].URI = "file://" + path
		local, err := cachedfiles.Find(ctx, disk, named[i:i+1])
		if err != nil {
			return nil, err
		}
		named[i] = local[0]
	}
	return cachedfiles.Find(ctx, o.FileSystem, named)
}
