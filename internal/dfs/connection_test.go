package dfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/kerberos"
)

// connected returns a connection whose client exists and is never used.
func connected() *connection {
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	return &connection{
		name: "nn:1", user: "me", dialer: hdfs.NewDialer(hdfs.DialerOptions{}), log: silent,
		closing: make(chan struct{}), client: new(colinmarc.Client),
	}
}

// If a file is created after its caller has gone, it would stay open, and its lease would be
// renewed, for as long as the process lives.
func TestWhatIsMadeTooLateIsTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		takes  time.Duration
		err    error
		undone bool
	}{
		"in time":                {takes: time.Second},
		"after the caller left":  {takes: 3 * time.Second, undone: true},
		"and failed, even later": {takes: 3 * time.Second, err: errors.New("no")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := connected()
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				undone := 0
				got, err := doOrUndo(ctx, c, func(*colinmarc.Client) (int, error) {
					time.Sleep(tc.takes)
					return 7, tc.err
				}, func(_ *colinmarc.Client, value int) { undone += value })
				late := tc.takes > 2*time.Second
				if late != errors.Is(err, context.DeadlineExceeded) || !late && got != 7 {
					t.Errorf("got %d, %v", got, err)
				}
				c.running.Wait()
				if (undone == 7) != tc.undone || undone != 0 != tc.undone {
					t.Errorf("undone: %d", undone)
				}
				if err := c.dialer.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Callers decide by these errors, and users read their texts.
func TestErrorsOfCalls(t *testing.T) {
	t.Parallel()
	unanswered := func(err error) error { return &yarnrpc.CallError{Address: "nn:1", Method: "getFileInfo", Err: err} }
	for name, tc := range map[string]struct {
		err, is error
		says    string
	}{
		"nobody there":  {unanswered(syscall.ECONNREFUSED), syscall.ECONNREFUSED, "NameNode nn:1 did not answer"},
		"no login":      {unanswered(yarnrpc.ErrNoLogin), yarnrpc.ErrNoLogin, "Kerberos login"},
		"an old ticket": {unanswered(kerberos.ErrExpired), kerberos.ErrExpired, "getFileInfo on nn:1: the ticket has expired"},
		"no KDC":        {unanswered(kerberos.ErrKDC), kerberos.ErrKDC, "getFileInfo on nn:1: no kdc of the realm answers"},
		"closed":        {unanswered(hdfs.ErrDialerClosed), ErrClosed, "closed"},
		"no right":      {&yarnrpc.RemoteError{Method: "rename2", Class: "org.apache.hadoop.security.AccessControlException"}, fs.ErrPermission, "for user me"},
		"not there":     {&fs.PathError{Op: "stat", Path: "/x", Err: fs.ErrNotExist}, fs.ErrNotExist, "not exist"},
		"encrypted":     {&fs.PathError{Op: "create", Path: "/x", Err: hdfs.ErrEncryptionZone}, filesystem.ErrEncryptionZone, "use a directory outside the zone"},
		"striped":       {fmt.Errorf("read: %w", hdfs.ErrErasureCoded), filesystem.ErrErasureCoded, "with replication"},
		"a quota":       {&yarnrpc.RemoteError{Method: "create", Class: "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException", Message: "of /dir"}, filesystem.ErrQuota, "of /dir"},
		"in use":        {fmt.Errorf("remove: %w", hdfs.ErrNotEmpty), filesystem.ErrNotEmpty, "not empty"},
	} {
		err := connected().interpret(tc.err)
		if blamed := strings.Contains(err.Error(), "did not answer"); !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.says) || blamed != (name == "nobody there") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A process of an open cluster that has become secure must get a helpful error before the server's
// own.
func TestASecureClusterNeedsALogin(t *testing.T) {
	t.Parallel()
	dialled := errors.New("the NameNode was dialled")
	secure := new(hadoopconf.Conf).With("test", map[string]string{"hadoop.security.authentication": "kerberos"})
	token := &creds.Token{Identifier: []byte("me"), Kind: creds.KindHDFSDelegation, Service: "127.0.0.1:8020"}
	holding := func(tokens ...*creds.Token) func() *creds.Credentials {
		have := creds.New()
		for _, t := range tokens {
			have.Tokens[t.Service] = t
		}
		return func() *creds.Credentials { return have }
	}
	for name, tc := range map[string]struct {
		options Options
		want    error
	}{
		"nothing":                     {Options{Conf: secure}, yarnrpc.ErrNoLogin},
		"credentials without a token": {Options{Conf: secure, Credentials: holding()}, yarnrpc.ErrNoLogin},
		"a login":                     {Options{Conf: secure, Login: new(kerberos.Login)}, dialled},
		"a token":                     {Options{Conf: secure, Credentials: holding(token)}, dialled},
		"nothing, to an open cluster": {Options{Conf: new(hadoopconf.Conf)}, dialled},
	} {
		tc.options.User = "me"
		tc.options.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, dialled }
		access, err := accessTo("127.0.0.1", tc.options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := yarnrpc.Dial(t.Context(), access.Addresses[0], access.RPC); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

// Hadoop's numbers of retries would end long before, or long after, the time that a process can
// wait.
func TestPatienceBoundsEverything(t *testing.T) {
	t.Parallel()
	conf := new(hadoopconf.Conf).With("test", map[string]string{"ipc.client.rpc-timeout.ms": "0"})
	access, err := accessTo("nn", Options{Conf: conf, User: "me", RealUser: "proxy", Patience: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	want := yarnrpc.Policy{MaxWait: 5 * time.Second, BaseDelay: 500 * time.Millisecond}
	if access.Policy != want || access.RPC.ConnectTimeout != 5*time.Second || access.RPC.RPCTimeout != 5*time.Second || access.Silence != 5*time.Second {
		t.Errorf("access is %+v", access)
	}
	if got := access.RPC.User; got.Effective != "me" || got.Real != "proxy" {
		t.Errorf("the user is %+v", got)
	}
}
