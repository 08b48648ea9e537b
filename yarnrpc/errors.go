package yarnrpc

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Meanings of a server's exception, for errors.Is. Each stands for one or a few Java classes;
// RemoteError.Class has the exact one.
var (
	ErrStandby                         = errors.New("server is not the active one")
	ErrRetriable                       = errors.New("server asks to try again later")
	ErrSafeMode                        = errors.New("NameNode is in safe mode")
	ErrNoDataNodes                     = errors.New("NameNode has no live DataNode")
	ErrQuota                           = errors.New("quota of a directory is exceeded")
	ErrInvalidToken                    = errors.New("token is unknown, expired or made with another key")
	ErrAccessControl                   = errors.New("access denied")
	ErrSASL                            = errors.New("authentication failed")
	ErrNoSuchMethod                    = errors.New("server does not have the method")
	ErrNoSuchProtocol                  = errors.New("server does not speak the protocol")
	ErrVersionMismatch                 = errors.New("server speaks another version")
	ErrApplicationNotFound             = errors.New("application is not known")
	ErrApplicationAttemptNotFound      = errors.New("application attempt is not known")
	ErrContainerNotFound               = errors.New("container is not known")
	ErrApplicationMasterNotRegistered  = errors.New("application master is not registered")
	ErrInvalidApplicationMasterRequest = errors.New("application master broke the protocol")
	ErrInvalidResourceRequest          = errors.New("resource request is not allowed")
	ErrInvalidBlacklistRequest         = errors.New("blacklist request is not allowed")
	ErrInvalidContainerRelease         = errors.New("container to release does not belong to the caller")
	ErrNMNotYetReady                   = errors.New("node manager is not ready yet")
	ErrInvalidContainer                = errors.New("node manager rejects the container")
	ErrInvalidAuxService               = errors.New("node manager does not have the auxiliary service")
	ErrYarn                            = errors.New("yarn refused the request")
)

// Other errors of a call, for errors.Is.
var (
	// ErrClosed says that the Conn or Proxy was closed, or that the Conn was idle and closed
	// itself.
	ErrClosed = errors.New("connection is closed")
	// ErrTimeout says that no answer came within Options.RPCTimeout.
	ErrTimeout = errors.New("no answer in time")
	// ErrConnectTimeout says that no connection was ready within Options.ConnectTimeout.
	ErrConnectTimeout = errors.New("no connection in time")
	// ErrNoCommonAuth says that client and server have no authentication method in common. A server
	// that wants no login is such a server too, unless Auth.AllowSimpleFallback is set.
	ErrNoCommonAuth = errors.New("no common authentication method")
	// ErrNoLogin says that the cluster wants a login (Auth.RequireLogin) and the client has neither
	// a token nor a Login. Nothing was sent.
	ErrNoLogin = errors.New("no token for the server and no Kerberos login")
)

// RemoteError is an exception in the server's answer (org.apache.hadoop.ipc.RemoteException).
type RemoteError struct {
	Address string
	Method  string // empty: the server refused the connection
	Class   string // Java class name, inner classes after $, or after a dot if it comes from inside a message
	Message string // its first line
	Detail  wire.ErrorCode
}

func (e *RemoteError) Error() string {
	if e.Method == "" {
		return e.what()
	}
	return fmt.Sprintf("%s on %s: %s", e.Method, e.Address, e.what())
}

// what returns the exception without the method and the address.
func (e *RemoteError) what() string {
	return e.Class[strings.LastIndex(e.Class, ".")+1:] + ": " + e.Message
}

// Is reports whether target is one of the errors that the exception's class stands for.
func (e *RemoteError) Is(target error) bool {
	switch strings.ReplaceAll(e.Class, "$", ".") {
	case "org.apache.hadoop.ipc.StandbyException",
		"org.apache.hadoop.ipc.ObserverRetryOnActiveException":
		return target == ErrStandby
	case "org.apache.hadoop.ipc.RetriableException":
		return target == ErrRetriable
	case "org.apache.hadoop.hdfs.server.namenode.SafeModeException":
		return target == ErrSafeMode
	case "java.io.IOException":
		// BlockManager#chooseTarget4NewBlock has no class of its own for it.
		return target == ErrNoDataNodes && strings.Contains(e.Message, "There are 0 datanode(s) running")
	case "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException",
		"org.apache.hadoop.hdfs.protocol.DSQuotaExceededException",
		"org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException",
		"org.apache.hadoop.hdfs.protocol.QuotaExceededException":
		return target == ErrQuota
	case "org.apache.hadoop.security.token.SecretManager.InvalidToken":
		return target == ErrInvalidToken
	case "org.apache.hadoop.security.AccessControlException",
		"org.apache.hadoop.security.authorize.AuthorizationException":
		// The refusal of a connection says nothing about rights to a file.
		return target == ErrAccessControl || target == fs.ErrPermission && e.Method != ""
	case "javax.security.sasl.SaslException":
		return target == ErrSASL
	case "org.apache.hadoop.security.KerberosAuthException":
		// If a server cannot read a ticket, it logs in again from its keytab. If that fails, it
		// tells the client (ipc.Server).
		return target == ErrSASL && e.Method == ""
	case "org.apache.hadoop.ipc.RpcNoSuchMethodException":
		return target == ErrNoSuchMethod
	case "org.apache.hadoop.ipc.RpcNoSuchProtocolException":
		return target == ErrNoSuchProtocol
	case "org.apache.hadoop.ipc.RPC.VersionMismatch":
		return target == ErrVersionMismatch
	case "java.io.FileNotFoundException":
		return target == fs.ErrNotExist
	case "org.apache.hadoop.fs.FileAlreadyExistsException":
		return target == fs.ErrExist
	}
	yarn, isYarn := strings.CutPrefix(e.Class, "org.apache.hadoop.yarn.exceptions.")
	if !isYarn {
		return false
	}
	if target == ErrYarn {
		return true
	}
	switch yarn {
	case "ApplicationNotFoundException":
		return target == ErrApplicationNotFound
	case "ApplicationAttemptNotFoundException":
		return target == ErrApplicationAttemptNotFound
	case "ContainerNotFoundException":
		return target == ErrContainerNotFound
	case "ApplicationMasterNotRegisteredException":
		return target == ErrApplicationMasterNotRegistered
	case "InvalidApplicationMasterRequestException":
		return target == ErrInvalidApplicationMasterRequest
	case "InvalidResourceRequestException", "InvalidLabelResourceRequestException",
		"SchedulerInvalidResoureRequestException": // Hadoop's spelling
		return target == ErrInvalidResourceRequest
	case "InvalidResourceBlacklistRequestException":
		return target == ErrInvalidBlacklistRequest
	case "InvalidContainerReleaseException":
		return target == ErrInvalidContainerRelease
	case "NMNotYetReadyException":
		return target == ErrNMNotYetReady
	case "InvalidContainerException":
		return target == ErrInvalidContainer
	case "InvalidAuxServiceException":
		return target == ErrInvalidAuxService
	default:
		return false
	}
}

// refused adds the remedy to a server's refusal of a connection, if there is a known one. unproven
// says that the client sent a user name without a proof.
func refused(user UserInformation, unproven bool, err error) error {
	switch {
	case errors.Is(err, ErrInvalidToken):
		return fmt.Errorf("%w: the token has expired or was canceled: the program that passed it on must get a new one", err)
	case !errors.Is(err, ErrAccessControl):
		return err
	case unproven && !isAuthorization(err):
		return fmt.Errorf("%w: the server requires a login: set hadoop.security.authentication to kerberos, as in the cluster's core-site.xml", err)
	case user.Real != "":
		return fmt.Errorf("%w: allow %s to act for %s: set hadoop.proxyuser.%[2]s.hosts, and .users or .groups, in the server's core-site.xml", err, user.Real, user.Effective)
	default:
		return err
	}
}

// isAuthorization reports whether the server knows the user but does not allow the connection.
func isAuthorization(err error) bool {
	remote, is := errors.AsType[*RemoteError](err)
	return is && remote.Class == "org.apache.hadoop.security.authorize.AuthorizationException"
}

// CallError is the error of a call without an answer.
type CallError struct {
	Address   string // of the server, or of all servers that were tried
	Method    string
	MaybeSent bool // the server may have executed the call
	Err       error
}

func (e *CallError) Error() string {
	return fmt.Sprintf("%s on %s: %v", e.Method, e.Address, e.Err)
}

func (e *CallError) Unwrap() error { return e.Err }

// MaybeSent reports whether the server may have executed the failed call although the client got no
// answer. It is false if err holds only a RemoteError, because that is the server's answer.
func MaybeSent(err error) bool {
	var call *CallError
	return errors.As(err, &call) && call.MaybeSent
}
