package ha

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// directoryStore is the Store of a term. All its calls name the term's directory. So the calls of an attempt that was
// replaced find nothing and change nothing, also those that the NameNode executes late.
//
// All temporary names are in the term's directory itself. The next attempt removes them.
type directoryStore struct {
	*Directory
	dir string // live-<epoch>; ended-<epoch> for a JobReader of an application that has ended
}

var _ Store = (*directoryStore)(nil)

// Dir implements Store.
func (s *directoryStore) Dir() string { return s.dir }

func (s *directoryStore) temporary() string { return s.dir + "/." + s.Names.Random() }

// sweep removes what earlier attempts have left incomplete, and returns the last one that has published its address. before is the
// epoch of the directory until now: only if that attempt has published its address, the access file is as old as this.
func (s *directoryStore) sweep(ctx context.Context, before ids.Epoch) (last Leadership, err error) {
	entries, err := s.Files.List(ctx, s.dir)
	if err != nil {
		return last, doubtful(err)
	}
	var accessed time.Time
	for _, e := range entries {
		if temporary(e.URI) {
			if err := s.Files.RemoveAll(ctx, e.URI); err != nil {
				return last, err
			}
		}
		if path.Base(e.URI) == launch.AccessFile {
			accessed = e.ModTime
		}
		if leader, is := parseAddressName(path.Base(e.URI)); is && leader.Epoch < s.Epoch {
			last.Leader = leader
		}
	}
	if last.Address != "" && last.Epoch == before {
		last.Since = accessed
	}
	return last, nil
}

// patient tries until it is clear what has happened. A file or directory that is missing is an answer only while this
// attempt leads.
func (s *directoryStore) patient(ctx context.Context, what string, try func(ctx context.Context) error) error {
	pace := s.pace(what)
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			if lost := s.leads(ctx); lost != nil {
				err = lost
			}
		}
		if err := pace.again(ctx, err); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}

// leads returns nil if the term goes on.
func (s *directoryStore) leads(ctx context.Context) error {
	found, err := newest(ctx, s.Files, s.Directory.Dir)
	switch {
	case err != nil:
		return err
	case found.epoch > s.Epoch:
		return superseded(found)
	case found == place{s.Epoch, true} && s.dir != s.at(found):
		return ErrEnded
	default:
		return nil
	}
}

// pipelines is how many numbers of replicas are tried, in turns, while a file cannot be written: dfs.replication, one fewer,
// and so on. Until the NameNode notices that a DataNode is dead, ten minutes, it names that DataNode for new blocks. In a
// cluster with as many DataNodes as replicas, that is each block.
const pipelines = 3

// unwritten says that the content of a file may not have reached its DataNodes.
type unwritten struct{ error }

func (e unwritten) Unwrap() error { return e.error }

// put makes an entry complete under a temporary name, and renames it. existed says that there is such an entry already,
// which stays: this attempt may have made it, or an earlier one. build makes the entry of one try, with files that have so
// many replicas fewer.
func (s *directoryStore) put(ctx context.Context, name string, build func(ctx context.Context, at string, fewer int) error) (existed bool, err error) {
	last := "" // of a try without a clear answer
	broken := 0
	err = s.patient(ctx, "store "+name, func(ctx context.Context) error {
		if last != "" { // a rename that is executed late must find nothing
			if err := s.Files.RemoveAll(ctx, last); err != nil || existed {
				return err
			}
		}
		last = s.temporary()
		err := build(ctx, last, broken%pipelines)
		if _, is := errors.AsType[unwritten](err); is && !silent(err) {
			broken++
		}
		if err == nil {
			err = s.Files.Rename(ctx, last, s.dir+"/"+name)
		}
		if errors.Is(err, fs.ErrExist) {
			existed = true
			err = s.Files.RemoveAll(ctx, last)
		}
		return err
	})
	if err != nil && context.Cause(ctx) == nil {
		_ = s.Files.RemoveAll(ctx, last) // otherwise the next attempt removes it
	}
	return existed, err
}

// maxFile is the most bytes of a file that can be stored, because it is read into memory.
const maxFile = 256 << 20

// write makes a whole new file that only the owner can read. HDFS makes the replicas later that are fewer.
func (s *directoryStore) write(ctx context.Context, at string, content []byte, fewer int) error {
	if len(content) > maxFile {
		return fmt.Errorf("%w: %d bytes, at most %d can be stored", filesystem.ErrTooLarge, len(content), maxFile)
	}
	file, err := s.Files.CreateMode(ctx, at, dfs.CreateOptions{Parents: filesystem.ExistingParents, Mode: 0o600, Fewer: fewer})
	if err != nil {
		return err
	}
	if len(content) > 0 {
		if _, err := file.Write(content); err != nil {
			file.Close() // Close returns the same error again
			return unwritten{err}
		}
	}
	if err := file.Close(); err != nil {
		return unwritten{err}
	}
	if fewer == 0 || len(content) == 0 {
		return nil
	}
	return s.Files.Replicate(ctx, at)
}

// putFile stores a file. Of two contents, the first one stays; existed tells.
func (s *directoryStore) putFile(ctx context.Context, name string, content []byte) (existed bool, err error) {
	return s.put(ctx, name, func(ctx context.Context, at string, fewer int) error { return s.write(ctx, at, content, fewer) })
}

// putOnce stores a file that never changes. The error is fs.ErrExist if another content is stored.
func (s *directoryStore) putOnce(ctx context.Context, name string, content []byte) error {
	existed, err := s.putFile(ctx, name, content)
	if err != nil || !existed {
		return err
	}
	stored, err := s.load(ctx, name)
	if err == nil && !bytes.Equal(stored, content) {
		err = fmt.Errorf("store %s: %w with another content", name, fs.ErrExist)
	}
	return err
}

// discard removes an entry, if there is one: it renames the entry, which fails if the term has ended, and removes that.
func (s *directoryStore) discard(ctx context.Context, name string) error {
	last := "" // of a try without a clear answer
	err := s.patient(ctx, "remove "+name, func(ctx context.Context) error {
		if last != "" { // a rename that is executed late must find its target taken, because the name may be used again
			if err := s.Files.MkdirMode(ctx, last, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		last = s.temporary()
		err := s.Files.Rename(ctx, s.dir+"/"+name, last)
		if err == nil {
			_ = s.Files.RemoveAll(ctx, last) // otherwise the next attempt removes it
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// list returns the names of a directory's entries, without temporary ones.
func (s *directoryStore) list(ctx context.Context, name string) (names []string, err error) {
	err = s.patient(ctx, "list "+name, func(ctx context.Context) error {
		entries, err := s.Files.List(ctx, s.dir+"/"+name)
		names = names[:0]
		for _, e := range entries {
			if !temporary(e.URI) {
				names = append(names, path.Base(e.URI))
			}
		}
		return err
	})
	return names, err
}

// atOnce is the number of calls that a method keeps under way.
const atOnce = 16

// each calls f for the numbers below n, atOnce at a time, until the first error.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := sched.WithErrors(ctx)
	for first := range min(n, atOnce) {
		group.Go(func() error {
			for i := first; i < n; i += atOnce {
				if err := f(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
