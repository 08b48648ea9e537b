package yarnrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

func TestJavaClassesAreConditions(t *testing.T) {
	const yarn = "org.apache.hadoop.yarn.exceptions."
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
		err := fmt.Errorf("wrapped: %w", &yarnrpc.RemoteError{Class: class})
		if !errors.Is(err, want) {
			t.Errorf("%s is not %v", class, want)
		}
		if standby := errors.Is(want, yarnrpc.ErrStandby); errors.Is(err, io.EOF) || errors.Is(err, yarnrpc.ErrStandby) != standby {
			t.Errorf("%s is anything", class)
		}
	}
}

// Each case is one that a caller would handle wrongly if it were another.
func TestErrorsAreClassified(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want yarnrpc.Action
	}{
		"refused":              {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, yarnrpc.FailOver},
		"reset":                {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, yarnrpc.FailOver},
		"no route":             {syscall.EHOSTUNREACH, yarnrpc.FailOver},
		"unknown host":         {&net.DNSError{Err: "no such host", IsNotFound: true}, yarnrpc.FailOver},
		"closed":               {io.EOF, yarnrpc.FailOver},
		"caller left":          {context.Canceled, yarnrpc.Permanent},
		"caller's time is up":  {context.DeadlineExceeded, yarnrpc.Permanent},
		"our time is up":       {yarnrpc.ErrTimeout, yarnrpc.FailOver},
		"not Hadoop":           {&wire.FrameError{Head: []byte("HTTP")}, yarnrpc.Permanent},
		"cut short in a frame": {fmt.Errorf("%w: %w", wire.ErrMalformed, io.ErrUnexpectedEOF), yarnrpc.Permanent},
		"wrong server":         {sasl.ErrMismatch, yarnrpc.Permanent},
		"no common login":      {yarnrpc.ErrNoCommonAuth, yarnrpc.Permanent},
		"standby":              {&yarnrpc.RemoteError{Class: "org.apache.hadoop.ipc.StandbyException"}, yarnrpc.FailOver},
		"busy":                 {&yarnrpc.RemoteError{Class: "org.apache.hadoop.ipc.RetriableException"}, yarnrpc.RetrySame},
		"token":                {&yarnrpc.RemoteError{Class: "org.apache.hadoop.security.token.SecretManager$InvalidToken"}, yarnrpc.Reauth},
		"not allowed":          {&yarnrpc.RemoteError{Class: "org.apache.hadoop.security.AccessControlException"}, yarnrpc.Permanent},
		"unknown":              {errors.New("unknown"), yarnrpc.Permanent},
	} {
		for _, err := range []error{tc.err, &yarnrpc.CallError{Err: fmt.Errorf("wrapped: %w", tc.err)}} {
			if got := yarnrpc.Classify(err); got != tc.want {
				t.Errorf("%s: got %v, want %v", name, got, tc.want)
			}
		}
	}
}
