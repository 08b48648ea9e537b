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
)

// Binary is the file that the cluster is to run as bobbin: the client's own executable, or
// another of this machine (yarn.flink-dist-jar). One on the cluster's file system takes its
// place when Deploy finds it there.
func Binary(executable string, c config.Config) (program.Program, error) {
	other := c.String(config.YarnDistribution)
	if other == "" || IsRemote(other) {
		return program.InspectBobbin(executable, program.Native())
	}
	found, err := program.InspectBobbin(strings.TrimPrefix(other, "file://"), program.Native())
	if err != nil {
		err = fmt.Errorf("option %s: %w", config.YarnDistribution, err)
	}
	return found, err
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

// reference names the program that an ApplicationMaster gets. Of one that nobody has read
// the hash is not known.
func (d Deployment) reference(code launch.Resource) msg.Program {
	if d.Remote != "" {
		return msg.Program{Name: path.Base(code.URI), URI: code.URI}
	}
	return msg.Program{Name: d.Program.Name, SHA256: d.Program.SHA256, URI: code.URI}
}

// bobbinSHA256 is that of the binary which the cluster runs; "": it is a file on HDFS that nobody here has read. A provided
// one is the same as ours.
func (d Deployment) bobbinSHA256() string {
	if IsRemote(d.Config.String(config.YarnDistribution)) {
		return ""
	}
	return d.Bobbin.SHA256
}
