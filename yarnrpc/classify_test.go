package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// A caller would handle each case wrongly if its class were another: it would retry
// without end, give up a call that another server would execute, or execute a call twice.
func TestErrorsAreClassified(t *testing.T) {
	said := func(class string) error {
		return &RemoteError{Address: "rm:1", Method: "m", Class: class}
	}
	const ipc, yarn = "org.apache.hadoop.ipc.", "org.apache.hadoop.yarn.exceptions."
	seen := make(map[string]bool)
	for name, tc := range map[string]struct {
		err       error
		class     string
		action    Action
		execution Execution
		oneHost   bool
	}{
		"standby":                      {said(ipc + "StandbyException"), "standby", FailOver, NotExecuted, false},
		"observer":                     {said(ipc + "ObserverRetryOnActiveException"), "standby", FailOver, NotExecuted, false},
		"busy":                         {said(ipc + "RetriableException"), "overloaded or starting", RetrySame, NotExecuted, false},
		"safe mode":                    {said("org.apache.hadoop.hdfs.server.namenode.SafeModeException"), "overloaded or starting", RetrySame, NotExecuted, false},
		"no datanode yet":              {&RemoteError{Method: "addBlock", Class: "java.io.IOException", Message: "There are 0 datanode(s) running"}, "overloaded or starting", RetrySame, NotExecuted, false},
		"a quota":                      {said("org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"), "exception", Permanent, Answered, false},
		"nodemanager starting":         {said(yarn + "NMNotYetReadyException"), "overloaded or starting", RetrySame, NotExecuted, false},
		"token after a roll":           {said("org.apache.hadoop.security.token.SecretManager$InvalidToken"), "token refused", Reauth, NotExecuted, false},
		"a server's clock is wrong":    {&RemoteError{Class: "javax.security.sasl.SaslException", Message: "GSS initiate failed"}, "login refused by one host", Permanent, NotExecuted, true},
		"old server":                   {said(ipc + "RpcNoSuchMethodException"), "different Hadoop release", Permanent, NotExecuted, false},
		"another service":              {said(ipc + "RpcNoSuchProtocolException"), "different Hadoop release", Permanent, NotExecuted, false},
		"another version":              {said(ipc + "RPC$VersionMismatch"), "different Hadoop release", Permanent, NotExecuted, false},
		"not let in":                   {&RemoteError{Class: "org.apache.hadoop.security.AccessControlException"}, "connection refused by the server", Permanent, NotExecuted, false},
		"not allowed":                  {said("org.apache.hadoop.security.AccessControlException"), "exception", Permanent, Answered, false},
		"no such application":          {said(yarn + "ApplicationNotFoundException"), "exception", Permanent, Answered, false},
		"an exception of the call's":   {said("java.lang.NullPointerException"), "exception", Permanent, Answered, false},
		"caller canceled or timed out": {context.Canceled, "caller canceled or timed out", Permanent, InDoubt, false},
		"caller's time is up":          {context.DeadlineExceeded, "caller canceled or timed out", Permanent, InDoubt, false},
		"cut short in a frame":         {fmt.Errorf("%w: %w", wire.ErrMalformed, io.ErrUnexpectedEOF), "malformed answer from one host", Permanent, InDoubt, true},
		"a server that is another":     {sasl.ErrMismatch, "login failed at one host", Permanent, NotExecuted, true},
		"a server without a proof":     {sasl.ErrNotMutual, "login failed at one host", Permanent, NotExecuted, true},
		"a server with rc4 alone":      {sasl.ErrEncryptionType, "login failed at one host", Permanent, NotExecuted, true},
		"a server the kdc knows not":   {kerberos.ErrUnknownService, "login failed at one host", Permanent, NotExecuted, true},
		"a server of another name":     {&kerberos.ServerMismatchError{}, "unexpected server principal", Permanent, NotExecuted, true},
		"no kdc":                       {kerberos.ErrKDC, "no kdc answers", RetrySame, NotExecuted, false},
		"kinit was long ago":           {kerberos.ErrExpired, "no valid ticket", Reauth, NotExecuted, false},
		"no kinit":                     {kerberos.ErrNoTicket, "no valid ticket", Reauth, NotExecuted, false},
		"a wrong clock":                {kerberos.ErrClockSkew, "clock skew", Permanent, NotExecuted, false},
		"a misspelled user":            {kerberos.ErrUnknownClient, "login refused by the kdc", Permanent, NotExecuted, false},
		"an old keytab":                {kerberos.ErrWrongKey, "login refused by the kdc", Permanent, NotExecuted, false},
		"a locked account":             {kerberos.ErrLocked, "login refused by the kdc", Permanent, NotExecuted, false},
		"a broken challenge":           {sasl.ErrChallenge, "login failed at one host", Permanent, NotExecuted, true},
		"less protection than wanted":  {sasl.ErrProtection, "login failed at one host", Permanent, NotExecuted, true},
		"no common login":              {ErrNoCommonAuth, "login failed at one host", Permanent, NotExecuted, true},
		"neither token nor kinit":      {ErrNoLogin, "no login", Permanent, NotExecuted, false},
		"refused":                      {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "unreachable", FailOver, NotExecuted, false},
		"no route":                     {syscall.EHOSTUNREACH, "unreachable", FailOver, NotExecuted, false},
		"no network":                   {syscall.ENETUNREACH, "unreachable", FailOver, NotExecuted, false},
		"no connection in time":        {ErrConnectTimeout, "unreachable", FailOver, NotExecuted, false},
		"unknown host":                 {&net.DNSError{Err: "no such host", IsNotFound: true}, "unknown host", FailOver, NotExecuted, false},
		"half-open connection":         {ErrTimeout, "no answer in time", FailOver, InDoubt, false},
		"server restart":               {io.EOF, "connection lost", FailOver, InDoubt, false},
		"closed within a frame":        {io.ErrUnexpectedEOF, "connection lost", FailOver, InDoubt, false},
		"gone idle":                    {ErrClosed, "connection lost", FailOver, InDoubt, false},
		"reset":                        {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, "connection broken", FailOver, InDoubt, false},
		"broken pipe":                  {&net.OpError{Op: "write", Err: syscall.EPIPE}, "connection broken", FailOver, InDoubt, false},
		"a network's own error":        {&net.OpError{Op: "read", Err: errors.New("cable pulled")}, "network failure", FailOver, InDoubt, false},
		"not Hadoop":                   {&wire.FrameError{Head: []byte("HTTP")}, "one host is not a Hadoop server", Permanent, InDoubt, true},
		"numbers used up":              {sasl.ErrExhausted, "connection lost", FailOver, InDoubt, false},
		"changed on the way":           {sasl.ErrTampered, "client failure", Permanent, InDoubt, false},
		"unknown":                      {errors.New("unknown"), "client failure", Permanent, InDoubt, false},
	} {
		want := Verdict{Class: tc.class, Action: tc.action, Execution: tc.execution, OneHost: tc.oneHost}
		for _, err := range []error{tc.err, &CallError{Err: fmt.Errorf("wrapped: %w", tc.err)}} {
			if got := Judge(err); got != want || Classify(err) != want.Action {
				t.Errorf("%s: got %+v, want %+v", name, got, want)
			}
		}
		seen[tc.class] = true
	}
	for _, c := range classes() {
		if !seen[c.Class] {
			t.Errorf("no case is in the class %q", c.Class)
		}
	}
}
