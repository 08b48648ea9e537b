package dfs

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// The supported schemes.
const (
	schemeFile = "file"
	schemeHDFS = "hdfs"
)

// location is a URI in parts. As in Hadoop's Path, nothing is percent-decoded: the path is the
// file's name.
type location struct {
	scheme    string
	authority string // host, host:port or nameservice; empty for local files
	path      string // absolute and clean
}

// String returns the qualified URI.
func (l location) String() string { return l.scheme + "://" + l.authority + l.path }

// child returns the location of a directory's entry. For the name "" it returns l itself.
func (l location) child(name string) location {
	l.path = path.Join(l.path, name)
	return l
}

// Qualify completes a path to a URI with scheme, authority and absolute path, which means the same
// in every process of the cluster. Paths without a scheme are on the default file system of the
// configuration. Relative paths start from the user's home directory there, or from the working
// directory if that file system is the local disk.
func (f *FS) Qualify(uri string) (string, error) {
	at, err := f.locate(uri)
	if err != nil {
		return "", err
	}
	return at.String(), nil
}

// Home returns the URI of the user's home directory on the default file system, hdfs://…/user/NAME,
// or the working directory if that file system is the local disk.
func (f *FS) Home() (string, error) { return f.Qualify(".") }

func (f *FS) locate(uri string) (location, error) {
	if uri == "" {
		return location{}, errors.New("resolve path: it is empty")
	}
	at := split(uri)
	if at.scheme == "" || at.scheme == schemeHDFS && at.authority == "" {
		base, err := f.defaultLocation()
		if err != nil {
			return location{}, fmt.Errorf("resolve %s: %w", uri, err)
		}
		if at.scheme == schemeHDFS && base.scheme != schemeHDFS {
			return location{}, fmt.Errorf("resolve %s: it names no NameNode, and the default file system is %s; write hdfs://host/path", uri, base)
		}
		at.scheme, at.authority = base.scheme, base.authority
	}
	switch at.scheme {
	case schemeFile:
		if at.authority != "" && at.authority != "localhost" {
			return location{}, fmt.Errorf("resolve %s: a local file has no host; write file:///path", uri)
		}
		absolute, err := filepath.Abs(at.path)
		if err != nil {
			return location{}, fmt.Errorf("resolve %s: %w", uri, err)
		}
		return location{scheme: schemeFile, path: absolute}, nil
	case schemeHDFS:
		if !strings.HasPrefix(at.path, "/") {
			at.path = path.Join("/user", f.options.User, at.path)
		}
		at.path = path.Clean(at.path)
		return at, nil
	default:
		return location{}, fmt.Errorf("resolve %s: file systems of scheme %q are not supported; use hdfs:// or file://", uri, at.scheme)
	}
}

func (f *FS) defaultLocation() (location, error) {
	uri, err := f.options.Conf.DefaultFS()
	if err != nil {
		return location{}, err
	}
	at := split(uri)
	at.path = "/"
	return at, nil
}

// split splits scheme:path, scheme://authority/path and plain paths. A colon after the first slash
// belongs to the path.
func split(uri string) location {
	colon := strings.IndexAny(uri, ":/")
	if colon <= 0 || uri[colon] != ':' {
		return location{path: uri}
	}
	at := location{scheme: strings.ToLower(uri[:colon]), path: uri[colon+1:]}
	if rest, ok := strings.CutPrefix(at.path, "//"); ok {
		at.authority, at.path, _ = strings.Cut(rest, "/")
		at.path = "/" + at.path
	}
	return at
}
