package yarnrpc_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

func TestJavaClassesAreConditions(t *testing.T) {
	const yarn, hdfs = "org.apache.hadoop.yarn.exceptions.", "org.apache.hadoop.hdfs."
	for class, want := range map[string]error{
		"org.apache.hadoop.ipc.StandbyException":                      yarnrpc.ErrStandby,
		"org.apache.hadoop.ipc.ObserverRetryOnActiveException":        yarnrpc.ErrStandby,
		"org.apache.hadoop.ipc.RetriableException":                    yarnrpc.ErrRetriable,
		"org.apache.hadoop.security.token.SecretManager$InvalidToken": yarnrpc.ErrInvalidToken,
		"org.apache.hadoop.security.token.SecretManager.InvalidToken": yarnrpc.ErrInvalidToken,
		"org.apache.hadoop.security.AccessControlException":           fs.ErrPermission,
		"org.apache.hadoop.security.authorize.AuthorizationException": yarnrpc.ErrAccessControl,
		"javax.security.sasl.SaslException":                           yarnrpc.ErrSASL,
		"org.apache.hadoop.ipc.RpcNoSuchMethodException":              yarnrpc.ErrNoSuchMethod,
		"org.apache.hadoop.ipc.RpcNoSuchProtocolException":            yarnrpc.ErrNoSuchProtocol,
		"org.apache.hadoop.ipc.RPC$VersionMismatch":                   yarnrpc.ErrVersionMismatch,
		"java.io.FileNotFoundException":                               fs.ErrNotExist,
		hdfs + "server.namenode.SafeModeException":                    yarnrpc.ErrSafeMode,
		hdfs + "protocol.NSQuotaExceededException":                    yarnrpc.ErrQuota,
		hdfs + "protocol.DSQuotaExceededException":                    yarnrpc.ErrQuota,
		hdfs + "protocol.QuotaByStorageTypeExceededException":         yarnrpc.ErrQuota,
		"org.apache.hadoop.fs.FileAlreadyExistsException":             fs.ErrExist,
		yarn + "YarnException":                                        yarnrpc.ErrYarn,
		yarn + "ApplicationNotFoundException":                         yarnrpc.ErrApplicationNotFound,
		yarn + "ApplicationAttemptNotFoundException":                  yarnrpc.ErrApplicationAttemptNotFound,
		yarn + "ContainerNotFoundException":                           yarnrpc.ErrContainerNotFound,
		yarn + "ApplicationMasterNotRegisteredException":              yarnrpc.ErrApplicationMasterNotRegistered,
		yarn + "InvalidApplicationMasterRequestException":             yarnrpc.ErrInvalidApplicationMasterRequest,
		yarn + "InvalidResourceRequestException":                      yarnrpc.ErrInvalidResourceRequest,
		yarn + "InvalidLabelResourceRequestException":                 yarnrpc.ErrInvalidResourceRequest,
		yarn + "SchedulerInvalidResoureRequestException":              yarnrpc.ErrInvalidResourceRequest,
		yarn + "InvalidResourceBlacklistRequestException":             yarnrpc.ErrInvalidBlacklistRequest,
		yarn + "InvalidContainerReleaseException":                     yarnrpc.ErrInvalidContainerRelease,
		yarn + "NMNotYetReadyException":                               yarnrpc.ErrNMNotYetReady,
		yarn + "InvalidContainerException":                            yarnrpc.ErrInvalidContainer,
		yarn + "InvalidAuxServiceException":                           yarnrpc.ErrInvalidAuxService,
	} {
		err := fmt.Errorf("wrapped: %w", &yarnrpc.RemoteError{Method: "m", Class: class})
		if !errors.Is(err, want) {
			t.Errorf("%s is not %v", class, want)
		}
		if standby := errors.Is(want, yarnrpc.ErrStandby); errors.Is(err, io.EOF) || errors.Is(err, yarnrpc.ErrStandby) != standby {
			t.Errorf("%s is anything", class)
		}
	}
}

// A user without the right to connect must not be told to make a directory writable.
func TestARefusedConnectionIsNotAboutAFile(t *testing.T) {
	err := &yarnrpc.RemoteError{Class: "org.apache.hadoop.security.authorize.AuthorizationException"}
	if errors.Is(err, fs.ErrPermission) || !errors.Is(err, yarnrpc.ErrAccessControl) {
		t.Errorf("%v is of a file: %v", err, errors.Is(err, fs.ErrPermission))
	}
}

// A NameNode throws the same exception for every other failure. Otherwise a client would wait for
// a full disk, or give up on a cluster that is starting.
func TestTheLackOfDataNodesIsToldByItsMessage(t *testing.T) {
	for message, want := range map[string]bool{
		"File /f could only be written to 0 of the 1 minReplication nodes. There are 0 datanode(s) running and 0 node(s) are excluded in this operation.": true,
		"File /f could only be written to 0 of the 1 minReplication nodes. There are 3 datanode(s) running and 3 node(s) are excluded in this operation.": false,
		"No space left on device": false,
	} {
		err := &yarnrpc.RemoteError{Method: "addBlock", Class: "java.io.IOException", Message: message}
		if errors.Is(err, yarnrpc.ErrNoDataNodes) != want {
			t.Errorf("%q is the lack of DataNodes: %t", message, !want)
		}
	}
}
