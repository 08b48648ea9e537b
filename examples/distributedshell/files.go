package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// files holds the application's files on HDFS.
type files struct {
	conf   *hadoopconf.Conf
	client *colinmarc.Client
	dialer *hdfs.Dialer
	host   string // the authority of hdfs URIs: a NameNode, or the nameservice
	dir    string // "" until there is one
}

// connect opens the cluster's file system.
func connect(conf *hadoopconf.Conf, user string, login yarnrpc.Login) (*files, error) {
	name, err := conf.DefaultFS()
	if err != nil {
		return nil, err
	}
	location, err := url.Parse(name)
	if err != nil || location.Scheme != "hdfs" {
		return nil, fmt.Errorf("fs.defaultFS is %q, want hdfs://NAMENODE", name)
	}
	o, err := hdfs.FromConf(conf, location.Host, user)
	if err != nil {
		return nil, err
	}
	o.RPC.Login = login
	dialer := hdfs.NewDialer(o)
	client, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: []string{location.Host}, User: user, UseDatanodeHostname: o.UseDatanodeHostname,
		NamenodeDialFunc: dialer.DialNameNode, DatanodeDialFunc: dialer.DialDataNode,
	})
	if err != nil {
		return nil, errors.Join(err, dialer.Close())
	}
	return &files{conf: conf, client: client, dialer: dialer, host: location.Host}, nil
}

// tokens gets the delegation token with which NodeManagers copy the files. On an open cluster it gets none.
func (f *files) tokens(ctx context.Context) (*creds.Credentials, error) {
	tokens := creds.New()
	if !f.conf.SecurityEnabled() {
		return tokens, nil
	}
	rms, err := f.conf.ResourceManagers()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(rms[0].Client) // each ResourceManager's name is valid: the NameNode compares only the short name
	if err != nil {
		return nil, err
	}
	renewer, err := kerberos.ServerPrincipal(f.conf.Get("yarn.resourcemanager.principal"), func() (string, error) { return host, nil })
	if err != nil {
		return nil, err
	}
	service, err := hdfs.TokenService(ctx, f.conf, f.host)
	if err != nil {
		return nil, err
	}
	tokens.Tokens[service], err = f.dialer.NameNode().DelegationToken(ctx, service, renewer)
	return tokens, err
}

// upload puts this program and its job on HDFS, in a directory of their own, for NodeManagers to copy.
func (f *files) upload(ctx context.Context, directory string, job []byte) (map[string]records.LocalResource, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	binary, err := os.Open(self)
	if err != nil {
		return nil, err
	}
	defer binary.Close()
	dir := path.Join("/user", f.client.User(), ".distributedshell", directory)
	if err := f.client.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f.dir = dir
	uploaded := make(map[string]records.LocalResource)
	for name, content := range map[string]io.Reader{program: binary, jobFile: bytes.NewReader(job)} {
		if uploaded[name], err = f.put(ctx, path.Join(dir, name), content); err != nil {
			return nil, err
		}
	}
	return uploaded, nil
}

// put creates a file, and returns its address for NodeManagers.
func (f *files) put(ctx context.Context, name string, content io.Reader) (records.LocalResource, error) {
	if err := f.write(ctx, name, content); err != nil {
		return records.LocalResource{}, err
	}
	info, err := f.client.Stat(name)
	if err != nil {
		return records.LocalResource{}, err
	}
	place, err := records.ParseURL("hdfs://" + f.host + name)
	if err != nil {
		return records.LocalResource{}, err
	}
	return records.LocalResource{
		URL: place, Size: info.Size(), Timestamp: info.ModTime().UnixMilli(),
		Type: records.LocalFile, Visibility: records.VisibilityApplication,
	}, nil
}

func (f *files) write(ctx context.Context, name string, content io.Reader) error {
	out, err := f.client.Create(name)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, content); err != nil {
		return errors.Join(err, out.Close())
	}
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for err = out.Close(); colinmarc.IsErrReplicating(err); err = out.Close() { // until the DataNodes have reported the last block
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}

// close removes the uploaded files.
func (f *files) close() error {
	var err error
	if f.dir != "" {
		err = f.client.RemoveAll(f.dir)
	}
	return errors.Join(err, f.client.Close(), f.dialer.Close())
}
