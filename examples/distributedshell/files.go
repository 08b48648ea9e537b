package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// files are the application's, on HDFS.
type files struct {
	client *colinmarc.Client
	dialer *hdfs.Dialer
	root   records.URL // of the file system
	dir    string      // "" until there is one
}

// connect opens the cluster's file system.
func connect(conf *hadoopconf.Conf, user string) (*files, error) {
	name, err := conf.DefaultFS()
	if err != nil {
		return nil, err
	}
	location, err := url.Parse(name)
	if err != nil || location.Scheme != "hdfs" {
		return nil, fmt.Errorf("fs.defaultFS is %q, want hdfs://NAMENODE", name)
	}
	root, err := records.ParseURL("hdfs://" + location.Host + "/")
	if err != nil {
		return nil, err
	}
	addresses, _, err := conf.NameNodes(location.Host)
	if err != nil {
		return nil, err
	}
	dialer := hdfs.NewDialer(hdfs.DialerOptions{})
	client, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: addresses, User: user,
		NamenodeDialFunc: dialer.DialNameNode, DatanodeDialFunc: dialer.DialDataNode,
	})
	if err != nil {
		dialer.Close()
		return nil, err
	}
	return &files{client: client, dialer: dialer, root: root}, nil
}

// upload puts this program on HDFS, in a directory of its own, for NodeManagers to copy.
func (f *files) upload(directory string) (records.LocalResource, error) {
	self, err := os.Executable()
	if err != nil {
		return records.LocalResource{}, err
	}
	dir := path.Join("/user", f.client.User(), ".distributedshell", directory)
	if err := f.client.MkdirAll(dir, 0o700); err != nil {
		return records.LocalResource{}, err
	}
	f.dir = dir
	name := path.Join(dir, program)
	if err := f.copy(self, name); err != nil {
		return records.LocalResource{}, err
	}
	info, err := f.client.Stat(name)
	if err != nil {
		return records.LocalResource{}, err
	}
	place := f.root
	place.Path = name
	return records.LocalResource{
		URL: place, Size: info.Size(), Timestamp: info.ModTime().UnixMilli(),
		Type: records.LocalFile, Visibility: records.VisibilityApplication,
	}, nil
}

func (f *files) copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := f.client.Create(to)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	for err = out.Close(); colinmarc.IsErrReplicating(err); err = out.Close() { // until DataNodes have told of it
		timer := time.NewTimer(100 * time.Millisecond)
		<-timer.C
	}
	return err
}

// close removes what was uploaded.
func (f *files) close() error {
	var err error
	if f.dir != "" {
		err = f.client.RemoveAll(f.dir)
	}
	err = errors.Join(err, f.client.Close())
	f.dialer.Close()
	return err
}
