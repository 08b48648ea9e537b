package pages

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// asHDFS makes the test binary the command hdfs, with the functions that pages use. Hadoop's own command costs seconds
// of processor time for each call. Pages also show `scripts/cluster fs`, which runs Hadoop's own.
const asHDFS = "BOBBIN_PAGES_HDFS"

// hdfs implements the command: `hdfs dfs` with -put, -cat, -ls or -mkdir -p.
func hdfs(ctx context.Context, args []string, out io.Writer) (err error) {
	if len(args) < 3 || args[0] != "dfs" {
		return fmt.Errorf("hdfs %q: want hdfs dfs -COMMAND ARGUMENTS", args)
	}
	log := logrus.New()
	cluster, err := client.Open(ctx, os.Getenv, config.Config{}, log)
	if err != nil {
		return err
	}
	defer func() {
		if closing := cluster.Close(); err == nil {
			err = closing
		}
	}()
	files := cluster.Files
	switch verb, args := args[1], args[2:]; {
	case verb == "-put" && len(args) == 1:
		return put(ctx, files, args[0], path.Base(args[0]))
	case verb == "-put" && len(args) == 2:
		target := args[1]
		if strings.HasSuffix(target, "/") {
			target += path.Base(args[0])
		}
		return put(ctx, files, args[0], target)
	case verb == "-cat" && len(args) == 1:
		return cat(ctx, files, args[0], out)
	case verb == "-ls" && len(args) == 1:
		entries, err := files.List(ctx, args[0])
		for _, entry := range entries {
			fmt.Fprintln(out, entry.Size, entry.URI)
		}
		return err
	case verb == "-mkdir" && len(args) == 2 && args[0] == "-p":
		return files.MkdirAll(ctx, args[1])
	default:
		return fmt.Errorf("hdfs dfs %s %q: the tests' hdfs command does not support this", verb, args)
	}
}

// put copies a file, or a folder of files, to a path that does not exist yet.
func put(ctx context.Context, files *dfs.FS, local, uri string) error {
	if _, err := files.Stat(ctx, uri); err == nil {
		return fmt.Errorf("put: %s exists already", uri)
	}
	entries, err := os.ReadDir(local)
	if err != nil { // local is a file
		_, err := files.Upload(ctx, local, uri, dfs.UploadOptions{})
		return err
	}
	if err := files.MkdirAll(ctx, uri); err != nil {
		return err
	}
	for _, entry := range entries {
		if _, err := files.Upload(ctx, filepath.Join(local, entry.Name()), uri+"/"+entry.Name(), dfs.UploadOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// cat prints the files of a folder whose names match.
func cat(ctx context.Context, files *dfs.FS, pattern string, out io.Writer) error {
	entries, err := files.List(ctx, path.Dir(pattern))
	if err != nil {
		return err
	}
	found := false
	for _, entry := range entries {
		if is, err := path.Match(path.Base(pattern), path.Base(entry.URI)); err != nil || !is {
			continue
		}
		found = true
		file, err := files.Open(ctx, entry.URI)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, file)
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("cat: no file matches %s", pattern)
	}
	return nil
}
