package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// Executable is a file that the cluster runs.
type Executable struct {
	program.Program // the local file; with a URI only its Name is always set
	// URI names a file that is already on the cluster's file systems; "" if the local file is staged.
	URI string
}

// Binary is the file that the cluster runs as bobbin: the client's own executable, or the file of
// yarn.flink-dist-jar. Deploy checks a file on the cluster's file systems.
func Binary(executable string, c config.Config) (Executable, error) {
	path, uri := distribution(c)
	if path == "" {
		found, err := program.InspectBobbin(executable, program.Native())
		return Executable{Program: found, URI: uri}, err
	}
	found, err := program.InspectBobbin(path, program.Native())
	if err != nil {
		err = fmt.Errorf("option %s: %w", config.YarnDistribution, err)
	}
	return Executable{Program: found}, err
}

// distribution reads yarn.flink-dist-jar: the path of a local file, or the URI of one on the
// cluster's file systems.
func distribution(c config.Config) (path, uri string) {
	name := c.String(config.YarnDistribution)
	if isRemote(name) {
		return "", name
	}
	return strings.TrimPrefix(name, "file://"), ""
}

// ProgramOf is the program of a local path or of a URI on the cluster's file systems, which Deploy
// checks.
func ProgramOf(name string) (Executable, error) {
	if isRemote(name) {
		return Executable{Program: program.Program{Name: path.Base(name)}, URI: name}, nil
	}
	found, err := program.Inspect(name, program.Native())
	return Executable{Program: found}, err
}

// hash is the SHA-256 of the file; "" for a file that only the cluster has.
func (e Executable) hash() string {
	if e.URI != "" {
		return ""
	}
	return e.SHA256
}

// reference names a program for the ApplicationMaster. code is the program's file on the cluster's file systems.
func (e Executable) reference(code launch.Resource) msg.Program {
	if e.URI != "" {
		return msg.Program{Name: path.Base(code.URI), URI: code.URI}
	}
	return msg.Program{Name: e.Name, SHA256: e.SHA256, URI: code.URI}
}

func stagedFile(p program.Program) staging.File {
	return staging.File{Path: p.Path, Name: p.Name, SHA256: p.SHA256, Size: p.Size}
}

// remoteProgram is a program that is already on the cluster's file system, in the form that containers
// localize. It reads only the beginning of the file. The ApplicationMaster checks that the program is built
// with the SDK.
func remoteProgram(ctx context.Context, files shipFiles, uri string) (launch.Resource, error) {
	info, err := files.Stat(ctx, uri)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return launch.Resource{}, fmt.Errorf("program %s: %w: upload it, or correct the path", uri, fs.ErrNotExist)
	case err != nil:
		return launch.Resource{}, fmt.Errorf("program %s: %w", uri, err)
	case info.IsDir:
		return launch.Resource{}, fmt.Errorf("program %s is a directory: name the program's executable file", uri)
	}
	file, err := files.Open(ctx, uri)
	if err != nil {
		return launch.Resource{}, fmt.Errorf("program %s: %w", uri, err)
	}
	head := make([]byte, program.HeadSize)
	n, err := io.ReadFull(file, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the file is shorter than head: check what it has
		err = nil
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = program.CheckPlatform(head[:n], program.Native())
	}
	if err != nil {
		return launch.Resource{}, fmt.Errorf("program %s: %w", uri, err)
	}
	return launch.Resource{URI: info.URI, Size: info.Size, Timestamp: info.ModTime.UnixMilli()}, nil
}
