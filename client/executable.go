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
	program.Program // the file of this machine; of one that the cluster has, its Name at least
	// URI is where the file is on the cluster's file systems; "": it is brought there.
	URI string
}

// Binary is what the cluster is to run as bobbin: the client's own executable, or the one that
// yarn.flink-dist-jar names, of this machine or of the cluster, which Deploy looks for.
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

// distribution is the file that yarn.flink-dist-jar names: of this machine by its path, of the
// cluster by its URI.
func distribution(c config.Config) (path, uri string) {
	name := c.String(config.YarnDistribution)
	if isRemote(name) {
		return "", name
	}
	return strings.TrimPrefix(name, "file://"), ""
}

// ProgramOf is a program that the cluster is to run: a file of this machine, or one that the
// cluster has, by its URI, which Deploy looks for.
func ProgramOf(name string) (Executable, error) {
	if isRemote(name) {
		return Executable{Program: program.Program{Name: path.Base(name)}, URI: name}, nil
	}
	found, err := program.Inspect(name, program.Native())
	return Executable{Program: found}, err
}

// hash is the SHA-256 of the file; "": it is one of the cluster's that nobody here has read.
func (e Executable) hash() string {
	if e.URI != "" {
		return ""
	}
	return e.SHA256
}

// reference names the program that an ApplicationMaster gets, and that is staged as code.
func (e Executable) reference(code launch.Resource) msg.Program {
	if e.URI != "" {
		return msg.Program{Name: path.Base(code.URI), URI: code.URI}
	}
	return msg.Program{Name: e.Name, SHA256: e.SHA256, URI: code.URI}
}

func stagedFile(p program.Program) staging.File {
	return staging.File{Path: p.Path, Name: p.Name, SHA256: p.SHA256, Size: p.Size}
}

// remoteProgram is a program that lies on the cluster's file system already, as containers
// localize it. It looks at the file's begin alone: whether it is built with the SDK, the
// ApplicationMaster sees.
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
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // what is there is judged
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
