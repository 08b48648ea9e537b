package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// provide adds a directory of files that YARN caches for all users. It takes our binary from there only if that
// is the binary that this process would stage.
func (s *shipment) provide(ctx context.Context, files shipFiles, dir string, own program.Program) error {
	const key = config.YarnProvidedLibDirs
	root, err := files.Qualify(dir)
	if err != nil {
		return err
	}
	return remoteTree(ctx, files, key, root, func(info filesystem.FileInfo, relative string) error {
		found, err := s.public(ctx, files, key, root, info)
		if err != nil {
			return err
		}
		if relative == launch.BobbinLink {
			same, err := sameBinary(ctx, files, info, own)
			if same {
				s.bobbin = &found
			}
			return err
		}
		return s.put(key, parcel{Shipped: launch.Shipped{Link: relative, Resource: found}}, info.URI)
	})
}

// usrlib is the name of the directory of yarn.provided.usrlib.dir, on HDFS and in containers.
const usrlib = "usrlib"

// provideUsrlib adds the directory of yarn.provided.usrlib.dir. YARN caches its files for all users, too.
func (s *shipment) provideUsrlib(ctx context.Context, files shipFiles, dir string) error {
	const key = config.YarnProvidedUsrlib
	if path.Base(strings.TrimSuffix(dir, "/")) != usrlib {
		return refuseShip(key, dir, "name a directory that is called "+usrlib)
	}
	root, err := files.Qualify(dir)
	if err != nil {
		return err
	}
	return remoteTree(ctx, files, key, root, func(info filesystem.FileInfo, relative string) error {
		found, err := s.public(ctx, files, key, root, info)
		if err != nil {
			return err
		}
		return s.put(key, parcel{Shipped: launch.Shipped{Link: path.Join(usrlib, relative), Resource: found}}, info.URI)
	})
}

// public is a file that NodeManagers cache for all users. They do so only if everyone may read the file and
// pass the directories above it (FSDownload#isPublic). root is the directory that an option names. The user
// trusts only its owner: nobody else may have put files there, since containers run them.
func (s *shipment) public(ctx context.Context, files shipFiles, key config.StringKey, root string, info filesystem.FileInfo) (launch.Resource, error) {
	if strings.HasPrefix(info.URI, "file:") {
		return launch.Resource{}, refuseShip(key, info.URI, "it is not on the cluster's HDFS")
	}
	right, letter := fs.FileMode(0o004), "r"
	for at := info.URI; at != ""; at, right, letter = above(at), 0o001, "x" {
		status, err := s.guarded(ctx, files, root, at)
		if err != nil {
			return launch.Resource{}, fmt.Errorf("ship %s (%s): %w", info.URI, key, err)
		}
		if status.Mode&right == 0 {
			return launch.Resource{}, refuseShip(key, info.URI, fmt.Sprintf("YARN cannot share it, because %s (%s) denies access to other users: hadoop fs -chmod o+%s %[1]s", at, status.Mode, letter))
		}
	}
	found := resourceOf(info)
	found.Public = true
	return found, nil
}

// program is a program that is already on HDFS. Only its owner may be able to change it.
func (s *shipment) program(ctx context.Context, files shipFiles, uri string) (launch.Resource, error) {
	found, err := remoteProgram(ctx, files, uri)
	if err != nil {
		return found, err
	}
	if err := s.closed(ctx, files, found.URI); err != nil {
		return found, fmt.Errorf("program %s: %w", uri, err)
	}
	return found, nil
}

// closed refuses a file that anyone except its owner could change or replace.
func (s *shipment) closed(ctx context.Context, files shipFiles, uri string) error {
	for at := uri; at != ""; at = above(at) {
		if _, err := s.guarded(ctx, files, above(uri), at); err != nil {
			return err
		}
	}
	return nil
}

// guarded is the status of root, of a file in it, or of a directory above it. It refuses a status with which
// another user could bring files into root. Only their owners may write to root and to what is in it, and no
// other user may be able to replace a directory above.
func (s *shipment) guarded(ctx context.Context, files shipFiles, root, at string) (dfs.Status, error) {
	status, err := s.status(ctx, files, at)
	switch {
	case err != nil:
	case at == root, strings.HasPrefix(at, strings.TrimSuffix(root, "/")+"/"):
		err = staging.Shared(status)
	default:
		err = staging.Replaceable(status)
	}
	return status, err
}

// status asks HDFS once for each file and directory.
func (s *shipment) status(ctx context.Context, files shipFiles, uri string) (dfs.Status, error) {
	known, is := s.known[uri]
	if is {
		return known, nil
	}
	status, err := files.Status(ctx, uri)
	if err == nil {
		s.known[uri] = status
	}
	return status, err
}

// above is the URI of the directory that contains uri; "" for the root.
func above(uri string) string {
	authority, file, _ := strings.Cut(strings.TrimPrefix(uri, "hdfs://"), "/")
	if file == "" {
		return ""
	}
	return "hdfs://" + authority + path.Dir("/"+file)
}

// buildID is the number of bytes at the start of a Go binary that always contain its build id, a hash of its
// content.
const buildID = 64 << 10

// sameBinary tells whether a file is the same binary as ours, by its size and its build id.
func sameBinary(ctx context.Context, files shipFiles, info filesystem.FileInfo, own program.Program) (bool, error) {
	if info.Size != own.Size {
		return false, nil
	}
	theirs, err := files.Open(ctx, info.URI)
	if err != nil {
		return false, err
	}
	defer theirs.Close() // read only: nothing to lose
	ours, err := os.Open(own.Path)
	if err != nil {
		return false, err
	}
	defer ours.Close() // read only: nothing to lose
	var heads [2]bytes.Buffer
	for i, file := range []io.Reader{theirs, ours} {
		if _, err := io.Copy(&heads[i], io.LimitReader(file, buildID)); err != nil {
			return false, fmt.Errorf("compare %s with %s: %w", info.URI, own.Path, err)
		}
	}
	return bytes.Equal(heads[0].Bytes(), heads[1].Bytes()), nil
}
