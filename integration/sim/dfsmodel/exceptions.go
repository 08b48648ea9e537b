package dfsmodel

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// Authority is the HDFS of the model, in URIs: hdfs://sim/path.
const Authority = "sim"

// Java classes of the NameNode's exceptions.
const (
	classNotFound     = "java.io.FileNotFoundException"
	classIO           = "java.io.IOException"
	classExists       = "org.apache.hadoop.fs.FileAlreadyExistsException"
	classNotDirectory = "org.apache.hadoop.fs.ParentNotDirectoryException"
	classNotEmpty     = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"
	classDenied       = "org.apache.hadoop.security.AccessControlException"
	classBeingCreated = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"
	classRecovery     = "org.apache.hadoop.hdfs.protocol.RecoveryInProgressException"
	classLease        = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
)

// exception makes an exception of the NameNode in its answer to a call.
func exception(method Kind, class, format string, args ...any) error {
	return &yarnrpc.RemoteError{Address: Authority, Method: string(method), Class: class, Message: fmt.Sprintf(format, args...)}
}

// answer turns the error of a call into the error that internal/dfs returns, without the operation and the place.
func answer(user string, err error) error {
	if errors.Is(err, yarnrpc.ErrInvalidToken) || errors.Is(err, kerberos.ErrKDC) { // the login has failed
		return err
	}
	if _, unanswered := errors.AsType[*yarnrpc.CallError](err); unanswered {
		return fmt.Errorf("NameNode %s did not answer: %w", Authority, err)
	}
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	if !is {
		return err
	}
	switch remote.Class {
	case classDenied:
		return fmt.Errorf("%w for user %s", fs.ErrPermission, user)
	case classNotFound:
		return fs.ErrNotExist
	case classExists, classBeingCreated: // only create has the second class
		return fs.ErrExist
	case classNotEmpty:
		return filesystem.ErrNotEmpty
	default:
		return remote
	}
}
